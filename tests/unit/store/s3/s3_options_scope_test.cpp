#include "store/s3/s3_options_scope.h"

#include <gtest/gtest.h>

#include <thread>

#include "store/store_of_uri.h"
#include "support/s3_reading.h"

namespace penstock {
namespace {

TEST(S3OptionsScope, holds_for_its_thread_and_its_life) {
  S3Options outer, inner;
  outer.region = "outer";
  inner.region = "inner";
  {
    const S3OptionsScope first(outer);
    EXPECT_EQ(S3OptionsScope::current().region, "outer");
    {
      const S3OptionsScope second(inner);
      EXPECT_EQ(S3OptionsScope::current().region, "inner");
    }
    EXPECT_EQ(S3OptionsScope::current().region, "outer");
    std::jthread([] { EXPECT_EQ(S3OptionsScope::current().region, ""); });
  }
  EXPECT_EQ(S3OptionsScope::current().region, "");
}

TEST(S3OptionsScope, reaches_the_stores_that_uris_name) {
  S3Server server;
  server.put("bucket/a", "12345");
  std::shared_ptr<const Store> store;
  {
    const S3OptionsScope scope(options_for(server));
    store = *make_store_for("s3://bucket/a", {"x-amz-meta-of-the-test: 1"});
  }
  EXPECT_EQ(store->stat("s3://bucket/a")->size, 5u) << "the options stay with the store";
}

}  // namespace
}  // namespace penstock
