#include "decode/npz.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/golden_record.h"

namespace penstock {
namespace {

ConstBytes bytes(std::string_view text) { return as_bytes(text.data(), text.size()); }

std::string hex(std::string_view raw) {
  std::string out;
  for (const char c : raw)
    for (const int digit : {(c >> 4) & 15, c & 15}) out += "0123456789abcdef"[digit];
  return out;
}

// Names and contents of all members, or the first error.
Result<std::map<std::string, std::string>> unpack_all(std::string_view file, const Limits& limits = {}) {
  const auto members = list_npz(bytes(file), limits);
  if (!members) return std::unexpected(members.error());
  std::map<std::string, std::string> contents;
  for (const NpzMember& member : *members) {
    std::string content(member.size_bytes, '\0');
    const auto status = unpack_npz(member, std::as_writable_bytes(std::span(content)));
    if (!status) return std::unexpected(status.error());
    contents[member.name] = content;
  }
  return contents;
}

ErrorCode code_of(std::string_view file, const Limits& limits = {}) {
  const auto contents = unpack_all(file, limits);
  EXPECT_FALSE(contents);
  return contents ? ErrorCode::kStopped : contents.error().code;
}

// A zip writer with every knob a liar needs.
struct Member {
  std::string name = "a.npy";
  std::string content = "content";
  std::uint16_t flags = 0, method = 0;
  std::uint32_t size_bytes = 7, stored_bytes = 7;
  std::uint32_t crc = static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>("content"), 7));
  std::string central_extra = {};
};

template <typename T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void put_common(std::string& out, const Member& member, std::size_t extra_bytes) {
  put<std::uint16_t>(out, 20);
  put(out, member.flags);
  put(out, member.method);
  put<std::uint32_t>(out, 0);
  put(out, member.crc);
  put(out, member.stored_bytes);
  put(out, member.size_bytes);
  put(out, static_cast<std::uint16_t>(member.name.size()));
  put(out, static_cast<std::uint16_t>(extra_bytes));
}

std::string local_header(const Member& member) {
  std::string out;
  put<std::uint32_t>(out, 0x04034b50);
  put_common(out, member, 0);
  return out + member.name;
}

std::string central_header(const Member& member, std::uint32_t local_offset) {
  std::string out;
  put<std::uint32_t>(out, 0x02014b50);
  put<std::uint16_t>(out, 20);
  put_common(out, member, member.central_extra.size());
  out += std::string(2 + 2 + 2 + 4, '\0');
  put(out, local_offset);
  return out + member.name + member.central_extra;
}

std::string end_record(std::size_t members, std::size_t directory_bytes, std::size_t directory_offset,
                       std::string_view comment = "") {
  std::string out;
  put<std::uint32_t>(out, 0x06054b50);
  put<std::uint32_t>(out, 0);
  put(out, static_cast<std::uint16_t>(members));
  put(out, static_cast<std::uint16_t>(members));
  put(out, static_cast<std::uint32_t>(directory_bytes));
  put(out, static_cast<std::uint32_t>(directory_offset));
  put(out, static_cast<std::uint16_t>(comment.size()));
  return out + std::string(comment);
}

std::string zip(const std::vector<Member>& members, std::string_view comment = "") {
  std::string body, directory;
  for (const Member& member : members) {
    directory += central_header(member, static_cast<std::uint32_t>(body.size()));
    body += local_header(member) + member.content;
  }
  return body + directory + end_record(members.size(), directory.size(), body.size(), comment);
}

// The same with the wide end record that archives with very many or very large members have.
std::string zip64(const std::vector<Member>& members) {
  const std::string narrow = zip(members);
  const std::string before_end = narrow.substr(0, narrow.size() - 22);
  std::uint32_t directory_bytes = 0, directory_offset = 0;
  std::memcpy(&directory_bytes, narrow.data() + narrow.size() - 10, 4);
  std::memcpy(&directory_offset, narrow.data() + narrow.size() - 6, 4);
  std::string out = before_end;
  put<std::uint32_t>(out, 0x06064b50);
  put<std::uint64_t>(out, 44);
  put<std::uint32_t>(out, 45 | 45 << 16);
  put<std::uint64_t>(out, 0);
  put<std::uint64_t>(out, members.size());
  put<std::uint64_t>(out, members.size());
  put<std::uint64_t>(out, directory_bytes);
  put<std::uint64_t>(out, directory_offset);
  put<std::uint32_t>(out, 0x07064b50);
  put<std::uint32_t>(out, 0);
  put<std::uint64_t>(out, before_end.size());
  put<std::uint32_t>(out, 1);
  return out + end_record(0xffff, 0xffffffff, 0xffffffff);
}

