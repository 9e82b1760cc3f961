#include "sample/delivery.h"

#include <gtest/gtest.h>

#include "plan/field_plan.h"
#include "support/counting_allocator.h"
#include "support/layout_fields.h"
#include "support/listed_source.h"
#include "support/test_batch.h"
#include "support/test_worker.h"

namespace penstock {
namespace {

LayoutField list_field(std::string name, DType dtype, std::size_t axes) {
  LayoutField out = field(std::move(name), dtype, Shape(axes, -1));
  out.placement = Placement::kPart;
  return out;
}

LayoutField caption_field() {
  LayoutField out = text_field("caption");
  out.field.kind = FieldKind::kText;
  return out;
}

constexpr std::size_t kNumber = 0, kCaption = 1, kRagged = 2;

class DeliveryTest : public testing::Test {
 protected:
  explicit DeliveryTest(LoaderOptions options = {}) : plan(*plan_fields(source(), options)) {}

  static SourcePtr source() {
    return std::make_shared<ListedSource>(
        std::vector<FieldInfo>{{"number", FieldKind::kInteger, FieldForm::kIndex},
                               {"caption", FieldKind::kText},
                               {"ragged", FieldKind::kArray}});
  }
  static std::vector<LayoutField> fields() {
    std::vector<LayoutField> fields;
    fields.push_back(field("number", DType::kInt64, {}));
    fields.push_back(caption_field());
    fields.push_back(list_field("ragged", DType::kInt16, 1));
    return fields;
  }
  View ragged(std::int64_t length) const {
    return view_of_array(reinterpret_cast<const std::byte*>(numbers.data()), {DType::kInt16, {length}});
  }
  View number() const { return view_of_array(reinterpret_cast<const std::byte*>(&one), {DType::kInt64, {}}); }

  const std::int64_t one = 77;
  const std::vector<std::int16_t> numbers{1, 2, 3, 4, 5};
  SamplePlan plan;
  TestWorker worker;
  TestBatch batch{fields()};
  Delivery delivery{plan, worker.clock};
};

TEST_F(DeliveryTest, brings_numbers_to_slots_and_what_varies_to_memory_of_its_own) {
  delivery.begin({&batch.target, 1});
  ASSERT_TRUE(delivery.deliver(kNumber, number()));
  ASSERT_TRUE(delivery.deliver_text(kCaption, FieldKind::kText, "a cat"));
  ASSERT_TRUE(delivery.deliver(kRagged, ragged(3)));
  EXPECT_EQ(batch.number<std::int64_t>(kNumber, 1), 77);
  EXPECT_EQ(batch.text(kCaption, 1), "a cat");
  EXPECT_EQ(batch.contents.parts[kRagged][1].spec, (ArraySpec{DType::kInt16, {3}}));
  EXPECT_GE(batch.contents.variable.bytes, 5u + 6u);
}

TEST_F(DeliveryTest, texts_and_ragged_parts_are_withdrawn_so_that_their_memory_comes_back) {
  delivery.begin({&batch.target, 0});
  ASSERT_TRUE(delivery.deliver_text(kCaption, FieldKind::kText, "stays"));
  const std::uint64_t used = batch.contents.variable.bytes;
  delivery.begin({&batch.target, 1});
  ASSERT_TRUE(delivery.deliver_text(kCaption, FieldKind::kText, "goes"));
  ASSERT_TRUE(delivery.deliver(kRagged, ragged(3)));
  delivery.withdraw();
  EXPECT_EQ(batch.text(kCaption, 0), "stays");
  EXPECT_EQ(batch.text(kCaption, 1), "");
  EXPECT_EQ(batch.contents.parts[kRagged][1].memory.size(), 0u);
  EXPECT_EQ(batch.contents.variable.bytes, used);
}

TEST_F(DeliveryTest, a_part_is_a_block_of_the_allocator_of_parts) {
  const auto of_parts = std::make_shared<CountingAllocator>();
  VariableMemory variable(batch.ledger, 1 << 20, of_parts);
  BatchContents contents;
  contents.prepare(batch.layout, 2);
  const BatchTarget target{batch.layout, contents, variable};
  delivery.begin({&target, 0});
  ASSERT_TRUE(delivery.deliver(kRagged, ragged(3)));
  ASSERT_TRUE(delivery.deliver(kRagged, ragged(0)));
  EXPECT_EQ(of_parts->allocations, 2) << "one without elements, too";
  EXPECT_EQ(of_parts->blocks, 1);
  of_parts->refuses = true;
  EXPECT_EQ(delivery.deliver(kRagged, ragged(3)).error().code, ErrorCode::kNoMemory);
  delivery.withdraw();
  EXPECT_EQ(of_parts->blocks, 0);
  EXPECT_EQ(contents.variable.bytes, 0u);
}

TEST_F(DeliveryTest, a_part_of_another_type_than_the_batch_has_takes_no_memory) {
  delivery.begin({&batch.target, 0});
  const std::vector<std::int64_t> wide{1};
  const View other = view_of_array(reinterpret_cast<const std::byte*>(wide.data()), {DType::kInt64, {1}});
  const auto status = delivery.deliver(kRagged, other);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kShapeMismatch);
  delivery.withdraw();
  EXPECT_EQ(batch.contents.variable.bytes, 0u);
}

TEST_F(DeliveryTest, a_sample_that_comes_before_its_memory_is_too_early) {
  TestBatch small(fields(), 2, 400);
  BatchContents second, third;  // batches behind the one that leaves next, which share half of the memory
  second.prepare(small.layout, 2);
  third.prepare(small.layout, 2);
  const BatchTarget to_second{small.layout, second, *small.variable}, to_third{small.layout, third, *small.variable};
  const std::string text(100, 'x');
  delivery.begin({&to_second, 0});
  ASSERT_TRUE(delivery.deliver_text(kCaption, FieldKind::kText, text));
  delivery.begin({&to_third, 0});
  EXPECT_EQ(delivery.deliver_text(kCaption, FieldKind::kText, text).error().code, ErrorCode::kNoMemory);
  EXPECT_TRUE(delivery.is_too_early());
  EXPECT_FALSE(delivery.is_batch_too_large());
  delivery.withdraw();
  EXPECT_EQ(third.variable.bytes, 0u);
  EXPECT_GE(second.variable.bytes, text.size()) << "the other batch has what it had";
}

TEST_F(DeliveryTest, a_batch_that_takes_more_than_any_may_is_too_large) {
  TestBatch small(fields(), 2, 400);
  delivery.begin({&small.target, 0});
  const auto status = delivery.deliver_text(kCaption, FieldKind::kText, std::string(300, 'x'));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kNoMemory);
  EXPECT_TRUE(delivery.is_batch_too_large());
  EXPECT_FALSE(delivery.is_too_early());
  delivery.begin({&small.target, 0});
  EXPECT_FALSE(delivery.is_batch_too_large()) << "that was the sample before";
}

