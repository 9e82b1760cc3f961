#include "batch/slot_layout.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

namespace penstock {
namespace {

BatchField field(std::string name, DType dtype, Shape shape) {
  return {std::move(name), {dtype, std::move(shape)}, nullptr, {}};
}
BatchField text_field(std::string name) { return {std::move(name), {}, nullptr, {""}}; }

TEST(SlotLayout, slots_do_not_overlap_and_fit_the_block) {
  const SlotLayout layout(
      {field("a", DType::kUInt8, {3, 5}), field("b", DType::kInt64, {}), field("c", DType::kFloat32, {7})},
      9);
  std::vector<std::byte> block(layout.batch_bytes(), std::byte{0});
  EXPECT_EQ(layout.sample_bytes(), 15u + 8 + 28);
  for (std::size_t f = 0; f < 3; ++f)
    for (std::uint64_t i = 0; i < 9; ++i)
      for (std::byte& b : layout.slot(block.data(), f, i)) {
        ASSERT_GE(&b, block.data());
        ASSERT_LT(&b, block.data() + block.size());
        ASSERT_EQ(b, std::byte{0});
        b = std::byte{1};
      }
  for (std::size_t f = 0; f < 3; ++f)
    EXPECT_EQ((layout.slot(block.data(), f, 0).data() - block.data()) % 128, 0)
        << "fields begin on a vector boundary";
}

TEST(SlotLayout, compaction_closes_every_pattern_of_gaps) {
  constexpr std::uint64_t kBatch = 7;
  const SlotLayout layout({field("n", DType::kInt64, {}), text_field("key"), field("w", DType::kUInt8, {3})},
                          kBatch);
  for (unsigned pattern = 0; pattern < 1u << kBatch; ++pattern) {
    std::vector<std::byte> block(layout.batch_bytes());
    std::vector<std::vector<std::string>> texts(3);
    std::vector<bool> left_out(kBatch);
    std::vector<std::int64_t> wanted;
    for (std::uint64_t i = 0; i < kBatch; ++i) {
      const auto value = static_cast<std::int64_t>(i * 11);
      std::memcpy(layout.slot(block.data(), 0, i).data(), &value, 8);
      std::memset(layout.slot(block.data(), 2, i).data(), static_cast<int>(i), 3);
      texts[1].push_back(std::to_string(i));
      left_out[i] = pattern >> i & 1;
      if (!left_out[i]) wanted.push_back(value);
    }
    ASSERT_EQ(layout.compact(block.data(), texts, left_out), wanted.size());
    ASSERT_EQ(texts[1].size(), wanted.size());
    for (std::uint64_t i = 0; i < wanted.size(); ++i) {
      std::int64_t value = 0;
      std::memcpy(&value, layout.slot(block.data(), 0, i).data(), 8);
      ASSERT_EQ(value, wanted[i]);
      ASSERT_EQ(texts[1][i], std::to_string(value / 11));
      ASSERT_EQ(layout.slot(block.data(), 2, i)[2], std::byte(value / 11));
    }
  }
}

TEST(SlotLayout, a_batch_of_texts_only_still_has_memory) {
  const SlotLayout layout({text_field("key")}, 4);
  EXPECT_GT(layout.batch_bytes(), 0u);
  EXPECT_EQ(layout.sample_bytes(), 0u);
  EXPECT_TRUE(layout.is_text(0));
}

}  // namespace
}  // namespace penstock
