#include "pipeline/cache_setup.h"

#include <gtest/gtest.h>

#include "plan/field_plan.h"
#include "support/encode_images.h"
#include "support/listed_source.h"
#include "support/watched_store.h"

namespace penstock {
namespace {

// A photograph: 100 kB that become 1 MB.
UnitCost photo(double read_ms, double decode_ms) { return {read_ms / 1e3, decode_ms / 1e3, 1e5, 1e6}; }

TEST(BetterForm, is_decoded_where_all_of_it_fits) {
  EXPECT_EQ(better_form(photo(1, 5), 1000, 1'000'000'000), CacheForm::kDecoded);
  EXPECT_EQ(better_form(photo(100, 1), 1000, 1'000'000'000), CacheForm::kDecoded);
}

TEST(BetterForm, is_what_saves_more_seconds_a_byte_where_it_does_not) {
  // Half of it decoded saves 3 ms a sample; all of it as stored, what reading takes.
  EXPECT_EQ(better_form(photo(0.1, 6), 1000, 500'000'000), CacheForm::kDecoded);
  EXPECT_EQ(better_form(photo(20, 6), 1000, 500'000'000), CacheForm::kEncoded);
  // Neither fits: seconds a byte.
  EXPECT_EQ(better_form(photo(1, 5), 1'000'000, 500'000'000), CacheForm::kEncoded);
  EXPECT_EQ(better_form(photo(0.5, 5), 1'000'000, 500'000'000), CacheForm::kDecoded);
}

TEST(BetterForm, is_decoded_where_nothing_is_known) {
  EXPECT_EQ(better_form({}, 0, 1000), CacheForm::kDecoded);
  EXPECT_EQ(better_form({}, 1000, 1000), CacheForm::kDecoded);
}

// Samples of one field, each in a file of its own.
class SetUpCacheTest : public testing::Test {
 protected:
  Result<std::unique_ptr<SampleCache>> set_up(FieldKind kind, const std::vector<Encoded>& files) {
    auto source = std::make_shared<ListedSource>(std::vector<FieldInfo>{{"field", kind}}, store);
    for (std::size_t i = 0; i < files.size(); ++i) {
      store->put(std::to_string(i), files[i]);
      source->extents.push_back({extent_of_file(*store, std::to_string(i))});
    }
    options.cache = std::make_shared<TieredCache>(CacheOptions{.ram_bytes = 1 << 20, .policy = CachePolicy::kLru});
    plan = *plan_fields(source, options);
    before = store->counts();
    return set_up_cache(plan, options, {ledger, 16 << 20}, 2, {});
  }

  std::shared_ptr<WatchedStore> store = std::make_shared<WatchedStore>();
  Ledger ledger{64 << 20};
  LoaderOptions options;
  SamplePlan plan;
  WatchedStore::Counts before;
};

TEST_F(SetUpCacheTest, three_samples_are_measured_and_the_memory_for_it_comes_back) {
  const std::vector<Encoded> pictures(40, encode_png(make_picture(30, 20, 3, 1)));
  const auto cache = set_up(FieldKind::kImage, pictures);
  ASSERT_TRUE(cache) << cache.error().describe();
  EXPECT_EQ(store->counts().read - before.read, 3);
  EXPECT_EQ(ledger.used(), 0u);
}

TEST_F(SetUpCacheTest, samples_that_cannot_be_read_are_passed_over) {
  std::vector<Encoded> pictures(40, encode_png(make_picture(30, 20, 3, 1)));
  pictures[0] = bytes_of("no picture");
  const auto one_bad = set_up(FieldKind::kImage, pictures);
  ASSERT_TRUE(one_bad) << one_bad.error().describe();
  EXPECT_EQ(store->counts().read - before.read, 4);
  const auto all_bad = set_up(FieldKind::kImage, std::vector<Encoded>(40, bytes_of("no picture")));
  ASSERT_TRUE(all_bad) << "they are reported when their turn comes";
  EXPECT_EQ(store->counts().read - before.read, 16);
}

TEST_F(SetUpCacheTest, the_form_that_the_user_gives_is_kept_where_there_is_something_to_decode) {
  const std::vector<Encoded> pictures(3, encode_png(make_picture(30, 20, 3, 1)));
  for (const CacheForm form : {CacheForm::kEncoded, CacheForm::kDecoded}) {
    options.cache_form = form;
    EXPECT_EQ((*set_up(FieldKind::kImage, pictures))->form(), form);
    EXPECT_EQ((*set_up(FieldKind::kText, {bytes_of("a text")}))->form(), CacheForm::kEncoded);
  }
}

TEST_F(SetUpCacheTest, pixels_of_a_fast_decode_cannot_be_cached) {
  options.transforms = {{"field", {Decode{.fast_decode = true}, Resize{8, 8}}, ""}};
  const std::vector<Encoded> pictures(3, encode_jpeg(make_picture(30, 20, 3, 1)));
  options.cache_form = CacheForm::kDecoded;
  const auto refused = set_up(FieldKind::kImage, pictures);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  options.cache_form = CacheForm::kAuto;
  EXPECT_EQ((*set_up(FieldKind::kImage, pictures))->form(), CacheForm::kEncoded);
}

}  // namespace
}  // namespace penstock