TEST_F(DeliveryTest, another_kind_of_value_than_the_batch_has_is_an_error) {
  delivery.begin({&batch.target, 0});
  EXPECT_EQ(delivery.deliver_text(kCaption, FieldKind::kJson, "{}").error().code, ErrorCode::kShapeMismatch);
  EXPECT_EQ(delivery.deliver(kCaption, number()).error().code, ErrorCode::kShapeMismatch);
}

TEST_F(DeliveryTest, the_lengths_of_a_padded_field_stand_in_a_field_of_their_own) {
  std::vector<LayoutField> with_lengths_fields = fields();
  with_lengths_fields[kRagged].placement = Placement::kPad;
  with_lengths_fields[kRagged].lengths = 3;
  with_lengths_fields.push_back(field("lengths", DType::kInt64, {1}));
  TestBatch with_lengths(with_lengths_fields);
  delivery.begin({&with_lengths.target, 1});
  ASSERT_TRUE(delivery.deliver(kRagged, ragged(4)));
  EXPECT_EQ(with_lengths.number<std::int64_t>(3, 1), 4);
}

TEST_F(DeliveryTest, measuring_and_looking_get_the_values_without_a_batch) {
  std::vector<MeasuredField> measured(3);
  delivery.begin({.measured = &measured});
  ASSERT_TRUE(delivery.deliver(kRagged, ragged(2)));
  ASSERT_TRUE(delivery.deliver_text(kCaption, FieldKind::kText, "a cat"));
  EXPECT_EQ(measured[kRagged].spec, (ArraySpec{DType::kInt16, {2}}));
  EXPECT_EQ(measured[kCaption].kind, FieldKind::kText);
  std::string seen;
  const LookAtField look = [&](const SeenField& value) { seen = value.text; };
  delivery.begin({.look = &look});
  ASSERT_TRUE(delivery.deliver_text(kCaption, FieldKind::kText, "a dog"));
  EXPECT_EQ(seen, "a dog");
}

TEST_F(DeliveryTest, only_a_slot_that_nothing_derives_from_is_written_directly) {
  const SampleTarget target{&batch.target, 1};
  const auto slot = delivery.direct_slot(kNumber, target);
  ASSERT_TRUE(slot);
  EXPECT_EQ(slot->bytes.data(), batch.layout.slot(batch.contents.block.data(), kNumber, 1).data());
  EXPECT_FALSE(delivery.direct_slot(kRagged, target)) << "it varies in size";
  EXPECT_FALSE(delivery.direct_slot(kNumber, {})) << "there is no batch";
  plan.fields[kRagged].derive_from = kNumber;
  EXPECT_FALSE(delivery.direct_slot(kNumber, target));
}

}  // namespace
}  // namespace penstock
