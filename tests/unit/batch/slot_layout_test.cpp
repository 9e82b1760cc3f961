#include "batch/slot_layout.h"

#include <gtest/gtest.h>

#include "support/layout_fields.h"

namespace penstock {
namespace {

TEST(SlotLayout, slots_do_not_overlap_and_fit_the_block) {
  const SlotLayout layout(
      {field("a", DType::kUInt8, {3, 5}), field("b", DType::kInt64, {}), field("c", DType::kFloat32, {7})},
      9);
  std::vector<std::byte> block(layout.batch_bytes(), std::byte{0});
  EXPECT_EQ(layout.sample_bytes(), 15u + 8 + 28);
  EXPECT_EQ(layout.field(0).device, (Device{DeviceKind::kCpu, 0}));
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

TEST(SlotLayout, a_batch_of_texts_only_still_has_memory) {
  const SlotLayout layout({text_field("key")}, 4);
  EXPECT_GT(layout.batch_bytes(), 0u);
  EXPECT_EQ(layout.sample_bytes(), 0u);
  EXPECT_TRUE(layout.has_variable());
}

}  // namespace
}  // namespace penstock