std::string deflated(std::string_view raw) {
  std::string out(raw.size() + 1000, '\0');
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(raw.data()));
  stream.avail_in = static_cast<uInt>(raw.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

Member deflated_member(std::string_view raw) {
  Member member;
  member.content = deflated(raw);
  member.method = 8;
  member.size_bytes = static_cast<std::uint32_t>(raw.size());
  member.stored_bytes = static_cast<std::uint32_t>(member.content.size());
  member.crc = static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(raw.data()), raw.size()));
  return member;
}

TEST(Npz, what_numpy_wrote_unpacks_to_what_it_was_given) {
  const auto expected = nlohmann::json::parse(golden_record("expected_npz.json"))["members"];
  for (const char* name : {"stored.npz", "deflated.npz", "streamed.npz"}) {
    const auto contents = unpack_all(golden_record(name));
    ASSERT_TRUE(contents) << name << ": " << contents.error().describe();
    EXPECT_EQ(contents->size(), expected.size());
    for (const auto& [member, content] : *contents)
      EXPECT_EQ(hex(content), expected.at(member).get<std::string>()) << member;
  }
  EXPECT_TRUE(unpack_all(golden_record("none.npz"))->empty());
}

TEST(Npz, members_come_in_the_order_in_which_they_were_saved) {
  const std::string file = golden_record("stored.npz");
  const auto members = list_npz(bytes(file), {});
  ASSERT_TRUE(members);
  std::string order;
  for (const auto& member : *members) order += member.name + " ";
  EXPECT_EQ(order, "image scores label empty gr\u00fc\u00dfe ");
  EXPECT_FALSE(members->front().deflated);
  const std::string packed = golden_record("deflated.npz");
  EXPECT_TRUE(list_npz(bytes(packed), {})->front().deflated);
}

TEST(Npz, every_cut_is_noticed) {
  for (const char* name : {"stored.npz", "deflated.npz", "streamed.npz", "none.npz"}) {
    const std::string file = golden_record(name);
    for (std::size_t size = 0; size < file.size(); ++size) {
      const std::string cut = file.substr(0, size);  // a copy, so that ASan sees its end
      EXPECT_EQ(code_of(cut), ErrorCode::kTruncated) << name << " at " << size;
    }
  }
}

TEST(Npz, every_flipped_bit_is_noticed_or_changes_nothing) {
  for (const char* name : {"stored.npz", "deflated.npz", "streamed.npz"}) {
    std::string file = golden_record(name);
    const auto before = unpack_all(file);
    ASSERT_TRUE(before);
    std::size_t unnoticed = 0;
    for (std::size_t bit = 0; bit < file.size() * 8; ++bit) {
      file[bit / 8] = static_cast<char>(file[bit / 8] ^ (1 << bit % 8));
      const auto after = unpack_all(file);
      file[bit / 8] = static_cast<char>(file[bit / 8] ^ (1 << bit % 8));
      if (!after) continue;
      EXPECT_EQ(*after, *before) << name << " bit " << bit;
      ++unnoticed;
    }
    // Versions, times and attributes, which nobody reads: 6 bytes of a local header and 14 of an
    // entry of the directory; and the few bits between the end of deflated data and a whole byte.
    EXPECT_LE(unnoticed, before->size() * (6 + 14) * 8 + before->size() * 7) << name;
  }
}

TEST(Npz, a_file_that_is_no_zip_is_refused) {
  EXPECT_EQ(code_of(""), ErrorCode::kTruncated);
  EXPECT_EQ(code_of(std::string(100, 'x')), ErrorCode::kTruncated);
  EXPECT_EQ(code_of("x" + golden_record("stored.npz")), ErrorCode::kCorrupt) << "something before it";
  EXPECT_EQ(code_of(golden_record("stored.npz") + "x"), ErrorCode::kTruncated) << "something behind it";
}

TEST(Npz, our_own_test_archives_are_sound) {
  EXPECT_EQ(unpack_all(zip({Member{}}))->at("a"), "content");
  EXPECT_EQ(unpack_all(zip({Member{}, Member{.name = "b.npy"}}, "a comment"))->size(), 2u);
  EXPECT_EQ(unpack_all(zip({deflated_member("some text some text")}))->at("a"), "some text some text");
}

