#include "sample/fields/cached_image_field.h"

#include <gtest/gtest.h>

#include "support/encode_images.h"
#include "support/field_run.h"
#include "support/layout_fields.h"
#include "support/listed_source.h"
#include "support/watched_store.h"

namespace penstock {
namespace {

constexpr int kSide = 40, kCrop = 8;

class CachedImageFieldTest : public testing::Test {
 protected:
  CachedImageFieldTest() {
    put(encode_png(make_picture(kSide, kSide, 3, 1)));
    options.layout = BatchLayout::kNhwc;
    options.transforms = {{"image", {Resize{20, 20}, RandomCrop{kCrop, kCrop}}, ""}};
  }
  void put(const Encoded& encoded) {
    store->put("file", encoded);
    source->extents = {{extent_of_file(*store, "file")}};
  }
  FieldRun run_of(std::optional<CacheForm> cached) const {
    return {source, {field("image", DType::kUInt8, {kCrop, kCrop, 3})}, options, cached};
  }
  std::uint64_t hits(const FieldRun& run) const { return run.worker.counters.cache.tiers[0].hits.get(); }

  std::shared_ptr<WatchedStore> store = std::make_shared<WatchedStore>();
  std::shared_ptr<ListedSource> source =
      std::make_shared<ListedSource>(std::vector<FieldInfo>{{"image", FieldKind::kImage}}, store);
  LoaderOptions options;
};

TEST_F(CachedImageFieldTest, pixels_are_the_same_with_and_without_the_cache_in_every_epoch) {
  FieldRun cached = run_of(CacheForm::kDecoded), plain = run_of({});
  for (std::uint64_t epoch = 0; epoch < 4; ++epoch) {
    ASSERT_TRUE(cached.make(0, 0, epoch));
    ASSERT_TRUE(plain.make(0, 0, epoch));
    EXPECT_EQ(cached.slot(0), plain.slot(0)) << "epoch " << epoch;
    EXPECT_EQ(hits(cached), epoch);
  }
}

TEST_F(CachedImageFieldTest, a_cached_picture_is_made_without_the_store) {
  FieldRun run = run_of(CacheForm::kDecoded);
  ASSERT_TRUE(run.make(0));
  const auto after = store->counts();
  ASSERT_TRUE(run.make(0, 0, 1));
  EXPECT_EQ(store->counts(), after);
}

TEST_F(CachedImageFieldTest, an_entry_that_lies_about_its_picture_is_made_anew) {
  struct Lie {
    int width, height;
    Shape shape;
  };
  for (const Lie& lie : {Lie{0, 0, {20, 20, 3}}, Lie{-1, kSide, {20, 20, 3}}, Lie{1 << 30, 1 << 30, {20, 20, 3}},
                         Lie{kSide, kSide, {20, 20, 1}}, Lie{kSide, kSide, {40, 10, 3}}}) {
    FieldRun run = run_of(CacheForm::kDecoded), plain = run_of({});
    const auto subject = run.cache->subject(0, source->extents[0][0]);
    const auto fill = [&](MutableBytes bytes, EntryHead& head) -> Status {
      std::ranges::fill(bytes, std::byte{0x55});
      describe_array(head, {DType::kUInt8, lie.shape});
      head.picture_width = lie.width;
      head.picture_height = lie.height;
      return {};
    };
    const std::uint64_t bytes = ArraySpec{DType::kUInt8, lie.shape}.bytes();
    ASSERT_TRUE(*run.cache->add(subject, *store->stat("file"), bytes, fill, cached_value_allocator(run.worker.scratch)));
    ASSERT_TRUE(plain.make(0));
    ASSERT_TRUE(run.make(0));
    EXPECT_EQ(run.slot(0), plain.slot(0)) << lie.width << "x" << lie.height;
    const auto after = store->counts();
    ASSERT_TRUE(run.make(0));
    EXPECT_EQ(run.slot(0), plain.slot(0)) << lie.width << "x" << lie.height;
    EXPECT_EQ(store->counts(), after) << "a true entry took the place of the lie";
  }
}

TEST_F(CachedImageFieldTest, a_picture_that_cannot_be_decoded_is_an_error_and_no_entry) {
  Encoded damaged = encode_png(make_picture(kSide, kSide, 3, 1));
  damaged.resize(damaged.size() / 2);
  put(damaged);
  FieldRun run = run_of(CacheForm::kDecoded);
  EXPECT_FALSE(run.make(0));
  EXPECT_FALSE(run.make(0, 0, 1));
  EXPECT_EQ(hits(run), 0u);
  EXPECT_EQ(run.cache->tiers()[0].entries, 0u);
}

TEST_F(CachedImageFieldTest, a_picture_that_no_tier_has_space_for_is_decoded_each_time) {
  constexpr int kLarge = 700;  // 1.4 MB of pixels, and 1 MiB of cache
  put(encode_jpeg(make_picture(kLarge, kLarge, 3, 1)));
  options.transforms = {{"image", {RandomCrop{kCrop, kCrop}}, ""}};
  FieldRun run = run_of(CacheForm::kDecoded), plain = run_of({});
  for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
    ASSERT_TRUE(run.make(0, 0, epoch));
    ASSERT_TRUE(plain.make(0, 0, epoch));
    EXPECT_EQ(run.slot(0), plain.slot(0));
  }
  EXPECT_EQ(hits(run), 0u);
}

}  // namespace
}  // namespace penstock
