// Folders of a bucket are listed beside each other: a thousand of them, with 20 ms for each page, would take a minute one
// after another. bench/s3_listing.py has the full size.
#include <gtest/gtest.h>

#include "penstock/source.h"
#include "store/s3/s3_options_scope.h"
#include "support/s3_reading.h"
#include "support/temporary_folder.h"

namespace penstock {
namespace {

TEST(OpenSourceListing, folders_are_listed_at_the_same_time_with_no_request_for_an_object) {
  constexpr int kFolders = 60, kImages = 25;
  S3Server::Options setup;
  setup.page_entries = 10;  // three pages for each folder
  S3Server server(setup);
  for (int folder = 0; folder < kFolders; ++folder)
    for (int i = 0; i < kImages; ++i)
      server.put("bucket/train/n" + std::to_string(1000 + folder) + "/" + std::to_string(100 + i) + ".jpg", "x");
  server.before = [](const HttpCall& call, HttpConnection& client) {
    if (call.path.find("list-type=2") != std::string::npos) client.pause(std::chrono::milliseconds(20));
    return false;
  };
  if (!s3_store_on(server)) GTEST_SKIP() << "not in this build";
  const S3OptionsScope scope(options_for(server));
  const TemporaryFolder cache;
  OpenOptions options;
  options.cache_dir = cache.path();
  options.kind = "images";
  const auto source = open_source("s3://bucket/train", options);
  ASSERT_TRUE(source) << source.error().describe();
  EXPECT_EQ((*source)->size(), std::uint64_t{kFolders * kImages});
  EXPECT_EQ((*source)->classes().size(), std::size_t{kFolders});
  EXPECT_GE(server.http().max_at_once(), 8);
  EXPECT_LE(server.requests_of("LIST"), 3 * kFolders + 30);
  EXPECT_LE(server.requests_of("HEAD") + server.requests_of("GET"), 10);
}

}  // namespace
}  // namespace penstock
