#include "batch/batch_contents.h"

#include <gtest/gtest.h>

#include <cstring>

namespace penstock {
namespace {

LayoutField field(std::string name, DType dtype, Shape shape) {
  LayoutField out;
  out.field.name = std::move(name);
  out.field.spec = {dtype, std::move(shape)};
  return out;
}
LayoutField text_field(std::string name) {
  LayoutField out = field(std::move(name), DType::kUInt8, {});
  out.placement = Placement::kText;
  return out;
}

TEST(BatchContents, compaction_closes_every_pattern_of_gaps) {
  constexpr std::uint64_t kBatch = 7;
  const SlotLayout layout({field("n", DType::kInt64, {}), text_field("key"), field("w", DType::kUInt8, {3})},
                          kBatch);
  for (unsigned pattern = 0; pattern < 1u << kBatch; ++pattern) {
    std::vector<std::byte> block(layout.batch_bytes());
    BatchContents contents;
    contents.prepare(layout, kBatch);
    auto& texts = contents.texts;
    std::vector<bool> left_out(kBatch);
    std::vector<std::int64_t> wanted;
    for (std::uint64_t i = 0; i < kBatch; ++i) {
      const auto value = static_cast<std::int64_t>(i * 11);
      std::memcpy(layout.slot(block.data(), 0, i).data(), &value, 8);
      std::memset(layout.slot(block.data(), 2, i).data(), static_cast<int>(i), 3);
      texts[1][i] = std::to_string(i);
      left_out[i] = pattern >> i & 1;
      if (!left_out[i]) wanted.push_back(value);
    }
    ASSERT_EQ(compact(layout, contents, block.data(), left_out), wanted.size());
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

}  // namespace
}  // namespace penstock
