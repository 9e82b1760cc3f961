#include "sample/value_flow.h"

#include <gtest/gtest.h>

#include <cstring>

#include "plan/field_plan.h"
#include "support/layout_fields.h"
#include "support/listed_source.h"
#include "support/test_batch.h"
#include "support/test_worker.h"

namespace penstock {
namespace {

using Values = std::vector<MapValue>;

std::int64_t number_of(const MapValue& value) {
  std::int64_t number = 0;
  std::memcpy(&number, value.array.data.get(), sizeof(number));
  return number;
}

MapValue number_value(std::int64_t number) {
  return {MapValue::Kind::kArray, {{DType::kInt64, {}}, std::make_shared<std::int64_t>(number)}, {}};
}

Map map_over(std::vector<std::string> fields, Map::Function function) {
  return {std::make_shared<const Map::Function>(std::move(function)), std::move(fields)};
}

// One sample with the numbers "a" and "b" and the text "t".
struct Sample {
  Sample(std::vector<FieldTransform> transforms, std::vector<std::string> fields, std::vector<LayoutField> slots)
      : batch(std::move(slots)) {
    auto source = std::make_shared<ListedSource>(
        std::vector<FieldInfo>{{"a", FieldKind::kInteger, FieldForm::kIndex},
                               {"b", FieldKind::kInteger, FieldForm::kIndex},
                               {"t", FieldKind::kText, FieldForm::kIndex}});
    LoaderOptions options;
    options.transforms = std::move(transforms);
    options.fields = std::move(fields);
    plan = *plan_fields(source, options);
    delivery.begin({&batch.target, 1});
    flow = std::make_unique<ValueFlow>(plan, worker.context, delivery);
  }
  std::size_t field(const std::string& name) const {
    std::size_t i = 0;
    while (plan.fields[i].name != name) ++i;
    return i;
  }
  Status take(const std::string& name, std::int64_t number) {
    const Status taken =
        flow->take(field(name), view_of_array(reinterpret_cast<const std::byte*>(&number), {DType::kInt64, {}}));
    number = -1;  // the memory is used again for the next field
    return taken;
  }

