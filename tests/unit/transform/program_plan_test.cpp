// What is in a plan, and what has to wait.
#include "transform/program_plan.h"

#include <gtest/gtest.h>

#include "support/encode_images.h"
#include "support/run_program.h"
#include "transform/ops/color_jitter.h"

namespace penstock {
namespace {

Map do_nothing() {
  return Map::of_array([](const ArraySpec& spec, const void* data) -> Result<OwnedArray> {
    auto copy = std::make_shared<std::vector<std::byte>>(static_cast<const std::byte*>(data),
                                                         static_cast<const std::byte*>(data) + spec.bytes());
    return OwnedArray{spec, {copy, copy->data()}};
  });
}

ProgramPlan plan_of(const std::vector<Transform>& steps, std::uint64_t position = 0, int width = 60,
                    int height = 40) {
  const auto program = Program::compile(steps, {});
  EXPECT_TRUE(program);
  ProgramPlan plan;
  EXPECT_TRUE(program->plan_image({.width = width, .height = height}, false, Draws(7, 0, position), plan));
  return plan;
}

TEST(ProgramPlan, holds_every_draw_before_a_pixel_exists) {
  const std::vector<Transform> steps = {RandomResizedCrop{24, 20}, RandomHorizontalFlip{},
                                        ColorJitter{.brightness = {0.5, 1.5}}, RandomRot90{}, Pad{1, 1, 1, 1, 0},
                                        RandomCrop{18, 18}, RandomErasing{}};
  const ProgramPlan plan = plan_of(steps);
  EXPECT_EQ(plan.end_op(), steps.size());
  ASSERT_EQ(plan.steps().size(), 6u) << "the crop and the flip are one frame";
  EXPECT_TRUE(plan.steps()[0].is_frame);
  EXPECT_TRUE(plan.steps()[4].is_frame);
  EXPECT_EQ(plan.steps()[4].frame.reads.width, 18);
  const float first = plan.steps()[1].op.as<ColorJitterPlan>().brightness;
  EXPECT_NE(first, plan_of(steps, 1).steps()[1].op.as<ColorJitterPlan>().brightness);
  EXPECT_EQ(first, plan_of(steps, 0).steps()[1].op.as<ColorJitterPlan>().brightness);
}

TEST(ProgramPlan, knows_the_size_behind_a_quarter_turn) {
  // The image has 50 x 30 pixels: the crop of 30 x 30 can only move along the longer side, whichever that is after the turn.
  bool has_turned = false;
  for (std::uint64_t position = 0; position < 20; ++position) {
    const ProgramPlan plan = plan_of({RandomRot90{}, RandomCrop{30, 30}}, position, 50, 30);
    ASSERT_EQ(plan.steps().size(), 3u);
    const Rect reads = plan.steps()[2].frame.reads;
    ASSERT_LE(reads.x + reads.y, 20);
    has_turned = has_turned || reads.y > 0;
  }
  EXPECT_TRUE(has_turned);
}

TEST(ProgramPlan, ends_where_only_a_map_knows_the_size) {
  const ProgramPlan plan = plan_of({CenterCrop{30, 30}, do_nothing(), ColorJitter{}, RandomCrop{5, 5}, ColorJitter{}});
  EXPECT_EQ(plan.end_op(), 3u);
  EXPECT_EQ(plan.steps().size(), 3u);
}

TEST(ProgramPlan, leaves_later_errors_to_their_turn) {
  const std::vector<Transform> steps = {do_nothing(), CenterCrop{500, 500}};
  EXPECT_EQ(plan_of(steps).end_op(), 1u);
  const std::vector<Transform> two_errors = {ColorJitter{}, CenterCrop{500, 500}};
  const auto grey = run_on_image(encode_png(make_picture(40, 30, 3, 1)),
                                 {Decode{.mode = ColorMode::kGrey}, two_errors[0], two_errors[1]});
  ASSERT_FALSE(grey);
  EXPECT_NE(grey.error().message.find("ColorJitter"), std::string::npos) << "the first step that fails is named";
  const auto colour = run_on_image(encode_png(make_picture(40, 30, 3, 1)), two_errors);
  ASSERT_FALSE(colour);
  EXPECT_NE(colour.error().message.find("smaller than the crop"), std::string::npos);
}

TEST(ProgramPlan, says_what_must_be_decoded) {
  const ProgramPlan plan = plan_of({CenterCrop{10, 20}});
  EXPECT_TRUE(plan.begins_encoded());
  EXPECT_EQ(plan.steps()[0].frame.reads, (Rect{20, 15, 20, 10}));
  const ProgramPlan resized = plan_of({Resize{20, 30}, CenterCrop{4, 4}});
  EXPECT_TRUE(resized.steps()[0].frame.resamples);
  EXPECT_LT(resized.steps()[0].frame.reads.width, 16) << "only what survives the crop";
}

TEST(ProgramPlan, is_as_good_in_used_memory_as_in_new) {
  const auto program = Program::compile({RandomResizedCrop{9, 9}, ColorJitter{.brightness = {0.5, 1.5}}}, {});
  ProgramPlan used;
  for (std::uint64_t position = 0; position < 4; ++position) {
    ProgramPlan fresh;
    const ImageHeader header{.width = 50 + 10 * static_cast<int>(position), .height = 40};
    ASSERT_TRUE(program->plan_image(header, false, Draws(1, 0, position), used));
    ASSERT_TRUE(program->plan_image(header, false, Draws(1, 0, position), fresh));
    ASSERT_EQ(used.steps().size(), fresh.steps().size());
    EXPECT_EQ(used.steps()[0].frame.reads, fresh.steps()[0].frame.reads);
    EXPECT_EQ(used.steps()[0].frame.columns.weights, fresh.steps()[0].frame.columns.weights);
  }
}

}  // namespace
}  // namespace penstock
