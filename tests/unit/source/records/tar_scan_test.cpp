#include "source/records/tar_scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <tuple>

#include "store/memory_store.h"
#include "support/fault_store.h"
#include "support/make_tar.h"
#include "support/temporary_folder.h"

namespace penstock {
namespace {

using Bytes = std::vector<std::byte>;
using testing::HasSubstr;

struct Found {
  std::string name;
  std::uint64_t header_offset, data_offset, size;
  bool operator==(const Found&) const = default;
};

struct Scan {
  Result<TarSummary> summary;
  std::vector<Found> files;

  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const Found& file : files) out.push_back(file.name);
    return out;
  }
};

Scan scan(const Store& store) {
  Scan out;
  const auto object = store.open("shard.tar");
  if (!object) return {std::unexpected(object.error()), {}};
  const auto reader = make_object_reader(**object);
  out.summary = scan_tar(*reader, "mem://shard.tar", [&out](const TarMember& member) -> Status {
    out.files.push_back({std::string(member.name), member.header_offset, member.data_offset, member.size});
    return {};
  });
  return out;
}

Scan scan(Bytes archive) {
  MemoryStore store;
  store.put("shard.tar", std::move(archive));
  return scan(store);
}

Error error_of(Bytes archive) {
  const Scan got = scan(std::move(archive));
  if (!got.summary) return got.summary.error();
  ADD_FAILURE() << "no error";
  return {};
}

std::string data_of(const Bytes& archive, const Found& file) {
  return {reinterpret_cast<const char*>(archive.data()) + file.data_offset,
          static_cast<std::size_t>(file.size)};
}

Bytes first_bytes(const Bytes& bytes, std::size_t size) {
  return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)};
}

std::string name_of(int i) { return "sample_" + std::to_string(i) + (i % 2 == 0 ? ".jpg" : ".cls"); }

// Sizes around the block's, no end.
TarArchive files_of_many_sizes(int count) {
  constexpr std::size_t kSizes[] = {0, 1, 511, 512, 513, 1700};
  TarArchive tar;
  for (int i = 0; i < count; ++i)
    tar.add_file(name_of(i), std::string(kSizes[i % 6], static_cast<char>('a' + i % 26)));
  return tar;
}

// --- What other programs write ---------------------------------------------------------------------

const std::string kDeep = std::string(40, 'd') + "/" + std::string(50, 'e') + "/";

std::map<std::string, std::string> usual_files(bool deep) {
  std::map<std::string, std::string> files;
  for (const std::size_t size : {0, 1, 511, 512, 513, 5000, 70'000})
    files["f" + std::to_string(size) + ".bin"] = std::string(size, static_cast<char>('a' + size % 26));
  if (deep) files[kDeep + "deep name.jpg"] = "deep";
  return files;
}

Bytes bytes_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const auto raw = as_bytes(text.data(), text.size());
  return {raw.begin(), raw.end()};
}

bool succeeds(const std::string& command) { return std::system((command + " >/dev/null 2>&1").c_str()) == 0; }

bool has_program(const std::string& name) { return succeeds(name + " --version"); }

void expect_files(const Bytes& archive, const std::map<std::string, std::string>& wanted) {
  const Scan got = scan(archive);
  ASSERT_TRUE(got.summary) << got.summary.error().describe();
  std::map<std::string, std::string> found;
  for (const Found& file : got.files) {
    const std::string name = file.name.starts_with("./") ? file.name.substr(2) : file.name;
    EXPECT_TRUE(found.emplace(name, data_of(archive, file)).second) << name;
  }
  EXPECT_EQ(found, wanted);
  EXPECT_EQ(got.summary->files, wanted.size());
}

void expect_reads_archives_of(const std::string& program, const std::vector<std::string>& formats) {
  if (!has_program(program)) GTEST_SKIP() << "no " << program;
  for (const std::string& format : formats) {
    SCOPED_TRACE(program + " " + format);
    const bool is_v7 = format == "v7";
    const TemporaryFolder folder;
    auto files = usual_files(!is_v7);
    if (format != "ustar" && !is_v7) {
      files[kDeep + std::string(200, 'n') + ".jpg"] = "a name beyond ustar's";
      files["snowman \xE2\x98\x83.txt"] = "not ASCII";
    }
    for (const auto& [name, text] : files) {
      const auto raw = as_bytes(text.data(), text.size());
      folder.write("in/" + name, {raw.begin(), raw.end()});
    }
    ASSERT_TRUE(succeeds("cd " + folder.path() + "/in && ln -s f1.bin zlink && ln f1.bin zhard && " +
                         (is_v7 ? "true" : "mkfifo zpipe")));
    ASSERT_TRUE(succeeds(program + " --format=" + format + " -cf " + (folder / "out.tar") + " -C " +
                         (folder / "in") + " ."));
    const Bytes archive = bytes_of_file(folder / "out.tar");
    // Which of two hard links is the file depends on the order of the folder.
    const Scan got = scan(archive);
    ASSERT_TRUE(got.summary) << got.summary.error().describe();
    for (const auto& name : got.names())
      if (name == "./zhard") files.insert({"zhard", "b"}), files.erase("f1.bin");
    expect_files(archive, files);
    EXPECT_EQ(got.summary->links, 2);
    EXPECT_EQ(got.summary->others, is_v7 ? 0 : 1);
  }
}

TEST(TarScan, reads_archives_of_gnu_tar) {
  expect_reads_archives_of("tar", {"v7", "ustar", "gnu", "oldgnu", "pax"});
}

TEST(TarScan, reads_archives_of_bsdtar) { expect_reads_archives_of("bsdtar", {"ustar", "gnutar", "pax"}); }

constexpr std::string_view kPythonScript = R"(
import io, sys, tarfile
path, kind, deep = sys.argv[1:]
tar = tarfile.open(path, "w", format=getattr(tarfile, kind + "_FORMAT"))
def add(name, data, **more):
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for key, value in more.items():
        setattr(info, key, value)
    tar.addfile(info, io.BytesIO(data))
for i in range(50):
    add("%05d.jpg" % i, b"x" * (i * 37))
    add("%05d.cls" % i, b"7")
add("folder", b"", type=tarfile.DIRTYPE)
add("link", b"", type=tarfile.SYMTYPE, linkname="l" * 90)
add(deep + "name", b"deep")
if kind != "USTAR":
    add("n" * 3000, b"long")
    add("link2", b"", type=tarfile.SYMTYPE, linkname="l" * 900)
tar.close()
)";