TEST(Npz, wide_end_records_and_entries_are_read) {
  EXPECT_EQ(unpack_all(zip64({Member{}, Member{.name = "b.npy"}}))->size(), 2u);
  std::string file = zip64({Member{}});
  file[file.size() - 22 - 20 + 8] ^= 1;  // the locator's offset
  EXPECT_EQ(code_of(file), ErrorCode::kCorrupt);

  // One entry whose sizes and offset are all in the extra field.
  Member wide;
  put<std::uint16_t>(wide.central_extra, 0x7777);  // some other field first
  put<std::uint16_t>(wide.central_extra, 0);
  put<std::uint16_t>(wide.central_extra, 1);
  put<std::uint16_t>(wide.central_extra, 24);
  for (const std::uint64_t value : {7, 7, 0}) put(wide.central_extra, value);
  Member narrow = wide;
  wide.size_bytes = wide.stored_bytes = 0xffffffff;
  const std::string body = local_header(narrow) + narrow.content;
  const auto build = [&](const Member& member) {
    const std::string directory = central_header(member, 0xffffffff);
    return body + directory + end_record(1, directory.size(), body.size());
  };
  const auto contents = unpack_all(build(wide));
  ASSERT_TRUE(contents) << contents.error().describe();
  EXPECT_EQ(contents->at("a"), "content");
  wide.central_extra.resize(wide.central_extra.size() - 1);
  EXPECT_EQ(code_of(build(wide)), ErrorCode::kCorrupt);
  wide.central_extra.clear();
  EXPECT_FALSE(unpack_all(build(wide)));
}

TEST(Npz, what_zip_can_do_and_numpy_does_not_is_unsupported) {
  EXPECT_EQ(code_of(zip({Member{.flags = 1}})), ErrorCode::kUnsupported) << "encrypted";
  EXPECT_EQ(code_of(zip({Member{.flags = 1 << 6}})), ErrorCode::kUnsupported);
  EXPECT_EQ(code_of(zip({Member{.method = 14}})), ErrorCode::kUnsupported) << "LZMA";
  EXPECT_EQ(code_of(zip({Member{.name = "a.txt"}})), ErrorCode::kUnsupported);
  EXPECT_EQ(code_of(zip({Member{.name = "folder/"}})), ErrorCode::kUnsupported);
  EXPECT_EQ(code_of(zip({Member{.name = "\x81.npy"}})), ErrorCode::kUnsupported) << "code page 437";
  EXPECT_EQ(code_of(zip({Member{.name = "\xff.npy", .flags = 1 << 11}})), ErrorCode::kUnsupported);
  EXPECT_EQ(unpack_all(zip({Member{.name = "x/y.npy"}}))->at("x/y"), "content");
}

TEST(Npz, errors_say_where) {
  const std::string file = zip({Member{}, Member{.name = "b.npy", .method = 14}});
  const auto members = list_npz(bytes(file), {});
  ASSERT_FALSE(members);
  EXPECT_EQ(members.error().where.offset, 2 * (30 + 5 + 7) + 46 + 5);
}

TEST(Npz, duplicate_names_are_refused) { EXPECT_EQ(code_of(zip({Member{}, Member{}})), ErrorCode::kCorrupt); }

TEST(Npz, members_that_share_bytes_are_refused) {
  const Member first{}, second{.name = "b.npy"};
  // The second lies within the first's data, so both headers are true.
  Member outer = first;
  outer.content = local_header(second) + second.content;
  outer.size_bytes = outer.stored_bytes = static_cast<std::uint32_t>(outer.content.size());
  const std::string body = local_header(outer) + outer.content;
  const std::string directory =
      central_header(outer, 0) +
      central_header(second, static_cast<std::uint32_t>(local_header(outer).size()));
  const std::string file = body + directory + end_record(2, directory.size(), body.size());
  const auto members = list_npz(bytes(file), {});
  ASSERT_FALSE(members);
  EXPECT_NE(members.error().message.find("overlap"), std::string::npos);
}

TEST(Npz, members_out_of_range_are_refused) {
  const std::string body = local_header(Member{}) + "content";
  for (const std::uint32_t offset : {1u, 42u, 43u, 1000u, 0xfffffffeu}) {
    const std::string directory = central_header(Member{}, offset);
    EXPECT_EQ(code_of(body + directory + end_record(1, directory.size(), body.size())), ErrorCode::kCorrupt)
        << offset;
  }
  EXPECT_EQ(code_of(zip({Member{.size_bytes = 8, .stored_bytes = 8}})), ErrorCode::kCorrupt)
      << "into the central directory";
  const std::string directory = central_header(Member{}, 0);
  EXPECT_EQ(code_of(body + directory + end_record(2, directory.size(), body.size())), ErrorCode::kCorrupt);
  EXPECT_EQ(code_of(body + directory + end_record(0, directory.size(), body.size())), ErrorCode::kCorrupt);
  EXPECT_EQ(code_of(body + directory + end_record(1, directory.size() + 1, body.size())),
            ErrorCode::kCorrupt);
  EXPECT_EQ(code_of(body + directory + end_record(1, directory.size(), body.size() + 1)),
            ErrorCode::kCorrupt);
}

