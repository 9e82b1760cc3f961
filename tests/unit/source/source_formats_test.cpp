#include "source/source_formats.h"

#include <gtest/gtest.h>

#include <set>

#include "store/memory_store.h"
#include "support/text_bytes.h"

namespace penstock {
namespace {

std::string_view name_of_format(const std::string& path) {
  const SourceFormat* const format = source_format_of(path);
  return format == nullptr ? "" : format->name;
}

TEST(SourceFormats, every_row_is_whole_and_found_by_its_name) {
  std::set<std::string_view> names;
  for (const SourceFormat& format : source_formats()) {
    EXPECT_TRUE(names.insert(format.name).second) << format.name;
    EXPECT_EQ(source_format_named(format.name), &format);
    EXPECT_NE(format.open, nullptr) << format.name;
    EXPECT_TRUE(format.has_name != nullptr || format.is_folder != nullptr) << format.name << " is never detected";
    EXPECT_NE(describe_source_formats(true).find(format.description), std::string::npos);
    EXPECT_EQ(describe_source_formats(false).find(format.description) == std::string::npos, format.needs_listing);
  }
  EXPECT_EQ(source_format_named(""), nullptr);
  EXPECT_EQ(source_format_named("tarr"), nullptr);
  EXPECT_EQ(source_format_names().size(), source_formats().size());
}

TEST(SourceFormats, names_of_files_tell_the_format) {
  EXPECT_EQ(name_of_format("a/b.JPG"), "images");
  EXPECT_EQ(name_of_format("x.qoi"), "images");
  EXPECT_EQ(name_of_format("x.npy"), "npy");
  EXPECT_EQ(name_of_format("train-000.tar.gz"), "tar");
  EXPECT_EQ(name_of_format("x.tgz"), "tar");
  EXPECT_EQ(name_of_format("x.tfrecords"), "tfrecord");
  EXPECT_EQ(name_of_format("train-00007-of-01024"), "tfrecord");
  EXPECT_EQ(name_of_format("train-007-of-24"), "");
  EXPECT_EQ(name_of_format("http://host/data/x.csv"), "manifest");
  EXPECT_EQ(name_of_format("x.ndjson"), "manifest");
  EXPECT_EQ(name_of_format("x.txt"), "");
  EXPECT_EQ(name_of_format("tar"), "");
}

TEST(SourceFormats, a_folder_is_recognised_by_what_it_holds) {
  MemoryStore store;
  store.put("weather/.zgroup", bytes_of(R"({"zarr_format": 2})"));
  store.put("photos/a.jpg", bytes_of("x"));
  const auto weather = source_format_of_folder(store, "weather"), photos = source_format_of_folder(store, "photos");
  ASSERT_TRUE(weather && *weather != nullptr);
  EXPECT_EQ((*weather)->name, "zarr");
  ASSERT_TRUE(photos);
  EXPECT_EQ(*photos, nullptr);
}

TEST(SourceFormats, an_unknown_kind_names_those_that_are_known) {
  OpenOptions options;
  options.kind = "tarr";
  const auto source = open_source("x", options);
  ASSERT_FALSE(source);
  for (const std::string& name : source_format_names())
    EXPECT_NE(source.error().message.find(name), std::string::npos) << name;
}

}  // namespace
}  // namespace penstock