TEST(TarScan, reads_archives_of_python) {
  if (!has_program("python3")) GTEST_SKIP() << "no python3";
  const TemporaryFolder folder;
  const auto script = as_bytes(kPythonScript.data(), kPythonScript.size());
  const std::string make = "python3 " + folder.write("make.py", {script.begin(), script.end()});
  for (const std::string format : {"USTAR", "GNU", "PAX"}) {
    SCOPED_TRACE(format);
    ASSERT_TRUE(succeeds(make + " " + (folder / "out.tar") + " " + format + " " + kDeep));
    std::map<std::string, std::string> wanted{{kDeep + "name", "deep"}};
    for (int i = 0; i < 50; ++i) {
      const std::string key = (i < 10 ? "0000" : "000") + std::to_string(i);
      wanted[key + ".jpg"] = std::string(static_cast<std::size_t>(i) * 37, 'x');
      wanted[key + ".cls"] = "7";
    }
    if (format != "USTAR") wanted[std::string(3000, 'n')] = "long";
    expect_files(bytes_of_file(folder / "out.tar"), wanted);
  }
}

TEST(TarScan, a_sparse_file_of_gnu_tar_is_refused) {
  if (!has_program("tar")) GTEST_SKIP() << "no tar";
  for (const std::string format : {"gnu", "pax"}) {
    const TemporaryFolder folder;
    ASSERT_TRUE(succeeds("cd " + folder.path() + " && truncate -s 1M hole && tar -S --format=" + format +
                         " -cf out.tar hole"));
    EXPECT_EQ(error_of(bytes_of_file(folder / "out.tar")).code, ErrorCode::kUnsupported) << format;
  }
}

// --- Names and places ------------------------------------------------------------------------------

TEST(TarScan, finds_name_offsets_and_size_of_each_file) {
  TarArchive tar;
  tar.add_file("a.jpg", std::string(700, 'x'));
  tar.add_file("a.cls", "7");
  const Scan got = scan(tar.finish());
  ASSERT_TRUE(got.summary) << got.summary.error().describe();
  EXPECT_EQ(got.files, (std::vector<Found>{{"a.jpg", 0, 512, 700}, {"a.cls", 1536, 2048, 1}}));
}

TEST(TarScan, an_archive_without_members_is_fine) {
  const Scan got = scan(TarArchive().finish());
  ASSERT_TRUE(got.summary) << got.summary.error().describe();
  EXPECT_EQ(got.summary->files, 0);
}

