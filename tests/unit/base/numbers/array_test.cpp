#include "penstock/array.h"

#include <gtest/gtest.h>

#include "base/text/nearest_name.h"
#include "base/stats.h"
#include "penstock/result.h"

namespace penstock {
namespace {

TEST(DTypes, names_and_sizes_go_round) {
  for (int i = 0; i <= static_cast<int>(DType::kComplex128); ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(dtype_named(name_of(dtype)), dtype);
    EXPECT_GE(size_of(dtype), 1u);
  }
  EXPECT_EQ(size_of(DType::kBFloat16), 2u);
  EXPECT_EQ(size_of(DType::kComplex128), 16u);
  EXPECT_FALSE(dtype_named("float99"));
}

TEST(ArraySpecs, count_elements_and_bytes) {
  EXPECT_EQ((ArraySpec{DType::kFloat32, {2, 3}}.bytes()), 24u);
  EXPECT_EQ((ArraySpec{DType::kFloat32, {}}.bytes()), 4u);
  EXPECT_EQ((ArraySpec{DType::kFloat32, {5, 0}}.bytes()), 0u);
}

TEST(Errors, describe_names_uri_offset_length_and_sample) {
  const Error error{ErrorCode::kTruncated, "truncated JPEG", {"cats/7.jpg", 0, 118034, 12}, false};
  EXPECT_EQ(error.describe(), "truncated JPEG: cats/7.jpg @ 0+118034 (sample 12)");
  EXPECT_EQ((Error{ErrorCode::kIo, "x", {}, false}.describe()), "x");
}

TEST(NearestName, finds_a_slip_and_nothing_far_away) {
  const std::string names[] = {"image", "mask", "label"};
  EXPECT_EQ(nearest_name("imgae", names), "image");
  EXPECT_EQ(nearest_name("labels", names), "label");
  EXPECT_FALSE(nearest_name("temperature", names));
  EXPECT_FALSE(nearest_name("", names));
}

TEST(WorkerStatistics, add_and_subtract_number_by_number) {
  WorkerStats a, b;
  a.stages[1] = {2.0, 5, 100, 1.0};
  b.stages[1] = {0.5, 2, 40, 0.25};
  a.cache = {{{3, 300, 1.0}, {1, 10, 0.5}}, 4};
  b.cache = {{{2, 200, 0.5}, {1, 10, 0.5}}, 1};
  a += b;
  EXPECT_EQ(a.stages[1].items, 7u);
  EXPECT_EQ(a.cache.hits(), 7u);
  EXPECT_DOUBLE_EQ(a.cache.hit_ratio(), 7.0 / 12);
  EXPECT_DOUBLE_EQ((a - b).stages[1].seconds, 2.0);
  EXPECT_EQ((a - b).cache.tiers[0].bytes, 300u);
  EXPECT_EQ((a - b).cache.misses, 4u);
  EXPECT_EQ((a - WorkerStats{}).cache.tiers.size(), 2u) << "any number of tiers, none on one side";
  WorkerStats none;
  none += a;
  EXPECT_EQ(none.cache.tiers[1].hits, 2u);
  EXPECT_DOUBLE_EQ(CacheStats{}.hit_ratio(), 0);
  EXPECT_EQ(name_of(Stage::kDecode), "decode");
}

}  // namespace
}  // namespace penstock
