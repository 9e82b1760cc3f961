#include "pipeline/order_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/listed_source.h"
#include "support/watched_store.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Four samples with what buckets may be made by.
class OrderPlanTest : public testing::Test {
 protected:
  OrderPlanTest() {
    for (const auto& [name, text] : {std::pair{"0", "a"}, {"1", "four"}, {"2", "bb"}, {"3", "ccc"}})
      store->put(name, text);
    for (const char* name : {"0", "1", "2", "3"}) source.extents.push_back({extent_of_file(*store, name)});
    source.values = {{0, std::int64_t{30}, "aa", 0.5}, {0, std::int64_t{-1}, "", 0.5},
                     {0, std::int64_t{10}, "a", 0.5}, {0, std::int64_t{20}, "aaa", 0.5}};
  }
  std::vector<std::uint64_t> lengths_by(const std::string& field) {
    options.bucket_by = field;
    const auto order = plan_order(source, options);
    EXPECT_TRUE(order) << (order ? "" : order.error().message);
    return order ? *order->lengths : std::vector<std::uint64_t>{};
  }
  std::string error() const {
    const auto order = plan_order(source, options);
    return order ? "" : order.error().message;
  }

  std::shared_ptr<WatchedStore> store = std::make_shared<WatchedStore>();
  ListedSource source{{{"caption", FieldKind::kText},
                       {"length", FieldKind::kInteger, FieldForm::kIndex},
                       {"title", FieldKind::kText, FieldForm::kIndex},
                       {"score", FieldKind::kArray, FieldForm::kIndex}},
                      store};
  LoaderOptions options;
};

TEST_F(OrderPlanTest, samples_that_share_units_are_shuffled_in_windows_unless_the_user_wants_otherwise) {
  for (const bool shares_units : {false, true}) {
    source.stored.shares_units = shares_units;
    const auto shuffle_of = [&](ShuffleMode mode) {
      options.shuffle = mode;
      return plan_order(source, options)->shuffle;
    };
    EXPECT_EQ(shuffle_of(ShuffleMode::kAuto), shares_units ? Shuffle::kWindow : Shuffle::kFull);
    EXPECT_EQ(shuffle_of(ShuffleMode::kOff), Shuffle::kNone);
    EXPECT_EQ(shuffle_of(ShuffleMode::kFull), Shuffle::kFull);
    EXPECT_EQ(shuffle_of(ShuffleMode::kWindow), Shuffle::kWindow);
  }
}

TEST_F(OrderPlanTest, the_window_is_what_the_user_gives_or_else_what_the_source_suggests) {
  source.stored.suggested_window = 5;
  source.stored.unit_samples = 2;
  EXPECT_EQ(plan_order(source, options)->window_units, 5u);
  EXPECT_EQ(plan_order(source, options)->unit_samples, 2u);
  options.shuffle_window = 3;
  EXPECT_EQ(plan_order(source, options)->window_units, 3u);
}

TEST_F(OrderPlanTest, units_of_the_source_count_in_windows_and_not_for_a_sampler) {
  auto units = std::make_shared<StorageUnits>();
  units->first_sample = {0, 1, 4};
  source.stored.units = units;
  EXPECT_EQ(plan_order(source, options)->units, nullptr);
  options.shuffle = ShuffleMode::kWindow;
  EXPECT_EQ(plan_order(source, options)->units, units);
  options.sampler = std::make_shared<const std::vector<std::uint64_t>>(std::vector<std::uint64_t>{3, 1});
  EXPECT_EQ(plan_order(source, options)->units, nullptr);
}

TEST_F(OrderPlanTest, the_length_of_a_sample_is_a_whole_number_or_the_size_of_what_is_stored) {
  EXPECT_THAT(lengths_by("caption"), ElementsAre(1, 4, 2, 3));
  EXPECT_THAT(lengths_by("length"), ElementsAre(30, 0, 10, 20)) << "a negative number is no length";
  EXPECT_THAT(lengths_by("title"), ElementsAre(2, 0, 1, 3));
  options.renamed = {{"n", "length"}};
  EXPECT_THAT(lengths_by("n"), ElementsAre(30, 0, 10, 20));
  EXPECT_EQ(store->counts().read, 0) << "the index knows";
}