TEST(TarScan, extended_headers_belong_to_their_member) {
  TarArchive tar;
  tar.add_file("a", "1");
  const std::size_t long_at = tar.size();
  tar.add_long_name(std::string(600, 'l'), 'K');
  tar.add_long_name(std::string(300, 'n'));
  tar.add_file("cut", "22");
  const std::size_t pax_at = tar.size();
  tar.add_pax(pax_record("mtime", "1.5") + pax_record("path", "pax/name"));
  tar.add_file("cut", "333");
  const std::size_t plain_at = tar.size();
  tar.add_file("plain", "4444");
  const Scan got = scan(tar.finish());
  ASSERT_TRUE(got.summary) << got.summary.error().describe();
  EXPECT_EQ(got.files, (std::vector<Found>{{"a", 0, 512, 1},
                                           {std::string(300, 'n'), long_at, long_at + 512 * 6, 2},
                                           {"pax/name", pax_at, pax_at + 512 * 3, 3},
                                           {"plain", plain_at, plain_at + 512, 4}}));
}

TEST(TarScan, the_prefix_is_read_where_the_format_has_one) {
  TarArchive tar;
  TarHeader header{"name"};
  header.prefix = "some/folder";
  tar.add(header);
  header.format = TarFormat::kGnu;
  tar.add(header);
  header.format = TarFormat::kV7;
  tar.add(header);
  header.format = TarFormat::kUstar;
  header.prefix = std::string(155, 'p');
  header.name = std::string(100, 'n');
  tar.add(header);
  EXPECT_EQ(scan(tar.finish()).names(),
            (std::vector<std::string>{"some/folder/name", "name", "name",
                                      std::string(155, 'p') + "/" + std::string(100, 'n')}));
}

TEST(TarScan, times_behind_the_prefix_of_star_are_no_name) {
  TarHeader header{"name"};
  header.prefix = std::string(131, 'p') + "00000000000 00000000000 ";
  std::string block = tar_header(header);
  block.replace(508, 4, std::string("tar\0", 4));
  TarArchive tar;
  tar.add_raw(with_tar_checksum(block));
  EXPECT_EQ(scan(tar.finish()).names(), std::vector<std::string>{std::string(131, 'p') + "/name"});
}

TEST(TarScan, names_are_only_names) {
  TarArchive tar;
  const std::vector<std::string> names{"../../etc/passwd", "/absolute", "twice", "twice", "a\nb", "\xff\xfe"};
  for (const auto& name : names) tar.add_file(name, "x");
  tar.add_pax(pax_record("path", std::string("with\0nul", 8)));
  tar.add_file("x", "x");
  auto wanted = names;
  wanted.push_back(std::string("with\0nul", 8));
  EXPECT_EQ(scan(tar.finish()).names(), wanted);
}

TEST(TarScan, links_devices_and_folders_are_left_out_with_their_extended_headers) {
  TarArchive tar;
  for (const char type : {'1', '2', '3', '4', '5', '6'}) {
    tar.add_long_name(std::string(200, type));
    TarHeader header{"left out", 0, type};
    header.link = "elsewhere";
    tar.add(header);
  }
  tar.add_file("kept", "x");
  const Scan got = scan(tar.finish());
  ASSERT_TRUE(got.summary) << got.summary.error().describe();
  EXPECT_EQ(got.names(), std::vector<std::string>{"kept"});
  EXPECT_EQ(got.summary->links, 2);
  EXPECT_EQ(got.summary->others, 3);
}

TEST(TarScan, the_size_of_a_link_is_not_that_of_data) {
  TarArchive tar;
  tar.add_raw(tar_header({"link", 700, '1'}));
  tar.add_raw(tar_header({"folder", 700, '5'}));
  tar.add_file("kept", "x");
  EXPECT_EQ(scan(tar.finish()).names(), std::vector<std::string>{"kept"});
}

TEST(TarScan, old_and_contiguous_files_are_files_and_old_folders_are_not) {
  TarArchive tar(TarFormat::kV7);
  for (const auto& [name, type] :
       {std::pair{"old", '\0'}, {"folder/", '\0'}, {"contiguous", '7'}, {"file with slash/", '0'}}) {
    TarHeader header{name, 0, type};
    header.format = TarFormat::kV7;
    tar.add(header);
  }
  EXPECT_EQ(scan(tar.finish()).names(), (std::vector<std::string>{"old", "contiguous", "file with slash/"}));
}