  TestWorker worker;
  TestBatch batch;
  SamplePlan plan;
  Delivery delivery{plan, worker.clock};
  std::unique_ptr<ValueFlow> flow;
};

TEST(ValueFlow, a_value_that_no_map_waits_for_is_delivered_at_once) {
  Sample sample({}, {"a", "t"}, {field("a", DType::kInt64, {}), text_field("t")});
  ASSERT_TRUE(sample.take("a", 5));
  EXPECT_EQ(sample.batch.number<std::int64_t>(0, 1), 5);
}

TEST(ValueFlow, a_map_over_two_fields_gets_both_values) {
  const Map both = map_over({"b", "a"}, [](Values in, const MapDraws&) -> Result<Values> {
    return std::vector{number_value(number_of(in[0]) * 10), number_value(number_of(in[1]) * 100)};
  });
  Sample sample({{"a", {both}, ""}}, {"a", "b"}, {field("a", DType::kInt64, {}), field("b", DType::kInt64, {})});
  ASSERT_TRUE(sample.take("a", 1));
  ASSERT_TRUE(sample.take("b", 2));
  ASSERT_TRUE(sample.flow->run_joint_maps());
  EXPECT_EQ(sample.batch.number<std::int64_t>(0, 1), 100);
  EXPECT_EQ(sample.batch.number<std::int64_t>(1, 1), 20);
}

TEST(ValueFlow, steps_behind_a_map_run_on_what_it_returned) {
  const Map both = map_over({"a", "b"}, [](Values in, const MapDraws&) -> Result<Values> {
    return std::vector{in[1], in[0]};
  });
  Sample sample({{"a", {both, OneHot{3}}, ""}}, {"a"}, {field("a", DType::kFloat32, {3})});
  ASSERT_TRUE(sample.take("a", 0));
  ASSERT_TRUE(sample.take("b", 2));
  ASSERT_TRUE(sample.flow->run_joint_maps());
  EXPECT_EQ(sample.batch.number<float>(0, 1, 0), 0.0F);
  EXPECT_EQ(sample.batch.number<float>(0, 1, 2), 1.0F);
}

TEST(ValueFlow, draws_of_a_map_are_those_of_the_sample) {
  MapDraws seen;
  const Map both = map_over({"a", "b"}, [&](Values in, const MapDraws& draws) -> Result<Values> {
    seen = draws;
    return in;
  });
  Sample sample({{"a", {both}, ""}}, {"a"}, {field("a", DType::kInt64, {})});
  sample.worker.context.draws = Draws(7, 3, 11);
  ASSERT_TRUE(sample.take("a", 0));
  ASSERT_TRUE(sample.take("b", 2));
  ASSERT_TRUE(sample.flow->run_joint_maps());
  EXPECT_EQ(seen.seed, 7u);
  EXPECT_EQ(seen.epoch, 3u);
  EXPECT_EQ(seen.position, 11u);
}

TEST(ValueFlow, a_map_that_returns_another_number_of_values_is_an_error) {
  const Map both = map_over({"a", "b"}, [](Values, const MapDraws&) -> Result<Values> {
    return std::vector{number_value(1)};
  });
  Sample sample({{"a", {both}, ""}}, {"a", "b"}, {field("a", DType::kInt64, {}), field("b", DType::kInt64, {})});
  ASSERT_TRUE(sample.take("a", 1));
  ASSERT_TRUE(sample.take("b", 2));
  const auto run = sample.flow->run_joint_maps();
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().code, ErrorCode::kCallback);
}

TEST(ValueFlow, a_map_may_make_numbers_of_a_text_and_the_reverse) {
  const Map both = map_over({"t", "a"}, [](Values in, const MapDraws&) -> Result<Values> {
    return std::vector{number_value(static_cast<std::int64_t>(in[0].text.size())),
                       MapValue{MapValue::Kind::kText, {}, "number " + std::to_string(number_of(in[1]))}};
  });
  LayoutField text = text_field("a");
  text.field.kind = FieldKind::kText;
  Sample sample({{"t", {both}, ""}}, {"t", "a"}, {field("t", DType::kInt64, {}), text});
  ASSERT_TRUE(sample.flow->take_text(sample.field("t"), "four"));
  ASSERT_TRUE(sample.take("a", 9));
  ASSERT_TRUE(sample.flow->run_joint_maps());
  EXPECT_EQ(sample.batch.number<std::int64_t>(0, 1), 4);
  EXPECT_EQ(sample.batch.text(1, 1), "number 9");
}

TEST(ValueFlow, a_text_where_steps_follow_is_an_error) {
  const Map both = map_over({"a", "b"}, [](Values in, const MapDraws&) -> Result<Values> {
    return std::vector{MapValue{MapValue::Kind::kText, {}, "text"}, in[1]};
  });
  Sample sample({{"a", {both, OneHot{3}}, ""}}, {"a"}, {field("a", DType::kFloat32, {3})});
  ASSERT_TRUE(sample.take("a", 1));
  ASSERT_TRUE(sample.take("b", 2));
  EXPECT_EQ(sample.flow->run_joint_maps().error().code, ErrorCode::kShapeMismatch);
}

TEST(ValueFlow, a_derived_field_begins_with_the_value_of_its_parent) {
  Sample sample({{"one hot", {OneHot{4}}, "a"}}, {"a", "one hot"},
                {field("a", DType::kInt64, {}), field("one hot", DType::kFloat32, {4})});
  ASSERT_TRUE(sample.take("a", 3));
  EXPECT_EQ(sample.batch.number<std::int64_t>(0, 1), 3);
  EXPECT_EQ(sample.batch.number<float>(1, 1, 3), 1.0F);
}

TEST(ValueFlow, a_parent_that_is_not_delivered_still_has_its_derived_fields) {
  Sample sample({{"one hot", {OneHot{4}}, "a"}}, {"one hot"}, {field("one hot", DType::kFloat32, {4})});
  ASSERT_TRUE(sample.take("a", 3));
  EXPECT_EQ(sample.batch.number<float>(0, 1, 3), 1.0F);
}

TEST(ValueFlow, a_field_derives_from_what_a_map_made_of_its_parent) {
  const Map both = map_over({"a", "b"}, [](Values in, const MapDraws&) -> Result<Values> {
    return std::vector{number_value(number_of(in[0]) + number_of(in[1])), in[1]};
  });
  Sample sample({{"a", {both}, ""}, {"one hot", {OneHot{4}}, "a"}}, {"a", "one hot"},
                {field("a", DType::kInt64, {}), field("one hot", DType::kFloat32, {4})});
  ASSERT_TRUE(sample.take("a", 1));
  ASSERT_TRUE(sample.take("b", 2));
  ASSERT_TRUE(sample.flow->run_joint_maps());
  EXPECT_EQ(sample.batch.number<std::int64_t>(0, 1), 3);
  EXPECT_EQ(sample.batch.number<float>(1, 1, 3), 1.0F);
}

}  // namespace
}  // namespace penstock
