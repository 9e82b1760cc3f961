#include "source/records/forward_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <thread>
#include <typeinfo>

#include "base/random.h"
#include "penstock/interruption.h"
#include "source/records/ahead_object.h"
#include "store/memory_store.h"
#include "support/temporary_folder.h"

namespace penstock {
namespace {

using Bytes = std::vector<std::byte>;

Bytes bytes_of(std::string_view text) {
  const auto raw = as_bytes(text.data(), text.size());
  return {raw.begin(), raw.end()};
}

Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Text that compresses somewhat, as members of a shard do.
Bytes some_text(std::size_t size, std::uint64_t seed = 1) {
  Draws draws(seed, 0, 0);
  Bytes out;
  while (out.size() < size) out.insert(out.end(), 1 + draws.below(9), std::byte('a' + draws.below(26)));
  out.resize(size);
  return out;
}

Bytes gzip(const Bytes& plain) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  Bytes out(deflateBound(&stream, plain.size()) + 32);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(plain.data()));
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  const auto size = static_cast<std::ptrdiff_t>(stream.total_out);
  deflateEnd(&stream);
  return {out.begin(), out.begin() + size};
}

// By the program; empty where there is none.
Bytes zstd(const Bytes& plain) {
  const TemporaryFolder folder;
  const std::string in = folder.write("plain", plain), out = folder / "packed";
  if (std::system(("zstd -q " + in + " -o " + out + " 2>/dev/null").c_str()) != 0) return {};
  std::ifstream file(out, std::ios::binary);
  return bytes_of(std::string((std::istreambuf_iterator<char>(file)), {}));
}

// A zstd frame of one stored block, written by hand.
Bytes zstd_frame(int window_log, std::string_view text) {
  Bytes out;
  for (const int byte : {0x28, 0xB5, 0x2F, 0xFD, 0x00, (window_log - 10) << 3})
    out.push_back(std::byte(byte));
  const std::size_t block = text.size() << 3 | 1;  // the last one
  for (const int shift : {0, 8, 16}) out.push_back(std::byte(block >> shift & 0xff));
  return out + bytes_of(text);
}

// Everything that a reader gives, asked for piece after piece.
Result<Bytes> drain(ForwardReader& reader, std::size_t piece = 700) {
  Bytes out;
  while (true) {
    const auto part = reader.at(out.size(), piece);
    if (!part) return std::unexpected(part.error());
    out.insert(out.end(), part->begin(), part->end());
    if (part->size() < piece) break;
  }
  EXPECT_EQ(reader.end(), out.size());
  return out;
}

Result<Bytes> drain(const Bytes& stored, Compression compression, std::size_t piece = 700) {
  MemoryStore store;
  store.put("shard", stored);
  const auto object = *store.open("shard");
  return drain(*make_forward_reader(*object, "mem://shard", compression), piece);
}

bool build_reads_zstd() {
  const auto got = drain(zstd_frame(20, "x"), Compression::kZstd);
  return got || got.error().code != ErrorCode::kUnsupported;
}

// Any number of bytes that nobody has to store, and a note of what was read of them.
class MadeUpObject final : public Object {
 public:
  explicit MadeUpObject(std::uint64_t size) : Object({size, 0}) {}

  static std::byte byte_at(std::uint64_t offset) { return std::byte((offset * 0x9E3779B97F4A7C15) >> 56); }

  using Object::read_at;
  Status read_at(std::uint64_t offset, std::span<const MutableBytes> parts) override {
    for (const MutableBytes& part : parts) {
      EXPECT_LE(offset + part.size(), version().size);
      EXPECT_GE(offset, behind_) << "read twice";
      for (std::byte& byte : part) byte = byte_at(offset++);
      behind_ = offset;
      bytes_ += part.size();
    }
    ++reads_;
    return {};
  }

  std::uint64_t reads() const { return reads_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::uint64_t reads_ = 0, bytes_ = 0, behind_ = 0;
};

void expect_right(ConstBytes got, std::uint64_t offset, std::size_t size) {
  ASSERT_EQ(got.size(), size) << offset;
  std::size_t right = 0;
  while (right < size && got[right] == MadeUpObject::byte_at(offset + right)) ++right;
  ASSERT_EQ(right, size) << offset;
}

// A made-up object far away: what is asked for comes from other threads, in any order.
class DistantStore final : public Store {
 public:
  explicit DistantStore(std::uint64_t size) : version_{size, 0} {}

