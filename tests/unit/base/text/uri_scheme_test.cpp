#include "base/text/uri_scheme.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(UriScheme, comes_before_any_slash) {
  EXPECT_EQ(uri_scheme("https://host/x"), "https");
  EXPECT_EQ(uri_scheme("S3://bucket/a://b"), "S3");
  for (const char* path : {"", "data", "/data", "a/b://c", "/x://y", "://x", "c:x", "a:/b"})
    EXPECT_EQ(uri_scheme(path), "") << path;
}

}  // namespace
}  // namespace penstock