TEST(Npz, headers_that_disagree_are_refused) {
  const auto mixed = [](const Member& local, const Member& central) {
    const std::string body = local_header(local) + local.content, directory = central_header(central, 0);
    return body + directory + end_record(1, directory.size(), body.size());
  };
  EXPECT_TRUE(unpack_all(mixed({}, {})));
  EXPECT_EQ(code_of(mixed({.name = "b.npy"}, {})), ErrorCode::kCorrupt);
  EXPECT_EQ(code_of(mixed({.flags = 2}, {})), ErrorCode::kCorrupt);
  EXPECT_EQ(code_of(mixed({.method = 8}, {})), ErrorCode::kCorrupt);
  EXPECT_EQ(code_of(mixed({.crc = 1}, {})), ErrorCode::kCorrupt);
  EXPECT_EQ(code_of(mixed({}, {.size_bytes = 6, .stored_bytes = 6})), ErrorCode::kCorrupt);
}

TEST(Npz, sizes_beyond_the_limit_are_refused) {
  const Limits limits{.encoded_bytes = 6};
  EXPECT_EQ(code_of(zip({Member{}}), limits), ErrorCode::kTooLarge);
  Member wide = deflated_member("content");
  wide.size_bytes = 0x90000000;
  EXPECT_EQ(code_of(zip({wide})), ErrorCode::kTooLarge);
}

TEST(Npz, bombs_and_false_sizes_are_refused) {
  const std::string zeros(100'000, '\0');
  Member less = deflated_member(zeros);
  less.size_bytes -= 1;
  EXPECT_EQ(code_of(zip({less})), ErrorCode::kCorrupt) << "more comes out than was said";
  Member more = deflated_member(zeros);
  more.size_bytes += 1;
  EXPECT_EQ(code_of(zip({more})), ErrorCode::kCorrupt) << "less comes out than was said";
  Member huge = deflated_member("content");
  huge.size_bytes = 0x70000000;
  const auto members = list_npz(bytes(zip({huge})), {});
  ASSERT_FALSE(members) << "before anyone allocates what deflate could never fill";
  EXPECT_EQ(members.error().code, ErrorCode::kCorrupt);
  Member tail = deflated_member("content");
  tail.content += "x";
  ++tail.stored_bytes;
  EXPECT_EQ(code_of(zip({tail})), ErrorCode::kCorrupt) << "bytes behind the deflated data";
  Member cut = deflated_member("content");
  cut.content.pop_back();
  --cut.stored_bytes;
  EXPECT_EQ(code_of(zip({cut})), ErrorCode::kCorrupt);
  EXPECT_EQ(unpack_all(zip({deflated_member("")}))->at("a"), "");
  EXPECT_EQ(unpack_all(zip({deflated_member(zeros)}))->at("a"), zeros);
}

TEST(Npz, a_wrong_checksum_is_noticed) {
  EXPECT_EQ(code_of(zip({Member{.crc = 5}})), ErrorCode::kCorrupt);
  Member packed = deflated_member("content");
  packed.crc ^= 1;
  EXPECT_EQ(code_of(zip({packed})), ErrorCode::kCorrupt);
}

TEST(Npz, unpacking_needs_room_for_just_the_member) {
  const std::string file = zip({Member{}});
  const auto members = list_npz(bytes(file), {});
  ASSERT_TRUE(members);
  std::vector<std::byte> room(6);
  EXPECT_EQ(unpack_npz(members->front(), room).error().code, ErrorCode::kInvalidArgument);
}

TEST(Npz, too_many_members_are_refused) {
  std::vector<Member> many(65'537);
  for (std::size_t i = 0; i < many.size(); ++i) many[i].name = std::to_string(i) + ".npy";
  EXPECT_EQ(code_of(zip64(many)), ErrorCode::kTooLarge);
  many.pop_back();
  EXPECT_EQ(list_npz(bytes(zip64(many)), {})->size(), 65'536u);
}

}  // namespace
}  // namespace penstock
