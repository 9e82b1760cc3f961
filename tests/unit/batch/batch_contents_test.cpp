#include "batch/batch_contents.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "support/counting_allocator.h"
#include "support/layout_fields.h"

namespace penstock {
namespace {

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

// ---- padding

struct PadCase {
  SlotLayout layout;
  std::shared_ptr<Ledger> ledger = std::make_shared<Ledger>(1 << 20);
  std::shared_ptr<CountingAllocator> of_parts = std::make_shared<CountingAllocator>();
  std::shared_ptr<CountingAllocator> of_arrays = std::make_shared<CountingAllocator>();
  std::shared_ptr<VariableMemory> memory = std::make_shared<VariableMemory>(ledger, 1 << 20, of_parts, of_arrays);
  BatchContents contents;

  explicit PadCase(std::size_t rank, std::uint64_t samples) : layout({padded_field(rank)}, samples) {
    contents.prepare(layout, samples);
    memory->promote(contents.variable);
  }
  static LayoutField padded_field(std::size_t rank) {
    LayoutField out = field("x", DType::kInt16, Shape(rank, -1));
    out.placement = Placement::kPad;
    return out;
  }
  // Counts up within each sample, from 1.
  void put(std::uint64_t index, const Shape& shape) {
    Part part{{DType::kInt16, shape}, {}};
    part.memory = MemoryBlock::allocate(std::max<std::uint64_t>(part.spec.bytes(), 1), memory->of_parts());
    for (std::size_t i = 0; i < element_count(shape); ++i)
      reinterpret_cast<std::int16_t*>(part.memory.data())[i] = static_cast<std::int16_t>(i + 1);
    ASSERT_EQ(memory->take(contents.variable, part.spec.bytes() + kBytesPerPart), VariableMemory::Answer::kYes);
    contents.parts[0][index] = std::move(part);
  }
  std::vector<std::int16_t> values() const {
    const auto* begin = reinterpret_cast<const std::int16_t*>(contents.padded[0].data());
    return {begin, begin + contents.variable.bytes / 2};
  }
};

TEST(PadParts, makes_one_array_as_large_as_the_largest_sample) {
  PadCase pad(2, 2);
  pad.put(0, {1, 3});
  pad.put(1, {2, 2});
  ASSERT_EQ(pad_parts(pad.layout, pad.contents, *pad.memory, {}, -1), VariableMemory::Answer::kYes);
  EXPECT_EQ(pad.contents.padded_shapes[0], (Shape{2, 3}));
  EXPECT_EQ(pad.values(), (std::vector<std::int16_t>{1, 2, 3, -1, -1, -1, 1, 2, -1, 3, 4, -1}));
  EXPECT_EQ(pad.contents.variable.bytes, 24u) << "the memory of the parts was given back";
}

TEST(PadParts, makes_its_array_by_the_allocator_for_arrays_and_frees_the_parts) {
  PadCase pad(1, 2);
  pad.put(0, {3});
  pad.put(1, {1});
  EXPECT_EQ(pad.of_parts->blocks, 2);
  ASSERT_EQ(pad_parts(pad.layout, pad.contents, *pad.memory, {}, 0), VariableMemory::Answer::kYes);
  EXPECT_EQ(pad.of_parts->blocks, 0);
  EXPECT_EQ(pad.of_arrays->blocks, 1);
  EXPECT_EQ(pad.values(), (std::vector<std::int16_t>{1, 2, 3, 1, 0, 0})) << "a new block need not be zero";
}

TEST(PadParts, gives_back_what_it_took_where_there_is_no_memory) {
  PadCase pad(1, 1);
  pad.put(0, {3});
  pad.of_arrays->refuses = true;
  const std::uint64_t before = pad.ledger->used();
  EXPECT_EQ(pad_parts(pad.layout, pad.contents, *pad.memory, {}, 0), VariableMemory::Answer::kNever);
  EXPECT_EQ(pad.ledger->used(), before);
}

TEST(PadParts, leaves_out_what_was_skipped_also_from_the_size) {
  PadCase pad(1, 3);
  pad.put(0, {2});
  pad.put(2, {1});
  ASSERT_EQ(pad_parts(pad.layout, pad.contents, *pad.memory, {false, true, false}, 0),
            VariableMemory::Answer::kYes);
  EXPECT_EQ(pad.values(), (std::vector<std::int16_t>{1, 2, 1, 0}));
}

TEST(PadParts, samples_without_elements_and_batches_of_nothing_are_fine) {
  PadCase pad(1, 2);
  pad.put(0, {0});
  pad.put(1, {0});
  ASSERT_EQ(pad_parts(pad.layout, pad.contents, *pad.memory, {}, 0), VariableMemory::Answer::kYes);
  EXPECT_EQ(pad.contents.padded_shapes[0], Shape{0});
  PadCase nothing(1, 1);
  ASSERT_EQ(pad_parts(nothing.layout, nothing.contents, *nothing.memory, {true}, 0),
            VariableMemory::Answer::kYes);
}

TEST(PadParts, extents_that_lie_do_not_wrap_around) {
  PadCase pad(2, 4);
  for (const std::uint64_t i : {0u, 1u}) pad.put(i, {1, 1});
  for (const std::uint64_t i : {2u, 3u}) pad.put(i, {0, std::int64_t{1} << 61});
  EXPECT_EQ(pad_parts(pad.layout, pad.contents, *pad.memory, {}, 0), VariableMemory::Answer::kNever);
}

TEST(PadParts, a_few_long_samples_cannot_blow_up_the_batch) {
  PadCase pad(2, 64);
  for (std::uint64_t i = 0; i < 64; ++i) pad.put(i, i % 2 ? Shape{1, 2000} : Shape{2000, 1});
  const std::uint64_t before = pad.ledger->used();
  EXPECT_EQ(pad_parts(pad.layout, pad.contents, *pad.memory, {}, 0), VariableMemory::Answer::kNever);
  EXPECT_EQ(pad.ledger->used(), before);
}

}  // namespace
}  // namespace penstock
