#include "fetch/bytes/checked_bytes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "base/crc32c.h"
#include "support/text_bytes.h"

namespace penstock {
namespace {

using testing::HasSubstr;

// Gives the same bytes for every request.
class FixedBytes final : public ByteProvider {
 public:
  FixedBytes(ReadOrigin& origin, std::string_view text) : origin_(origin), bytes_(bytes_of(text)) {}

  Result<RecordValue> read(const FieldRead&, const Extent&) override {
    ++origin_.reads;
    return RecordValue{bytes_, std::nullopt};
  }
  Result<bool> read_into(const FieldRead&, const Extent&, std::span<const MutableBytes> parts) override {
    std::size_t at = 0;
    for (const MutableBytes part : parts)
      for (std::byte& byte : part) byte = bytes_[at++];
    return true;
  }

  std::vector<std::byte> bytes_storage() const { return bytes_; }

 private:
  ReadOrigin& origin_;
  std::vector<std::byte> bytes_;
};

class CheckedBytesTest : public testing::Test {
 protected:
  Extent extent_with(std::uint32_t checksum) const {
    Extent extent;
    extent.object = "shard.tar";
    extent.offset = 512;
    extent.length = 5;
    extent.checksum = checksum;
    return extent;
  }

  ReadOrigin origin_;
  FixedBytes stored_{origin_, "hello"};
  CheckedBytes checked_{origin_, stored_};
  FieldPlan field_;
  const FieldRead wanted_{field_};
};

TEST_F(CheckedBytesTest, bytes_with_the_checksum_of_the_index_pass) {
  const std::uint32_t right = crc32c(stored_.bytes_storage());
  EXPECT_TRUE(checked_.read(wanted_, extent_with(right)));
  std::array<std::byte, 2> front{};
  std::array<std::byte, 3> back{};
  const std::array<MutableBytes, 2> parts = {MutableBytes(front), MutableBytes(back)};
  const auto read = checked_.read_into(wanted_, extent_with(right), parts);
  EXPECT_TRUE(read && *read);
}

TEST_F(CheckedBytesTest, other_bytes_are_an_error_that_names_file_and_offset) {
  const auto read = checked_.read(wanted_, extent_with(1));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(read.error().where.uri, "shard.tar");
  EXPECT_EQ(read.error().where.offset, 512);
  EXPECT_THAT(read.error().message, HasSubstr("CRC32C"));
  std::array<std::byte, 5> all{};
  const std::array<MutableBytes, 1> parts = {MutableBytes(all)};
  EXPECT_FALSE(checked_.read_into(wanted_, extent_with(1), parts));
}

TEST_F(CheckedBytesTest, without_a_checksum_nothing_is_compared) {
  Extent extent = extent_with(1);
  extent.checksum.reset();
  EXPECT_TRUE(checked_.read(wanted_, extent));
}

TEST_F(CheckedBytesTest, bytes_that_passed_before_are_compared_again_after_another_read) {
  ASSERT_TRUE(checked_.read(wanted_, extent_with(crc32c(stored_.bytes_storage()))));
  EXPECT_FALSE(checked_.read(wanted_, extent_with(1)));
}

}  // namespace
}  // namespace penstock
