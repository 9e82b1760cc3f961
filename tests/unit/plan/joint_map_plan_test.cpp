#include "plan/joint_map_plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "transform/map_result.h"

namespace penstock {
namespace {

Map map_over(std::vector<std::string> fields) {
  Map map = Map::of_array(
      [](const ArraySpec& spec, const void*) -> Result<OwnedArray> { return OwnedArray{spec, {}}; });
  map.fields = std::move(fields);
  return map;
}

std::size_t joint_maps_in(const FieldTransform& transform) {
  return static_cast<std::size_t>(std::ranges::count_if(transform.steps, is_joint_map));
}

SamplePlan plan_of(const std::vector<std::string>& names) {
  SamplePlan plan;
  for (const std::string& name : names) plan.fields.emplace_back().name = name;
  return plan;
}

TEST(JointMapPlan, fields_that_lack_a_map_take_it_as_their_last_step) {
  const Map both = map_over({"a", "b"});
  const auto spread = spread_joint_maps({{"b", {OneHot{3}}, ""}, {"a", {Resize{4, 4}, both, OneHot{2}}, ""}});
  ASSERT_TRUE(spread);
  ASSERT_EQ(spread->size(), 2u);
  EXPECT_EQ((*spread)[0].steps.size(), 2u);
  EXPECT_TRUE(is_joint_map((*spread)[0].steps[1]));
  EXPECT_EQ((*spread)[1].steps.size(), 3u);
}

TEST(JointMapPlan, a_map_that_stands_twice_runs_twice) {
  const Map both = map_over({"a", "b"});
  const auto spread = spread_joint_maps({{"a", {both, both}, ""}});
  ASSERT_TRUE(spread);
  ASSERT_EQ(spread->size(), 2u);
  EXPECT_EQ(joint_maps_in((*spread)[1]), 2u);
  SamplePlan plan = plan_of({"a", "b"});
  ASSERT_TRUE(plan_joint_maps(*spread, plan));
  EXPECT_EQ(plan.joint_maps.size(), 2u);
  EXPECT_EQ(plan.fields[1].joint_maps, (std::vector<std::size_t>{0, 1}));
}

TEST(JointMapPlan, maps_run_when_their_fields_have_come_that_far) {
  const Map first = map_over({"b", "c"}), second = map_over({"a", "b"}), third = map_over({"c", "a"});
  const auto spread =
      spread_joint_maps({{"a", {second, third}, ""}, {"b", {first, second}, ""}, {"c", {first, third}, ""}});
  ASSERT_TRUE(spread);
  SamplePlan plan = plan_of({"a", "b", "c"});
  ASSERT_TRUE(plan_joint_maps(*spread, plan));
  ASSERT_EQ(plan.joint_maps.size(), 3u);
  EXPECT_EQ(plan.joint_maps[0].fields, (std::vector<std::size_t>{1, 2}));
  EXPECT_EQ(plan.joint_maps[1].fields, (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(plan.joint_maps[2].fields, (std::vector<std::size_t>{2, 0}));
}

TEST(JointMapPlan, maps_that_wait_for_each_other_are_an_error) {
  const Map one = map_over({"a", "b"}), other = map_over({"a", "b"});
  const auto spread = spread_joint_maps({{"a", {one, other}, ""}, {"b", {other, one}, ""}});
  ASSERT_TRUE(spread);
  SamplePlan plan = plan_of({"a", "b"});
  const auto planned = plan_joint_maps(*spread, plan);
  ASSERT_FALSE(planned);
  EXPECT_NE(planned.error().message.find("different order"), std::string::npos);
}

TEST(JointMapPlan, a_derived_field_begins_when_its_parent_is_finished) {
  const Map of_parent = map_over({"a"}), of_child = map_over({"child", "b"}),
            of_both = map_over({"a", "child"});
  auto spread = spread_joint_maps({{"a", {of_parent}, ""}, {"child", {of_child}, "a"}});
  ASSERT_TRUE(spread);
  SamplePlan plan = plan_of({"a", "child", "b"});
  plan.fields[1].derive_from = 0;
  ASSERT_TRUE(plan_joint_maps(*spread, plan));
  EXPECT_EQ(plan.joint_maps[0].fields, (std::vector<std::size_t>{0}));
  EXPECT_EQ(plan.joint_maps[1].fields, (std::vector<std::size_t>{1, 2}));

  spread = spread_joint_maps({{"a", {of_both}, ""}, {"child", {}, "a"}});
  ASSERT_TRUE(spread);
  plan = plan_of({"a", "child"});
  plan.fields[1].derive_from = 0;
  EXPECT_FALSE(plan_joint_maps(*spread, plan));
}

TEST(JointMapPlan, names_that_make_no_sense_are_errors) {
  EXPECT_FALSE(spread_joint_maps({{"c", {map_over({"a", "b"})}, ""}}));
  EXPECT_FALSE(spread_joint_maps({{"a", {map_over({"a", "a"})}, ""}}));
  EXPECT_FALSE(spread_joint_maps({{"a", {Map{nullptr, {"a", "b"}}}, ""}}));
}

}  // namespace
}  // namespace penstock