TEST(TarScan, an_error_of_the_caller_ends_the_scan) {
  MemoryStore store;
  store.put("shard.tar", files_of_many_sizes(10).finish());
  const auto object = *store.open("shard.tar");
  const auto reader = make_object_reader(*object);
  int calls = 0;
  const auto got = scan_tar(*reader, "shard.tar", [&calls](const TarMember&) -> Status {
    if (++calls == 3) return fail(ErrorCode::kCallback, "enough");
    return {};
  });
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().message, "enough");
  EXPECT_EQ(calls, 3);
}

TEST(TarScan, every_failure_of_the_store_ends_the_scan) {
  auto memory = std::make_shared<MemoryStore>();
  memory->put("shard.tar", files_of_many_sizes(40).finish());
  const FaultStore whole(memory, {});
  ASSERT_TRUE(scan(whole).summary);
  ASSERT_GT(whole.operations(), 2);
  for (std::uint64_t operation = 1; operation <= whole.operations(); ++operation) {
    const Scan got = scan(FaultStore(memory, {operation, false, Fault::kEio}));
    ASSERT_FALSE(got.summary) << operation;
    EXPECT_EQ(got.summary.error().code, ErrorCode::kIo);
  }
}

// --- Sizes -----------------------------------------------------------------------------------------

Bytes with_raw_size(const std::string& field, std::string_view data) {
  TarArchive tar;
  TarHeader header{"file"};
  header.raw_size = field;
  tar.add(header, data);
  return tar.finish();
}

TEST(TarScan, sizes_are_read_however_they_are_padded) {
  for (const std::string& field :
       {std::string("00000000005\0", 12), std::string("          5\0", 12), std::string("5           "),
        std::string("000000000005"), std::string("5\0\0\0\0\0\0\0\0\0\0\0", 12),
        std::string("         5 \0", 12), std::string("\x80\0\0\0\0\0\0\0\0\0\0\5", 12)}) {
    const Scan got = scan(with_raw_size(field, "12345"));
    ASSERT_TRUE(got.summary) << field << got.summary.error().describe();
    EXPECT_EQ(got.files.at(0).size, 5) << field;
  }
  EXPECT_EQ(scan(with_raw_size(std::string(12, '\0'), "")).files.at(0).size, 0);
  EXPECT_EQ(scan(with_raw_size(std::string(12, ' '), "")).files.at(0).size, 0);
}