TEST_F(OrderPlanTest, a_sample_without_the_field_has_no_length) {
  source.extents[1].clear();
  EXPECT_THAT(lengths_by("caption"), ElementsAre(1, 0, 2, 3));
}

TEST_F(OrderPlanTest, ranks_of_one_step_have_samples_of_like_length_too) {
  options.batch_size = 2;
  options.world_size = 3;
  EXPECT_EQ(plan_order(source, options)->bucket_run, 0u) << "no buckets";
  options.bucket_by = "length";
  EXPECT_EQ(plan_order(source, options)->bucket_run, 6u);
}

TEST_F(OrderPlanTest, buckets_by_what_has_no_length_are_refused_with_the_reason) {
  options.bucket_by = "titel";
  EXPECT_THAT(error(), HasSubstr("did you mean \"title\"?"));
  options.bucket_by = "score";
  EXPECT_THAT(error(), HasSubstr("wants whole numbers"));
  source.extents[2][0].modified_ns = Extent::kUnknown;
  options.bucket_by = "caption";
  EXPECT_THAT(error(), HasSubstr("not known before they are read"));
}

TEST_F(OrderPlanTest, compressed_shards_are_read_in_windows_or_in_order_and_refuse_everything_else) {
  source.stored.blocks = {{0, 0, 100}};
  source.stored.shares_units = true;
  EXPECT_EQ(error(), "");
  options.shuffle = ShuffleMode::kAuto;
  EXPECT_EQ(error(), "");
  const auto is_refused = [&](const auto& change) {
    options = {};
    change();
    const auto order = plan_order(source, options);
    return !order && order.error().code == ErrorCode::kUnsupported;
  };
  EXPECT_TRUE(is_refused([&] { options.shuffle = ShuffleMode::kFull; }));
  EXPECT_TRUE(is_refused([&] { options.sampler = std::make_shared<const std::vector<std::uint64_t>>(1, 0); }));
  EXPECT_TRUE(is_refused([&] { options.weights = std::make_shared<const std::vector<double>>(4, 1.0); }));
  EXPECT_TRUE(is_refused([&] { options.bucket_lengths = std::make_shared<const std::vector<std::uint64_t>>(4, 1); }));
  EXPECT_TRUE(is_refused([&] { options.bucket_by = "length"; }));
}

TEST_F(OrderPlanTest, a_sampler_beyond_the_source_is_refused) {
  options.sampler = std::make_shared<const std::vector<std::uint64_t>>(std::vector<std::uint64_t>{4});
  EXPECT_NE(error(), "");
}

TEST(DescribeShuffle, says_nothing_of_a_full_shuffle) {
  const ShuffleStats stats = describe_shuffle({.samples = 1000, .shuffle = Shuffle::kFull}, 64);
  EXPECT_EQ(stats.units, 0u);
  EXPECT_EQ(stats.design_effect, 1);
}

TEST(DescribeShuffle, the_design_effect_is_that_of_the_chance_to_meet_a_sample_of_the_same_unit) {
  OrderSpec order{.samples = 1000, .shuffle = Shuffle::kWindow, .unit_samples = 10, .window_units = 4};
  const ShuffleStats stats = describe_shuffle(order, 64);
  EXPECT_EQ(stats.units, 100u);
  EXPECT_EQ(stats.window_units, 4u);
  EXPECT_EQ(stats.samples_per_unit, 10);
  EXPECT_DOUBLE_EQ(stats.design_effect, 1 + 63 * (9.0 / 39 - 9.0 / 999));
  EXPECT_EQ(describe_shuffle(order, 1).design_effect, 1) << "a batch of one";
  order.window_units = 1000;
  EXPECT_EQ(describe_shuffle(order, 64).window_units, 100u) << "there are no more";
  EXPECT_EQ(describe_shuffle(order, 64).design_effect, 1) << "as good as a full shuffle";
}

TEST(DescribeShuffle, units_of_different_size_count_with_their_mean) {
  auto units = std::make_shared<StorageUnits>();
  units->first_sample = {0, 1, 6, 12};
  const ShuffleStats stats =
      describe_shuffle({.samples = 12, .shuffle = Shuffle::kWindow, .window_units = 2, .units = units}, 4);
  EXPECT_EQ(stats.units, 3u);
  EXPECT_EQ(stats.samples_per_unit, 4);
}

}  // namespace
}  // namespace penstock
