#include "source/packed/portable_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/crc32c.h"
#include "support/sample_pack.h"

namespace penstock {
namespace {

using testing::HasSubstr;

// Makes the checksum at the end right again, so that what lies before it is reached.
std::vector<std::byte> sealed(std::vector<std::byte> bytes) {
  const std::uint64_t checksum = crc32c(ConstBytes(bytes).first(bytes.size() - 8));
  std::memcpy(bytes.data() + bytes.size() - 8, &checksum, 8);
  return bytes;
}

Error error_of(const std::vector<std::byte>& bytes) {
  const auto index = PortableIndex::parse(bytes, "shard.index");
  return index ? Error{ErrorCode::kStopped, "it was accepted", {}} : index.error();
}

TEST(PortableIndex, what_was_written_is_read) {
  const PortableIndex written = sample_portable_index();
  const auto read = PortableIndex::parse(written.serialise(), "shard.index");
  ASSERT_TRUE(read) << read.error().describe();
  EXPECT_EQ(read->shard, written.shard);
  EXPECT_EQ(read->shard_bytes, written.shard_bytes);
  EXPECT_EQ(read->shard_checksum, written.shard_checksum);
  EXPECT_EQ(read->description, written.description);
  EXPECT_EQ(read->names, written.names);
  EXPECT_EQ(read->offsets, written.offsets);
  EXPECT_EQ(read->lengths, written.lengths);
  EXPECT_EQ(read->checksums, written.checksums);
  EXPECT_EQ(read->name_of_member, written.name_of_member);
  EXPECT_EQ(read->first_members, written.first_members);
  EXPECT_EQ(read->key(0), "cat/1.jpg");
  EXPECT_EQ(read->key(1), "dog/2.jpg");
}

TEST(PortableIndex, every_flipped_bit_is_noticed_and_named) {
  const std::vector<std::byte> good = sample_portable_index().serialise();
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::vector<std::byte> bad = good;
    bad[at] ^= std::byte{0x10};
    const Error error = error_of(bad);
    ASSERT_TRUE(error.code == ErrorCode::kCorrupt) << at << ": " << error.describe();
    ASSERT_EQ(error.where.uri, "shard.index");
  }
}

TEST(PortableIndex, every_truncation_is_noticed) {
  const std::vector<std::byte> good = sample_portable_index().serialise();
  for (std::size_t size = 0; size < good.size(); ++size) {
    const std::vector<std::byte> cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size));
    ASSERT_EQ(error_of(cut).code, ErrorCode::kCorrupt) << size;
  }
}

TEST(PortableIndex, another_version_is_refused_by_its_number) {
  std::vector<std::byte> bytes = sample_portable_index().serialise();
  bytes[8] = std::byte{2};
  const Error error = error_of(sealed(bytes));
  EXPECT_EQ(error.code, ErrorCode::kUnsupported);
  EXPECT_THAT(error.message, HasSubstr("version 2"));
}

TEST(PortableIndex, members_that_lie_outside_of_the_shard_are_refused) {
  PortableIndex index = sample_portable_index();
  index.lengths.back() = index.shard_bytes;
  EXPECT_THAT(error_of(index.serialise()).message, HasSubstr("member 3"));
  index = sample_portable_index();
  index.offsets[1] = 600;  // within the first member
  EXPECT_THAT(error_of(index.serialise()).message, HasSubstr("member 1"));
}

TEST(PortableIndex, columns_that_contradict_one_another_are_refused) {
  const std::vector<void (*)(PortableIndex&)> faults = {
      [](PortableIndex& index) { index.first_members = {0, 0}; },
      [](PortableIndex& index) { index.first_members = {1, 2}; },
      [](PortableIndex& index) { index.first_members = {0, 4}; },
      [](PortableIndex& index) { index.key_ends = {9, 17}; },
      [](PortableIndex& index) { index.key_ends = {19, 18}; },
      [](PortableIndex& index) { index.name_of_member[2] = 2; },
      [](PortableIndex& index) { index.lengths.pop_back(); },
  };
  for (const auto fault : faults) {
    PortableIndex index = sample_portable_index();
    fault(index);
    EXPECT_EQ(error_of(index.serialise()).code, ErrorCode::kCorrupt);
  }
}

}  // namespace
}  // namespace penstock