TEST(TarScan, binary_sizes_are_read) {
  TarArchive tar;
  TarHeader header{"file", 70'000};
  header.size_as = TarNumber::kBase256;
  tar.add(header, std::string(70'000, 'x'));
  tar.add_file("next", "");
  const Scan got = scan(tar.finish());
  ASSERT_TRUE(got.summary) << got.summary.error().describe();
  EXPECT_EQ(got.files.at(0).size, 70'000);
  EXPECT_EQ(got.files.at(1).header_offset, 512 + 70'144);
}

TEST(TarScan, sizes_that_are_no_numbers_are_refused) {
  for (const std::string& field :
       {std::string("00000000009\0", 12), std::string("0x000000005\0", 12), std::string("-0000000005\0", 12),
        std::string("5 5         "), std::string("\0\0\0\0\0\0\0\0\0\0\0005", 12),
        std::string("12345abc\0\0\0\0", 12)})
    EXPECT_EQ(error_of(with_raw_size(field, "12345")).code, ErrorCode::kCorrupt) << field;
}

TEST(TarScan, negative_sizes_are_refused) {
  EXPECT_EQ(error_of(with_raw_size(std::string(12, '\xff'), "")).code, ErrorCode::kCorrupt);
  EXPECT_EQ(error_of(with_raw_size("\xC0" + std::string(11, '\0'), "")).code, ErrorCode::kCorrupt);
}

TEST(TarScan, huge_sizes_are_refused) {
  // 2^62 + 1, all ones, and one that is nothing but zeros in its lowest 64 bits.
  EXPECT_EQ(error_of(with_raw_size(std::string("\x80\0\0\0\x40\0\0\0\0\0\0\1", 12), "")).code,
            ErrorCode::kTooLarge);
  EXPECT_EQ(error_of(with_raw_size("\xBF" + std::string(11, '\xff'), "")).code, ErrorCode::kTooLarge);
  EXPECT_EQ(error_of(with_raw_size(std::string("\x80\0\0\1\0\0\0\0\0\0\0\0", 12), "")).code,
            ErrorCode::kTooLarge);
  EXPECT_EQ(error_of(with_raw_size(std::string("\x81\0\0\0\0\0\0\0\0\0\0\0", 12), "")).code,
            ErrorCode::kTooLarge);
  const Error cut = error_of(with_raw_size("777777777777", "12345"));
  EXPECT_EQ(cut.code, ErrorCode::kTruncated);
  EXPECT_THAT(cut.message, HasSubstr("inside 'file'"));
}

TEST(TarScan, a_pax_size_replaces_that_of_the_header) {
  TarArchive tar;
  tar.add_pax(pax_record("size", "600"));
  TarHeader header{"file"};
  header.raw_size = "no number   ";
  tar.add(header, std::string(600, 'x'));
  tar.add_pax(pax_record("size", ""));
  tar.add_file("next", "22");
  const Scan got = scan(tar.finish());
  ASSERT_TRUE(got.summary) << got.summary.error().describe();
  EXPECT_EQ(got.files.at(0).size, 600);
  EXPECT_EQ(got.files.at(1).size, 2);
}

TEST(TarScan, pax_sizes_that_make_no_sense_are_refused) {
  for (const auto& [size, code] : std::map<std::string, ErrorCode>{
           {"-1", ErrorCode::kCorrupt},
           {"1x", ErrorCode::kCorrupt},
           {" 1", ErrorCode::kCorrupt},
           {"1.5", ErrorCode::kCorrupt},
           {"4611686018427387905", ErrorCode::kTooLarge},
           {"4611686018427387904", ErrorCode::kTooLarge},  // with the header beyond the limit
           {"18446744073709551615", ErrorCode::kTooLarge},
           {"99999999999999999999999", ErrorCode::kTooLarge}}) {
    TarArchive tar;
    tar.add_pax(pax_record("size", size));
    tar.add_file("file", "x");
    EXPECT_EQ(error_of(tar.finish()).code, code) << size;
  }
}

// --- Extended headers ------------------------------------------------------------------------------

TEST(TarScan, long_names_are_read_up_to_the_limit) {
  TarArchive tar;
  const std::string name(65'535, 'n');
  tar.add_long_name(name);
  tar.add_file("cut", "x");
  EXPECT_EQ(scan(tar.finish()).names(), std::vector<std::string>{name});
}

TEST(TarScan, extended_headers_beyond_the_limit_are_refused_before_they_are_read) {
  for (const auto& [type, size] : {std::pair<char, std::uint64_t>{'L', 65'537},
                                   {'L', 1 << 30},
                                   {'K', 1 << 30},
                                   {'x', (1 << 20) + 1},
                                   {'x', 1 << 30},
                                   {'g', 1 << 30}}) {
    TarArchive tar;
    tar.add_file("first", "x");
    tar.add({"././@LongLink", size, type});
    tar.add_file("second", "x");
    const Error error = error_of(tar.finish());
    EXPECT_EQ(error.code, ErrorCode::kTooLarge) << type << size;
    EXPECT_EQ(error.where.offset, 1024);
  }
}

TEST(TarScan, empty_long_names_are_refused) {
  for (const char type : {'L', 'K'}) {
    TarArchive tar;
    tar.add({"././@LongLink", 0, type});
    tar.add_file("file", "x");
    EXPECT_EQ(error_of(tar.finish()).code, ErrorCode::kCorrupt);
    TarArchive nul;
    nul.add_long_name("", type);
    nul.add_file("file", "x");
    EXPECT_EQ(error_of(nul.finish()).code, ErrorCode::kCorrupt);
  }
}

TEST(TarScan, malformed_pax_records_are_named_with_their_offset) {
  const std::string good = pax_record("mtime", "1");
  for (const std::string& bad :
       {std::string("x"), std::string("9999 a=b\n"), std::string("0 a=b\n"), std::string("5 a=b\n"),
        std::string("8 a=bc\n"), std::string("-8 a=bc\n"), std::string("7 abcd\n"), std::string("6 =b \n"),
        std::string("2 \n"), std::string("1\n"), std::string("99999999999999999999999 a=b\n"),
        std::string("6\ta=b\n"), std::string(5, '\0'), std::string(" 6 a=b\n")}) {
    for (const char type : {'x', 'g'}) {
      TarArchive tar;
      tar.add_pax(good + bad, type);
      tar.add_file("file", "x");
      const Error error = error_of(tar.finish());
      EXPECT_EQ(error.code, ErrorCode::kCorrupt) << bad;
      EXPECT_EQ(error.where.offset, static_cast<std::int64_t>(512 + good.size())) << bad;
    }
  }
}

TEST(TarScan, pax_records_that_do_not_matter_are_passed_over) {
  TarArchive tar;
  tar.add_pax(pax_record("comment", "0123456789abcdef"), 'g');
  tar.add_pax(pax_record("path", "not for all"), 'g');
  tar.add_pax("");
  tar.add_file("a", "x");
  tar.add_pax(pax_record("SCHILY.xattr.user.x", std::string("\0\n=\xff", 4)) + pax_record("path", "") +
              pax_record("linkpath", "l"));
  tar.add_pax(pax_record("comment", "between"), 'g');
  tar.add_file("b", "x");
  const Scan got = scan(tar.finish());
  ASSERT_TRUE(got.summary) << got.summary.error().describe();
  EXPECT_EQ(got.names(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(got.files[0].header_offset, 2048) << "global headers belong to no member";
}

TEST(TarScan, one_size_for_all_members_is_refused) {
  TarArchive tar;
  tar.add_pax(pax_record("size", "5"), 'g');
  tar.add_file("a", "12345");
  EXPECT_EQ(error_of(tar.finish()).code, ErrorCode::kUnsupported);
}

TEST(TarScan, sparse_members_are_refused) {
  TarArchive old;
  old.add({"sparse", 0, 'S'});
  EXPECT_EQ(error_of(old.finish()).code, ErrorCode::kUnsupported);
  for (const char type : {'x', 'g'}) {
    TarArchive pax;
    pax.add_pax(pax_record("GNU.sparse.major", "1"), type);
    pax.add_file("GNUSparseFile.0/sparse", "x");
    EXPECT_EQ(error_of(pax.finish()).code, ErrorCode::kUnsupported);
  }
}

TEST(TarScan, unknown_types_are_named) {
  for (const auto& [type, text] : std::map<char, std::string>{{'Q', "'Q'"}, {'V', "'V'"}, {'\7', "0x07"}}) {
    TarArchive tar;
    tar.add_file("first", "x");
    tar.add({"odd", 0, type});
    const Error error = error_of(tar.finish());
    EXPECT_EQ(error.code, ErrorCode::kUnsupported);
    EXPECT_THAT(error.message, HasSubstr(text));
    EXPECT_EQ(error.where.offset, 1024);
  }
}

TEST(TarScan, contradicting_extended_headers_are_refused) {
  const std::string name(200, 'n');
  TarArchive names, paxes, both, turned;
  names.add_long_name(name), names.add_long_name(name);
  paxes.add_pax(pax_record("path", name)), paxes.add_pax(pax_record("size", "1"));
  both.add_long_name(name), both.add_pax(pax_record("path", name));
  turned.add_pax(pax_record("path", name)), turned.add_long_name(name);
  for (TarArchive* tar : {&names, &paxes, &both, &turned}) {
    tar->add_file("file", "x");
    EXPECT_EQ(error_of(tar->finish()).code, ErrorCode::kCorrupt);
  }
}

TEST(TarScan, an_extended_header_without_its_member_is_refused) {
  TarArchive tar;
  tar.add_file("file", "x");
  tar.add_long_name("name");
  EXPECT_EQ(error_of(tar.finish()).code, ErrorCode::kCorrupt);
  const Error cut = error_of(tar.unfinished());
  EXPECT_EQ(cut.code, ErrorCode::kTruncated);
  EXPECT_THAT(cut.message, HasSubstr("without its member"));
}

// --- Damage ----------------------------------------------------------------------------------------

TEST(TarScan, a_signed_checksum_is_accepted) {
  const std::string block = tar_header({"na\xC3\xAFve.jpg"});
  TarArchive tar;
  tar.add_raw(with_tar_checksum(block, TarSum::kSigned));
  tar.add_raw(with_tar_checksum(block, TarSum::kUnsigned));
  EXPECT_EQ(scan(tar.finish()).names().size(), 2);
}

TEST(TarScan, a_file_that_is_no_archive_is_refused) {
  const Error error = error_of(Bytes(5000, std::byte{'x'}));
  EXPECT_EQ(error.code, ErrorCode::kCorrupt);
  EXPECT_THAT(error.message, HasSubstr("not a tar archive"));
  EXPECT_EQ(error.where.uri, "mem://shard.tar");
}

TEST(TarScan, an_empty_file_is_truncated) {
  const Error error = error_of({});
  EXPECT_EQ(error.code, ErrorCode::kTruncated);
  EXPECT_THAT(error.message, HasSubstr("no end-of-archive marker"));
  EXPECT_EQ(error.where.offset, 0);
}

TEST(TarScan, the_marker_is_two_blocks_of_zeros) {
  TarArchive tar = files_of_many_sizes(3);
  const auto size = static_cast<std::int64_t>(tar.size());
  for (const std::size_t zeros : {0, 1, 511, 512, 513, 1023}) {
    Bytes archive = tar.unfinished();
    archive.resize(archive.size() + zeros);
    const Error error = error_of(archive);
    EXPECT_EQ(error.code, ErrorCode::kTruncated) << zeros;
    EXPECT_THAT(error.message, HasSubstr("no end-of-archive marker"));
    EXPECT_EQ(error.where.offset, size);
  }
  tar.add_raw(std::string(512, '\0'));
  tar.add_file("behind", "x");
  const Error lone = error_of(tar.finish());
  EXPECT_EQ(lone.code, ErrorCode::kCorrupt);
  EXPECT_THAT(lone.message, HasSubstr("no end-of-archive marker"));
  EXPECT_EQ(lone.where.offset, size);
}

TEST(TarScan, only_zeros_may_follow_the_marker) {
  const TarArchive tar = files_of_many_sizes(3);
  Bytes archive = tar.finish();
  archive.resize(300'001);  // no multiple of a block
  EXPECT_TRUE(scan(archive).summary);
  for (const std::size_t at : {tar.size() + 1024, tar.size() + 70'000, archive.size() - 1}) {
    Bytes damaged = archive;
    damaged[at] = std::byte{1};
    const Error error = error_of(damaged);
    EXPECT_EQ(error.code, ErrorCode::kCorrupt);
    EXPECT_THAT(error.message, HasSubstr("concatenated archives are not read"));
    EXPECT_EQ(error.where.offset, static_cast<std::int64_t>(at / 512 * 512));
  }
}

TEST(TarScan, truncated_tail_names_file_and_offset) {
  TarArchive tar = files_of_many_sizes(4);
  const std::size_t at = tar.size();
  tar.add_file("cut.jpg", std::string(5000, 'x'));
  const Error error = error_of(first_bytes(tar.finish(), at + 512 + 3000));
  EXPECT_EQ(error.code, ErrorCode::kTruncated);
  EXPECT_THAT(error.message, HasSubstr("'cut.jpg'"));
  EXPECT_EQ(error.where.uri, "mem://shard.tar");
  EXPECT_EQ(error.where.offset, static_cast<std::int64_t>(at));
  EXPECT_EQ(error.where.length, 512 + 5120);
}

// All kinds of members and extended headers, without the end.
TarArchive all_kinds(int files) {
  TarArchive tar = files_of_many_sizes(files);
  tar.add_long_name(std::string(600, 'n'));
  tar.add_file("long", "x");
  tar.add_pax(pax_record("comment", "all"), 'g');
  tar.add_pax(pax_record("path", "na\xC3\xAFve") + pax_record("size", "3"));
  tar.add_file("pax", "abc");
  tar.add({"link", 0, '2'});
  tar.add({"folder/", 0, '5'});
  TarHeader header{"binary \xC3\xAF", 800};
  header.size_as = TarNumber::kBase256;
  header.format = TarFormat::kGnu;
  tar.add(header, std::string(800, 'b'));
  return tar;
}

TEST(TarScan, every_cut_is_noticed_but_those_that_leave_the_marker) {
  const TarArchive tar = all_kinds(20);
  const Bytes whole = tar.finish();
  const Scan wanted = scan(whole);
  ASSERT_TRUE(wanted.summary) << wanted.summary.error().describe();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Scan got = scan(first_bytes(whole, size));
    if (size >= tar.size() + 1024) {
      ASSERT_TRUE(got.summary) << size;
      ASSERT_EQ(got.files, wanted.files);
      continue;
    }
    ASSERT_FALSE(got.summary) << size;
    const Error& error = got.summary.error();
    const auto cut = static_cast<std::int64_t>(size);
    ASSERT_EQ(error.code, ErrorCode::kTruncated) << error.describe();
    ASSERT_EQ(error.where.uri, "mem://shard.tar");
    ASSERT_THAT(error.message, HasSubstr("archive ends at " + std::to_string(size)));
    ASSERT_LE(error.where.offset, cut) << error.describe();
    ASSERT_GT(error.where.offset + error.where.length, cut) << error.describe();
  }
}

TEST(TarScan, every_flipped_bit_of_every_header_is_noticed) {
  const TarArchive tar = all_kinds(2);
  const Bytes whole = tar.finish(1024);
  const Scan wanted = scan(whole);
  ASSERT_TRUE(wanted.summary) << wanted.summary.error().describe();
  int headers = 0;
  for (std::size_t at = 0; at < tar.size(); at += kTarBlock) {
    const std::string_view block = std::string_view(tar.text()).substr(at, kTarBlock);
    if (with_tar_checksum(std::string(block)) != block) continue;  // data
    ++headers;
    for (std::size_t bit = at * 8; bit < (at + kTarBlock) * 8; ++bit) {
      Bytes damaged = whole;
      damaged[bit / 8] ^= std::byte(1u << bit % 8);
      const Scan got = scan(std::move(damaged));
      const std::size_t in_header = bit / 8 - at;
      if (!got.summary) {
        ASSERT_EQ(got.summary.error().code, ErrorCode::kCorrupt);
        ASSERT_EQ(got.summary.error().where.offset, static_cast<std::int64_t>(at));
        continue;
      }
      // What pads the sum is no part of it: a leading nought or a NUL behind may become a blank.
      ASSERT_TRUE(in_header >= 148 && in_header < 156) << "bit " << bit % 8 << " of byte " << in_header;
      ASSERT_EQ(got.files, wanted.files);
    }
  }
  EXPECT_EQ(headers, 10);
}

TEST(TarScan, a_zeroed_page_over_a_header_is_noticed) {
  constexpr std::size_t kPage = 4096;
  TarArchive tar;
  for (int i = 0; i < 40; ++i) tar.add_file(name_of(i), std::string(static_cast<std::size_t>(i) * 150, 'x'));
  const Bytes whole = tar.finish();
  const Scan wanted = scan(whole);
  ASSERT_TRUE(wanted.summary) << wanted.summary.error().describe();
  int hits = 0, misses = 0;
  for (std::size_t page = 0; page + kPage < tar.size(); page += kPage) {
    Bytes damaged = whole;
    std::fill_n(damaged.begin() + static_cast<std::ptrdiff_t>(page), kPage, std::byte{0});
    const bool hit = std::ranges::any_of(wanted.files, [page](const Found& file) {
      return file.header_offset >= page && file.header_offset < page + kPage;
    });
    const Scan got = scan(std::move(damaged));
    ASSERT_EQ(!got.summary, hit) << page;
    if (hit) {
      ++hits;
      EXPECT_EQ(got.summary.error().code, ErrorCode::kCorrupt);
    } else {
      ++misses;
      EXPECT_EQ(got.files, wanted.files);
    }
  }
  EXPECT_GT(hits, 10);
  EXPECT_GT(misses, 3);
}

TEST(TarScan, a_zeroed_header_of_the_last_file_is_noticed_by_its_data) {
  TarArchive tar = files_of_many_sizes(5);
  const std::size_t at = tar.size();
  tar.add_file("last", "x");
  Bytes damaged = tar.finish();
  std::fill_n(damaged.begin() + static_cast<std::ptrdiff_t>(at), 512, std::byte{0});
  EXPECT_EQ(error_of(damaged).code, ErrorCode::kCorrupt);
}

TEST(TarScan, a_compressed_archive_has_the_members_of_the_plain_one) {
  const TemporaryFolder folder;
  const Bytes whole = all_kinds(300).finish();
  const std::string path = folder.write("shard.tar", whole);
  const Scan wanted = scan(whole);
  for (const auto& [program, ending, compression] :
       {std::tuple{"gzip", ".gz", Compression::kGzip}, {"zstd", ".zst", Compression::kZstd}}) {
    if (!succeeds(std::string(program) + " -k " + path)) continue;
    MemoryStore store;
    store.put("shard.tar", bytes_of_file(path + ending));
    const auto object = *store.open("shard.tar");
    const auto reader = make_forward_reader(*object, "shard", compression);
    std::vector<Found> files;
    const auto got = scan_tar(*reader, "shard", [&files](const TarMember& member) -> Status {
      files.push_back({std::string(member.name), member.header_offset, member.data_offset, member.size});
      return {};
    });
    if (!got && got.error().code == ErrorCode::kUnsupported) continue;  // a build without zstd
    ASSERT_TRUE(got) << got.error().describe();
    EXPECT_EQ(files, wanted.files);
  }
}

}  // namespace
}  // namespace penstock