  StoreTraits traits() const override { return {.reads_ahead = 8}; }
  Result<ObjectVersion> stat(const std::string&) const override { return version_; }
  Status list_pages(const std::string&, const ListOptions&, const TakePage&) const override { return {}; }
  Result<std::unique_ptr<Object>> open(const std::string&) const override {
    return std::make_unique<MadeUpObject>(version_.size);
  }

  void start_read(ObjectRead wanted, Allocate room, std::stop_token stop, Done done) const override {
    EXPECT_EQ(wanted.version, version_);
    const std::uint64_t end = wanted.range.offset + wanted.range.length;
    EXPECT_LE(end, version_.size);
    ++reads_;
    bytes_ += wanted.range.length;
    asked_to_ = end;
    threads_.emplace_back([this, wanted, end, room, stop, done] {
      if (stop.stop_requested()) return done(fail(ErrorCode::kStopped, "stopped"));
      if (fails_at_ >= wanted.range.offset && fails_at_ < end) return done(fail(ErrorCode::kIo, "broken"));
      const auto memory = room(wanted.range.length);
      std::uint64_t offset = wanted.range.offset;
      for (std::byte& byte : *memory) byte = MadeUpObject::byte_at(offset++);
      done(ObjectBytes{*memory, wanted.range.offset, version_});
    });
  }

  void fail_at(std::uint64_t offset) { fails_at_ = offset; }
  std::uint64_t reads() const { return reads_; }
  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t asked_to() const { return asked_to_; }

