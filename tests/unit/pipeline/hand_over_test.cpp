#include "pipeline/hand_over.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "support/layout_fields.h"
#include "support/test_batch.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

LayoutField part_field(BatchForm form) {
  LayoutField out = field("ragged", DType::kInt16, {-1});
  out.field.form = form;
  out.placement = Placement::kPart;
  return out;
}

Part part_of(std::int16_t number, std::int64_t length) {
  Part part{{DType::kInt16, {length}}, MemoryBlock::allocate(static_cast<std::size_t>(length) * 2)};
  std::memcpy(part.memory.data(), &number, sizeof number);
  return part;
}

// A batch of `kept` samples, whose contents the test fills in.
struct HandedOver {
  HandedOver(std::vector<LayoutField> fields, std::uint64_t kept) : made(std::move(fields), kept) {
    finished.memory = std::make_shared<int>(7);
    finished.block = made.contents.block.data();
    finished.contents = &made.contents;
    finished.kept = kept;
  }
  const BatchField& only() {
    hand_over(made.layout, finished, batch);
    return batch.fields.at(0);
  }
  TestBatch made;
  FinishedBatch finished;
  Batch batch;
};

TEST(HandOver, slots_are_one_array_whose_first_axis_counts_the_samples_that_were_kept) {
  HandedOver handed({field("number", DType::kInt64, {2, 3})}, 4);
  handed.finished.kept = 3;  // one was left out
  const BatchField& numbers = handed.only();
  EXPECT_EQ(numbers.spec, (ArraySpec{DType::kInt64, {3, 2, 3}}));
  EXPECT_EQ(numbers.data, handed.made.layout.slot(handed.finished.block, 0, 0).data()) << "not a copy";
  EXPECT_EQ(handed.batch.size, 3u);
}

TEST(HandOver, the_batch_owns_the_memory) {
  HandedOver handed({field("number", DType::kInt64, {})}, 1);
  const std::weak_ptr<void> memory = handed.finished.memory;
  handed.only();
  EXPECT_EQ(handed.finished.memory, nullptr);
  EXPECT_FALSE(memory.expired());
  handed.batch = {};
  EXPECT_TRUE(memory.expired());
}

TEST(HandOver, texts_are_moved_out) {
  LayoutField words = text_field("caption");
  words.field.form = BatchForm::kTexts;
  HandedOver handed({words}, 2);
  handed.made.contents.texts[0] = {"a cat", "a dog"};
  EXPECT_THAT(handed.only().texts, ElementsAre("a cat", "a dog"));
  EXPECT_THAT(handed.made.contents.texts[0], IsEmpty());
}

TEST(HandOver, parts_of_a_list_keep_their_own_shapes) {
  HandedOver handed({part_field(BatchForm::kList)}, 2);
  handed.made.contents.parts[0].clear();
  handed.made.contents.parts[0].push_back(part_of(5, 1));
  handed.made.contents.parts[0].push_back(part_of(6, 3));
  const BatchField& list = handed.only();
  ASSERT_THAT(list.items, SizeIs(2));
  EXPECT_EQ(list.items[0].spec, (ArraySpec{DType::kInt16, {1}}));
  EXPECT_EQ(list.items[1].spec, (ArraySpec{DType::kInt16, {3}}));
  EXPECT_EQ(*static_cast<const std::int16_t*>(list.items[1].data), 6);
  EXPECT_EQ(list.data, nullptr);
}

TEST(HandOver, the_part_of_a_batch_of_one_is_an_array_of_one) {
  HandedOver handed({part_field(BatchForm::kArray)}, 1);
  handed.made.contents.parts[0].clear();
  handed.made.contents.parts[0].push_back(part_of(5, 3));
  const BatchField& array = handed.only();
  EXPECT_EQ(array.spec, (ArraySpec{DType::kInt16, {1, 3}}));
  EXPECT_EQ(array.data, handed.made.contents.parts[0][0].memory.data());
  EXPECT_THAT(array.items, IsEmpty());
}

TEST(HandOver, a_batch_of_one_whose_sample_was_left_out_is_an_empty_array) {
  HandedOver handed({part_field(BatchForm::kArray)}, 1);
  handed.made.contents.parts[0].clear();
  handed.finished.kept = 0;
  EXPECT_EQ(handed.only().spec, (ArraySpec{DType::kInt16, {0, 0}}));
  EXPECT_EQ(handed.batch.size, 0u);
}

TEST(HandOver, padded_samples_have_the_shape_of_the_largest) {
  LayoutField padded = field("ragged", DType::kInt16, {-1});
  padded.placement = Placement::kPad;
  HandedOver handed({padded}, 2);
  handed.made.contents.padded[0] = MemoryBlock::allocate(2 * 3 * sizeof(std::int16_t));
  handed.made.contents.padded_shapes[0] = {3};
  const BatchField& array = handed.only();
  EXPECT_EQ(array.spec, (ArraySpec{DType::kInt16, {2, 3}}));
  EXPECT_EQ(array.data, handed.made.contents.padded[0].data());
}

}  // namespace
}  // namespace penstock
