#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "penstock/source.h"
#include "source/array_layout.h"
#include "source/extent.h"
#include "source/index/saved_index.h"
#include "source/source_storage.h"
#include "support/encode_images.h"
#include "support/make_npy.h"
#include "support/temporary_folder.h"

namespace penstock {
namespace {

const Encoded& picture() {
  static const Encoded encoded = encode_png(make_picture(4, 4, 3, 1));
  return encoded;
}

class OpenSource : public testing::Test {
 protected:
  OpenOptions options() {
    OpenOptions o;
    o.cache_dir = folder_ / "cache";
    o.warn = [this](const std::string& text) { warnings_.push_back(text); };
    return o;
  }
  TemporaryFolder folder_;
  std::vector<std::string> warnings_;
};

TEST_F(OpenSource, class_folders_have_labels_in_name_order_and_empty_classes_count) {
  for (const char* name : {"d/dog/1.png", "d/cat/2.png", "d/ant/x/3.png", "d/loose.png"})
    folder_.write(name, picture());
  std::filesystem::create_directories(folder_ / "d/bee");
  const auto source = open_source(folder_ / "d", options());
  ASSERT_TRUE(source) << source.error().describe();
  EXPECT_EQ((*source)->classes(), (std::vector<std::string>{"ant", "bee", "cat", "dog"}));
  ASSERT_EQ((*source)->size(), 3u);
  EXPECT_EQ((*source)->key(0), "ant/x/3.png");
  EXPECT_EQ((*source)->value(0, 1), IndexValue(std::int64_t{0}));
  EXPECT_EQ((*source)->value(1, 1), IndexValue(std::int64_t{2}));
  EXPECT_EQ((*source)->value(2, 1), IndexValue(std::int64_t{3}));
  EXPECT_EQ(warnings_.size(), 2u) << "the loose file and the empty class are told";
}

TEST_F(OpenSource, a_flat_folder_has_no_labels) {
  folder_.write("d/1.png", picture());
  const auto source = open_source(folder_ / "d", options());
  ASSERT_TRUE(source);
  EXPECT_TRUE((*source)->classes().empty());
  EXPECT_EQ((*source)->fields().size(), 1u);
}

TEST_F(OpenSource, a_kept_index_is_used_until_a_file_appears) {
  folder_.write("d/1.png", picture());
  EXPECT_FALSE((*open_source(folder_ / "d", options()))->storage().index_was_saved);
  EXPECT_TRUE((*open_source(folder_ / "d", options()))->storage().index_was_saved);
  usleep(20'000);
  folder_.write("d/2.png", picture());
  const auto again = open_source(folder_ / "d", options());
  EXPECT_FALSE((*again)->storage().index_was_saved);
  EXPECT_EQ((*again)->size(), 2u);
}

TEST_F(OpenSource, a_damaged_kept_index_is_made_anew_with_a_warning) {
  folder_.write("d/1.png", picture());
  ASSERT_TRUE(open_source(folder_ / "d", options()));
  const std::string kept = saved_index_path(folder_ / "cache", folder_ / "d", "");
  ASSERT_TRUE(std::filesystem::exists(kept));
  std::filesystem::resize_file(kept, 30);
  const auto source = open_source(folder_ / "d", options());
  ASSERT_TRUE(source);
  EXPECT_EQ((*source)->size(), 1u);
  EXPECT_EQ(warnings_.size(), 1u);
  EXPECT_TRUE((*open_source(folder_ / "d", options()))->storage().index_was_saved) << "and kept again";
}

TEST_F(OpenSource, a_cache_that_cannot_be_written_is_no_error) {
  folder_.write("d/1.png", picture());
  folder_.write("file", picture());
  OpenOptions o = options();
  o.cache_dir = folder_ / "file";  // a file where a folder should be
  EXPECT_TRUE(open_source(folder_ / "d", o));
}

TEST_F(OpenSource, missing_paths_get_a_suggestion) {
  folder_.write("train/1.png", picture());
  const auto source = open_source(folder_ / "trian", options());
  ASSERT_FALSE(source);
  EXPECT_EQ(source.error().code, ErrorCode::kNotFound);
  EXPECT_NE(source.error().message.find("train"), std::string::npos) << source.error().message;
}

TEST_F(OpenSource, what_this_version_does_not_read_is_said) {
  folder_.write("x.rar", picture());
  EXPECT_EQ(open_source("ftp://host/x", options()).error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(open_source(folder_ / "x.rar", options()).error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(open_source("", options()).error().code, ErrorCode::kInvalidArgument);
  OpenOptions o = options();
  o.kind = "parquet";
  EXPECT_EQ(open_source(folder_.path(), o).error().code, ErrorCode::kInvalidArgument);
}

TEST_F(OpenSource, patterns_and_single_files) {
  for (int i = 8; i < 12; ++i) folder_.write("p/" + std::to_string(i) + ".png", picture());
  EXPECT_EQ((*open_source(folder_ / "p/*.png", options()))->size(), 4u);
  EXPECT_EQ((*open_source(folder_ / "p/{9..11}.png", options()))->size(), 3u);
  EXPECT_EQ((*open_source(folder_ / "p/9.png", options()))->size(), 1u);
  EXPECT_FALSE(open_source(folder_ / "p/{9..13}.png", options())) << "a named file that is not there";
  EXPECT_FALSE(open_source(folder_ / "p/*.jpg", options()));
}

TEST_F(OpenSource, masks_are_matched_by_stem_and_missing_ones_named) {
  folder_.write("i/a/1.png", picture());
  folder_.write("i/b/2.png", picture());
  folder_.write("m/b/2.png", picture());
  folder_.write("m/a/1.png", picture());
  OpenOptions o = options();
  o.masks = folder_ / "m";
  const auto source = open_source(folder_ / "i", o);
  ASSERT_TRUE(source) << source.error().describe();
  EXPECT_TRUE((*source)->extent(0, 1)->object.ends_with("m/a/1.png"));
  std::filesystem::remove(folder_ / "m/b/2.png");
  const auto missing = open_source(folder_ / "i", o);
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("b/2.png"), std::string::npos);
}

TEST_F(OpenSource, one_big_npy_has_a_sample_an_entry) {
  const auto path = folder_.write("x.npy", make_npy<float>("<f4", {5, 2, 3}, std::vector<float>(30)));
  const auto source = open_source(path, options());
  ASSERT_TRUE(source) << source.error().describe();
  EXPECT_EQ((*source)->size(), 5u);
  EXPECT_EQ((*source)->array_layout(0)->spec, (ArraySpec{DType::kFloat32, {2, 3}}));
  EXPECT_EQ((*source)->extent(2, 0)->offset - (*source)->extent(1, 0)->offset, 24u);
}

TEST_F(OpenSource, npy_files_that_lie_are_refused_with_the_file_named) {
  const struct {
    const char* why;
    std::vector<std::byte> bytes;
  } rows[] = {
      {"shorter than promised", make_npy<float>("<f4", {5, 3}, std::vector<float>(14))},
      {"longer than promised", make_npy<float>("<f4", {5, 3}, std::vector<float>(16))},
      {"objects", make_npy<float>("|O", {5}, std::vector<float>(10))},
      {"no samples", make_npy<float>("<f4", {0, 3}, {})},
      {"a scalar", make_npy<float>("<f4", {}, {1})},
      {"Fortran order", make_npy<float>("<f4", {5, 3}, std::vector<float>(15), true)},
      {"empty file", {}},
      {"four bytes", std::vector<std::byte>(4, std::byte{0x93})},
      {"noise", std::vector<std::byte>(500, std::byte{0x5A})},
  };
  for (const auto& row : rows) {
    const auto path = folder_.write("bad.npy", row.bytes);
    const auto source = open_source(path, options());
    ASSERT_FALSE(source) << row.why;
    EXPECT_EQ(source.error().where.uri, path) << row.why;
    EXPECT_GE(source.error().where.offset, 0) << row.why;
  }
}

TEST_F(OpenSource, huge_shape_products_do_not_make_phantom_samples) {
  // 2^61 samples of no elements: nothing to read, nothing to deliver.
  const auto path = folder_.write("huge.npy", npy_with_header(npy_dict("<f4", {std::int64_t{1} << 59, 0})));
  const auto source = open_source(path, options());
  if (source) {
    EXPECT_EQ((*source)->storage().stored_bytes, std::filesystem::file_size(path));
  }
}

TEST_F(OpenSource, subsets_and_splits_share_every_sample_once) {
  const auto path = folder_.write("x.npy", make_npy<float>("<f4", {50}, std::vector<float>(50)));
  const SourcePtr whole = *open_source(path, options());
  const auto part = subset(whole, {3, 3, 49});
  ASSERT_TRUE(part);
  EXPECT_EQ((*part)->key(2), "49");
  EXPECT_NE((*part)->fingerprint(), whole->fingerprint());
  EXPECT_FALSE(subset(whole, {50}));
  EXPECT_FALSE(subset(whole, {}));
  for (const double fraction : {0.02, 0.3, 0.5, 0.98}) {
    const auto two = split(whole, fraction, 7);
    ASSERT_TRUE(two);
    std::vector<int> seen(50);
    for (const auto& side : {two->first, two->second})
      for (std::uint64_t i = 0; i < side->size(); ++i) ++seen[std::stoul(side->key(i))];
    EXPECT_EQ(std::ranges::count(seen, 1), 50);
    EXPECT_EQ(two->first->size(), static_cast<std::uint64_t>(fraction * 50 + 0.5));
  }
  for (const double fraction : {0.0, 1.0, -1.0, 0.001, 0.999, std::nan("")})
    EXPECT_FALSE(split(whole, fraction, 7)) << fraction;
  EXPECT_EQ((*split(whole, 0.5, 7)).first->fingerprint(), (*split(whole, 0.5, 7)).first->fingerprint());
  EXPECT_NE((*split(whole, 0.5, 7)).first->fingerprint(), (*split(whole, 0.5, 8)).first->fingerprint());
}

TEST_F(OpenSource, fingerprints_tell_names_and_sizes_apart_not_places) {
  folder_.write("a/1.png", picture());
  folder_.write("b/1.png", picture());
  folder_.write("c/2.png", picture());
  const auto print = [&](const char* name) {
    return (*open_source(folder_ / name, options()))->fingerprint();
  };
  EXPECT_EQ(print("a"), print("b"));
  EXPECT_NE(print("a"), print("c"));
}

}  // namespace
}  // namespace penstock