 private:
  ObjectVersion version_;
  std::uint64_t fails_at_ = UINT64_MAX;
  mutable std::uint64_t reads_ = 0, bytes_ = 0, asked_to_ = 0;  // the walk's thread alone has them
  mutable std::vector<std::jthread> threads_;
};

constexpr std::uint64_t kMiB = 1 << 20;

TEST(ForwardReader, any_walk_over_a_distant_object_gives_its_bytes_and_holds_to_its_memory) {
  Draws draws(11, 0, 0);
  for (int walk = 0; walk < 12; ++walk) {
    const std::uint64_t ahead = (4 + draws.below(8)) * kMiB;
    const DistantStore store(1 + draws.below(24 * kMiB));
    const auto object = *open_ahead(store, "far", ahead);
    const auto reader = make_object_reader(*object);
    const std::uint64_t gap = 4096 << draws.below(12), most = 1 << draws.below(18);
    for (std::uint64_t offset = 0; offset < object->version().size; offset += 1 + draws.below(gap)) {
      const std::size_t size = draws.below(most);
      const auto got = reader->at(offset, size);
      ASSERT_TRUE(got) << got.error().describe();
      expect_right(*got, offset, std::min<std::uint64_t>(size, object->version().size - offset));
      ASSERT_LE(store.asked_to(), offset + size + kMiB + ahead);  // a MiB that the reader itself keeps
    }
  }
}

TEST(ForwardReader, small_members_of_a_distant_object_are_read_in_few_large_reads) {
  const DistantStore store(32 * kMiB);
  const auto object = *open_ahead(store, "far", 16 * kMiB);
  const auto reader = make_object_reader(*object);
  for (std::uint64_t offset = 0; offset < object->version().size; offset += 100'000)
    expect_right(*reader->at(offset, 512), offset, 512);
  EXPECT_LT(store.reads(), 20);
  EXPECT_EQ(store.bytes(), object->version().size) << "read twice";
}

TEST(ForwardReader, large_members_of_a_distant_object_are_not_read) {
  const DistantStore store(std::uint64_t{1} << 40);
  const auto object = *open_ahead(store, "far", 64 * kMiB);
  const auto reader = make_object_reader(*object);
  for (std::uint64_t member = 0; member < 100; ++member)
    expect_right(*reader->at(member << 26, 512), member << 26, 512);
  EXPECT_LT(store.reads(), 150);
  EXPECT_LT(store.bytes(), 20 * kMiB);
}

TEST(ForwardReader, an_error_ahead_of_a_walk_is_told_when_the_walk_gets_there) {
  DistantStore store(8 * kMiB);
  store.fail_at(6 * kMiB);
  const auto object = *open_ahead(store, "far", 16 * kMiB);
  const auto reader = make_object_reader(*object);
  ASSERT_TRUE(reader->at(0, 512));
  ASSERT_TRUE(reader->at(3 * kMiB, 512));
  const auto got = reader->at(6 * kMiB, 512);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::kIo);
}

TEST(ForwardReader, a_walk_over_a_distant_object_can_end_anywhere) {
  for (const std::uint64_t end : {std::uint64_t{0}, kMiB / 2, 5 * kMiB, 16 * kMiB}) {
    const DistantStore store(16 * kMiB);
    const auto object = *open_ahead(store, "far", 8 * kMiB);
    const auto reader = make_object_reader(*object);
    for (std::uint64_t offset = 0; offset < end; offset += kMiB / 4) ASSERT_TRUE(reader->at(offset, 1000));
  }
}

TEST(ForwardReader, what_is_near_is_opened_as_it_is) {
  MemoryStore store;
  store.put("shard", some_text(1000));
  const auto near = *open_ahead(store, "shard", kMiB), plain = *store.open("shard");
  const Object &found = *near, &expected = *plain;
  EXPECT_EQ(typeid(found), typeid(expected));
  EXPECT_EQ(open_ahead(store, "nothing", kMiB).error().code, ErrorCode::kNotFound);
}

TEST(ForwardReader, names_say_the_compression) {
  EXPECT_EQ(compression_of_name("a.tar"), Compression::kNone);
  EXPECT_EQ(compression_of_name("a.tar.gz"), Compression::kGzip);
  EXPECT_EQ(compression_of_name("a.tgz"), Compression::kGzip);
  EXPECT_EQ(compression_of_name("a.gzip"), Compression::kGzip);
  EXPECT_EQ(compression_of_name("a.tar.zst"), Compression::kZstd);
  EXPECT_EQ(compression_of_name("a.tzst"), Compression::kZstd);
  EXPECT_EQ(compression_of_name("gz"), Compression::kNone);
  EXPECT_EQ(compression_of_name(""), Compression::kNone);
}

TEST(ForwardReader, any_walk_over_an_object_gives_its_bytes_and_reads_none_twice) {
  Draws draws(7, 0, 0);
  for (int walk = 0; walk < 20; ++walk) {
    MadeUpObject object(1 + draws.below(1'000'000));
    const auto reader = make_object_reader(object);
    const std::uint64_t gap = 256 << draws.below(10), most = 1 << draws.below(13);
    for (std::uint64_t offset = 0; offset < object.version().size; offset += 1 + draws.below(gap)) {
      const std::size_t size = draws.below(most);
      const auto got = reader->at(offset, size);
      ASSERT_TRUE(got) << got.error().describe();
      expect_right(*got, offset, std::min<std::uint64_t>(size, object.version().size - offset));
    }
  }
}

TEST(ForwardReader, beyond_the_end_of_an_object_is_nothing) {
  MadeUpObject object(1000);
  const auto reader = make_object_reader(object);
  expect_right(*reader->at(990, 512), 990, 10);
  EXPECT_TRUE(reader->at(1000, 512)->empty());
  EXPECT_TRUE(reader->at(std::uint64_t{1} << 62, 512)->empty());
  EXPECT_EQ(reader->end(), 1000);
}

TEST(ForwardReader, small_members_take_few_reads) {
  MadeUpObject object(8 << 20);
  const auto reader = make_object_reader(object);
  for (std::uint64_t offset = 0; offset < object.version().size; offset += 1536)
    ASSERT_TRUE(reader->at(offset, 512));
  EXPECT_LT(object.reads(), 30);
}

TEST(ForwardReader, large_members_are_not_read) {
  MadeUpObject object(std::uint64_t{1} << 40);
  const auto reader = make_object_reader(object);
  for (std::uint64_t member = 0; member < 1000; ++member)
    expect_right(*reader->at(member << 24, 512), member << 24, 512);
  EXPECT_LT(object.bytes(), 1000 * 5000);
}

TEST(ForwardReader, many_mebibytes_come_in_one_piece) {
  MadeUpObject object(8 << 20);
  const auto reader = make_object_reader(object);
  expect_right(*reader->at(100, 512), 100, 512);
  expect_right(*reader->at(600, 5 << 20), 600, 5 << 20);
  expect_right(*reader->at((6 << 20) + 1, 512), (6 << 20) + 1, 512);

  const Bytes plain = some_text(3 << 20);
  MemoryStore store;
  store.put("shard", gzip(plain));
  const auto compressed = *store.open("shard");
  const auto gzip_reader = make_gzip_reader(*compressed, "shard");
  ASSERT_EQ(gzip_reader->at(10, 100)->size(), 100);
  const auto got = gzip_reader->at(50, 2 << 20);
  ASSERT_TRUE(got) << got.error().describe();
  ASSERT_EQ(got->size(), 2 << 20);
  EXPECT_EQ(std::memcmp(got->data(), plain.data() + 50, got->size()), 0);
}

TEST(ForwardReader, skipping_in_a_compressed_stream_gives_the_same_as_the_plain_one) {
  const Bytes plain = some_text(1 << 20);
  std::map<Compression, Bytes> stored{{Compression::kGzip, gzip(plain)}};
  if (build_reads_zstd() && !zstd(plain).empty()) stored[Compression::kZstd] = zstd(plain);
  Draws draws(9, 0, 0);
  for (const auto& [compression, bytes] : stored) {
    MemoryStore store;
    store.put("shard", bytes);
    const auto object = *store.open("shard");
    const auto reader = make_forward_reader(*object, "shard", compression);
    for (std::uint64_t offset = 0; offset < plain.size() + 9000; offset += draws.below(30'000)) {
      const std::size_t size = draws.below(20'000);
      const auto got = reader->at(offset, size);
      ASSERT_TRUE(got) << got.error().describe();
      const std::size_t from = std::min<std::size_t>(offset, plain.size());
      ASSERT_EQ(got->size(), std::min(size, plain.size() - from));
      ASSERT_TRUE(std::ranges::equal(*got, ConstBytes(plain).subspan(from, got->size()))) << offset;
    }
    EXPECT_EQ(reader->end(), plain.size());
  }
}

TEST(ForwardReader, a_reader_that_is_called_back_stops_and_can_go_on_later) {
  const Bytes plain = some_text(4 << 20);
  MemoryStore store;
  store.put("shard", gzip(plain));
  const auto object = *store.open("shard");
  const auto reader = make_gzip_reader(*object, "shard");
  ASSERT_TRUE(reader->at(0, 512));
  {
    Interruption interruption;
    interruption.request();
    const Interruption::Scope scope(&interruption);
    const auto stopped = reader->at(3 << 20, 512);
    ASSERT_FALSE(stopped);
    EXPECT_EQ(stopped.error().code, ErrorCode::kStopped);
    EXPECT_EQ(stopped.error().where.uri, "shard");
  }
  const auto got = reader->at(3 << 20, 512);
  ASSERT_TRUE(got) << got.error().describe();
  EXPECT_TRUE(std::ranges::equal(*got, ConstBytes(plain).subspan(3 << 20, 512)));
}

TEST(ForwardReader, a_compressed_stream_does_not_go_back) {
  MemoryStore store;
  store.put("shard", gzip(some_text(2 << 20)));
  const auto object = *store.open("shard");
  const auto reader = make_gzip_reader(*object, "shard");
  ASSERT_TRUE(reader->at(1 << 20, 512));
  EXPECT_EQ(reader->at(0, 512).error().code, ErrorCode::kInvalidArgument);
}

TEST(ForwardReader, gzip_members_one_after_another_are_one_stream) {
  const Bytes first = some_text(1000), second = some_text(3000, 2);
  EXPECT_EQ(*drain(gzip(first) + gzip({}) + gzip(second) + gzip({}), Compression::kGzip), first + second);
  EXPECT_EQ(*drain(gzip({}), Compression::kGzip), Bytes{});
}

TEST(ForwardReader, data_after_gzip_is_named_with_its_offset) {
  const Bytes packed = gzip(some_text(1000));
  for (const char* garbage : {"x", "PK\3\4 and so on", "\x1f\x8c"}) {
    const auto got = drain(packed + bytes_of(garbage), Compression::kGzip);
    ASSERT_FALSE(got) << garbage;
    EXPECT_EQ(got.error().code, ErrorCode::kCorrupt);
    EXPECT_EQ(got.error().where.uri, "mem://shard");
    EXPECT_GE(got.error().where.offset, static_cast<std::int64_t>(packed.size()));
  }
  EXPECT_EQ(drain(packed + Bytes(512), Compression::kGzip).error().where.offset,
            static_cast<std::int64_t>(packed.size()))
      << "zeros are no gzip either";
}

TEST(ForwardReader, something_that_is_no_gzip_is_refused) {
  EXPECT_EQ(drain(some_text(600), Compression::kGzip).error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(drain({}, Compression::kGzip).error().code, ErrorCode::kTruncated);
}

TEST(ForwardReader, a_failure_stays) {
  MemoryStore store;
  store.put("shard", bytes_of("no gzip at all"));
  const auto object = *store.open("shard");
  const auto reader = make_gzip_reader(*object, "shard");
  EXPECT_FALSE(reader->at(0, 512));
  EXPECT_FALSE(reader->at(512, 512));
}

// Every cut is an error at the end of what is left, every flipped bit an error or without effect.
void expect_damage_is_noticed(const Bytes& packed, const Bytes& plain, Compression compression,
                              std::size_t whole_at) {
  for (std::size_t size = 0; size < packed.size(); ++size) {
    const auto got =
        drain(Bytes(packed.begin(), packed.begin() + static_cast<std::ptrdiff_t>(size)), compression);
    if (size == whole_at) continue;  // right between two members
    ASSERT_FALSE(got) << size;
    ASSERT_EQ(got.error().code, ErrorCode::kTruncated) << size << " " << got.error().describe();
    ASSERT_EQ(got.error().where.uri, "mem://shard");
    ASSERT_EQ(got.error().where.offset, static_cast<std::int64_t>(size));
  }
  std::size_t noticed = 0;
  for (std::size_t bit = 0; bit < packed.size() * 8; ++bit) {
    Bytes flipped = packed;
    flipped[bit / 8] ^= std::byte(1u << bit % 8);
    const auto got = drain(flipped, compression);
    if (got) {
      ASSERT_EQ(*got, plain) << "bit " << bit;
    } else {
      ASSERT_EQ(got.error().where.uri, "mem://shard");
      ++noticed;
    }
  }
  EXPECT_GT(noticed, packed.size() * 7);
}

TEST(ForwardReader, every_cut_and_every_flipped_bit_of_gzip_is_noticed_or_harmless) {
  const Bytes first = some_text(500), second = some_text(700, 2);
  const Bytes packed = gzip(first);
  expect_damage_is_noticed(packed + gzip(second), first + second, Compression::kGzip, packed.size());
}

TEST(ForwardReader, every_cut_and_every_flipped_bit_of_zstd_is_noticed_or_harmless) {
  const Bytes first = some_text(500), second = some_text(700, 2);
  const Bytes packed = zstd(first);
  if (!build_reads_zstd() || packed.empty()) GTEST_SKIP() << "no zstd";
  expect_damage_is_noticed(packed + zstd(second), first + second, Compression::kZstd, packed.size());
}

TEST(ForwardReader, zstd_frames_one_after_another_are_one_stream) {
  if (!build_reads_zstd()) GTEST_SKIP() << "no zstd in this build";
  Bytes skippable = bytes_of(std::string_view("\x50\x2A\x4D\x18\x03\0\0\0abc", 11));
  EXPECT_EQ(*drain(zstd_frame(20, "one") + skippable + zstd_frame(23, "two") + zstd_frame(20, ""),
                   Compression::kZstd),
            bytes_of("onetwo"));
}

TEST(ForwardReader, data_after_zstd_is_refused) {
  if (!build_reads_zstd()) GTEST_SKIP() << "no zstd in this build";
  const auto got = drain(zstd_frame(20, "one") + bytes_of("garbage"), Compression::kZstd);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::kCorrupt);
  EXPECT_FALSE(drain(zstd_frame(20, "one") + Bytes(1), Compression::kZstd));
}

TEST(ForwardReader, a_zstd_window_beyond_the_limit_is_too_large) {
  if (!build_reads_zstd()) GTEST_SKIP() << "no zstd in this build";
  for (const int log : {24, 31, 41}) {
    const auto got = drain(zstd_frame(log, "x"), Compression::kZstd);
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, ErrorCode::kTooLarge);
    EXPECT_THAT(got.error().message, testing::HasSubstr("8 MiB"));
  }
}

}  // namespace
}  // namespace penstock
