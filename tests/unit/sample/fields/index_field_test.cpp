#include "sample/fields/index_field.h"

#include <gtest/gtest.h>

#include "support/field_run.h"
#include "support/layout_fields.h"
#include "support/listed_source.h"

namespace penstock {
namespace {

LayoutField words(std::string name) {
  LayoutField out = text_field(std::move(name));
  out.field.kind = FieldKind::kText;
  return out;
}

std::shared_ptr<ListedSource> source_of(const FieldInfo& field, std::vector<IndexValue> values) {
  auto source = std::make_shared<ListedSource>(std::vector{field});
  for (IndexValue& value : values) source->values.push_back({std::move(value)});
  return source;
}

TEST(IndexField, numbers_of_each_type_reach_their_slots_as_they_are) {
  auto source = std::make_shared<ListedSource>(
      std::vector<FieldInfo>{{"integer", FieldKind::kInteger, FieldForm::kIndex},
                             {"real", FieldKind::kArray, FieldForm::kIndex},
                             {"short", FieldKind::kArray, FieldForm::kIndex},
                             {"several", FieldKind::kArray, FieldForm::kIndex}});
  source->values = {{std::int64_t{-5}, 0.1, 2.5F, std::vector<std::int64_t>{1, 2, 3}}};
  FieldRun run(source, {field("integer", DType::kInt64, {}), field("real", DType::kFloat64, {}),
                        field("short", DType::kFloat32, {}), field("several", DType::kInt64, {3})});
  ASSERT_TRUE(run.make(0, 1));
  EXPECT_EQ(run.batch.number<std::int64_t>(0, 1), -5);
  EXPECT_EQ(run.batch.number<double>(1, 1), 0.1);
  EXPECT_EQ(run.batch.number<float>(2, 1), 2.5F);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(run.batch.number<std::int64_t>(3, 1, i), static_cast<int>(i) + 1);
}

TEST(IndexField, a_text_and_the_key_reach_the_texts_of_the_batch) {
  LoaderOptions options;
  options.fields = {"title", "key"};
  FieldRun run(source_of({"title", FieldKind::kText, FieldForm::kIndex}, {"first", "second"}),
               {words("title"), words("key")}, options);
  ASSERT_TRUE(run.make(1, 0));
  ASSERT_TRUE(run.make(0, 1));
  EXPECT_EQ(run.batch.text(0, 0), "second");
  EXPECT_EQ(run.batch.text(1, 0), "sample 1");
  EXPECT_EQ(run.batch.text(0, 1), "first");
  EXPECT_EQ(run.batch.text(1, 1), "sample 0");
}

TEST(IndexField, steps_run_on_the_number) {
  LoaderOptions options;
  options.transforms = {{"label", {OneHot{3}}, ""}};
  FieldRun run(source_of({"label", FieldKind::kInteger, FieldForm::kIndex}, {std::int64_t{2}, std::int64_t{3}}),
               {field("label", DType::kFloat32, {3})}, options);
  ASSERT_TRUE(run.make(0));
  EXPECT_EQ(run.batch.number<float>(0, 0, 1), 0.0F);
  EXPECT_EQ(run.batch.number<float>(0, 0, 2), 1.0F);
  EXPECT_FALSE(run.make(1)) << "there are three classes";
}

TEST(IndexField, a_value_of_another_length_than_the_batch_has_is_an_error) {
  FieldRun run(source_of({"several", FieldKind::kArray, FieldForm::kIndex}, {std::vector<std::int64_t>{1, 2}}),
               {field("several", DType::kInt64, {3})});
  const Status made = run.make(0);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::kShapeMismatch);
}

TEST(IndexField, measuring_adds_nothing_because_nothing_is_read) {
  FieldRun run(source_of({"label", FieldKind::kInteger, FieldForm::kIndex}, {std::int64_t{2}}),
               {field("label", DType::kInt64, {})});
  const auto cost = run.measure(0);
  ASSERT_TRUE(cost);
  EXPECT_EQ(cost->encoded_bytes + cost->decoded_bytes + cost->read_seconds, 0);
}

}  // namespace
}  // namespace penstock
