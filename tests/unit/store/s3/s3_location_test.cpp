#include "store/s3/s3_location.h"

#include <gtest/gtest.h>

#include "store/s3/uri_encoding.h"

namespace penstock {
namespace {

std::shared_ptr<S3Location> location(S3Location::Setup setup) {
  auto made = S3Location::make(std::move(setup));
  EXPECT_TRUE(made) << made.error().describe();
  return *made;
}

std::string url(const S3Location& where, const std::string& key) {
  const auto made = where.url_of_key(key);
  return made ? made->text() : made.error().describe();
}

TEST(S3Location, buckets_of_aws_are_in_the_host) {
  const auto where = location({"", "eu-west-3", ""});
  EXPECT_EQ(url(*where, "s3://bucket/a/b.jpg"), "https://bucket.s3.eu-west-3.amazonaws.com/a/b.jpg");
  EXPECT_EQ(url(*where, "s3://bucket"), "https://bucket.s3.eu-west-3.amazonaws.com/");
  EXPECT_EQ(url(*where, "s3://buc.ket/a"), "https://s3.eu-west-3.amazonaws.com/buc.ket/a") << "no certificate has this";
  EXPECT_EQ(url(*location({"", "cn-north-1", ""}), "s3://bucket/a"), "https://bucket.s3.cn-north-1.amazonaws.com.cn/a");
  EXPECT_EQ(url(*location({"", "", ""}), "s3://bucket/a"), "https://bucket.s3.us-east-1.amazonaws.com/a");
  EXPECT_EQ(url(*location({"", "eu-west-3", "path"}), "s3://bucket/a"), "https://s3.eu-west-3.amazonaws.com/bucket/a");
}

TEST(S3Location, buckets_of_other_endpoints_are_in_the_path) {
  EXPECT_EQ(url(*location({"http://127.0.0.1:7480", "", ""}), "s3://bucket/a"), "http://127.0.0.1:7480/bucket/a");
  EXPECT_EQ(url(*location({"https://host/s3/", "", ""}), "s3://bucket/a"), "https://host/s3/bucket/a");
  EXPECT_EQ(url(*location({"https://host", "", "virtual"}), "s3://bucket/a"), "https://bucket.host/a");
  EXPECT_EQ(url(*location({"https://storage.googleapis.com", "auto", ""}), "gs://bucket/a"),
            "https://storage.googleapis.com/bucket/a");
}

TEST(S3Location, keys_are_text_as_it_is) {
  const auto where = location({"http://h", "", ""});
  EXPECT_EQ(url(*where, "s3://b/a b+c%41?d#e&f=\xC3\xA4/./../~x"),
            "http://h/b/a%20b%2Bc%2541%3Fd%23e%26f%3D%C3%A4/./../~x");
  EXPECT_EQ(uri_encoded("a/b c", false), "a%2Fb%20c");
  EXPECT_EQ(listing_decoded("a+b%2B%2f"), "a b+/");
  EXPECT_EQ(listing_decoded("%zz"), std::nullopt);
  EXPECT_EQ(listing_decoded("%4"), std::nullopt);
}

TEST(S3Location, odd_uris_and_options_are_refused_without_their_secrets) {
  for (const char* key : {"s3://", "s3:///x", "s3://b ucket/x", "s3://id:secret@bucket/x", "s3://..", "bucket/x"}) {
    const auto parsed = parse_s3_key(key);
    ASSERT_FALSE(parsed) << key;
    EXPECT_EQ(parsed.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(parsed.error().describe().find("secret@"), std::string::npos);
  }
  EXPECT_FALSE(parse_s3_key("s3://bucket/" + std::string(1025, 'x')));
  EXPECT_FALSE(S3Location::make({"ftp://host", "", ""}));
  EXPECT_FALSE(S3Location::make({"http://id:secret@host", "", ""}));
  EXPECT_FALSE(S3Location::make({"", "US EAST", ""}));
  EXPECT_FALSE(S3Location::make({"", "", "odd"}));
}

TEST(S3Location, learns_regions_per_bucket) {
  const auto where = location({"", "", ""});
  const HttpUrl here = *where->url_of_key("s3://bucket/a?b");
  const auto there = where->learn(here, "eu-central-1");
  ASSERT_TRUE(there);
  EXPECT_EQ(there->text(), "https://bucket.s3.eu-central-1.amazonaws.com/a%3Fb");
  EXPECT_EQ(where->region_of(*there), "eu-central-1");
  EXPECT_EQ(url(*where, "s3://bucket/c"), "https://bucket.s3.eu-central-1.amazonaws.com/c");
  EXPECT_EQ(url(*where, "s3://other/c"), "https://other.s3.us-east-1.amazonaws.com/c");
  EXPECT_TRUE(where->learn(here, "eu-central-1")) << "a request that was sent before";
  EXPECT_FALSE(where->learn(*there, "eu-central-1")) << "it does not help to ask again";
  EXPECT_FALSE(where->learn(here, "evil.example/"));
  const auto own = location({"http://h:1", "", ""});
  const HttpUrl only = *own->url_of_key("s3://bucket/a");
  EXPECT_EQ(own->learn(only, "eu-central-1")->text(), only.text()) << "with another signature";
  EXPECT_EQ(own->region_of(only), "eu-central-1");
  EXPECT_FALSE(own->learn(only, "eu-central-1"));
}

TEST(S3Location, signs_for_its_own_servers_alone) {
  const auto aws = location({"", "", ""});
  const auto is_ours = [](const S3Location& where, const char* text) { return where.has(*parse_http_url(text)); };
  EXPECT_TRUE(is_ours(*aws, "https://b.s3.eu-west-1.amazonaws.com/x"));
  EXPECT_TRUE(is_ours(*aws, "https://b.s3-us-west-2.amazonaws.com/x"));
  for (const char* other : {"http://b.s3.eu-west-1.amazonaws.com/x", "https://evil.com/x", "https://sts.amazonaws.com/",
                            "https://s3.amazonaws.com.evil.com/", "https://evil.execute-api.eu-west-1.amazonaws.com/",
                            "https://s3.x.execute-api.eu-west-1.amazonaws.com/", "https://amazonaws.com/"})
    EXPECT_FALSE(is_ours(*aws, other)) << other;
  const auto own = location({"https://host:8443", "", ""});
  EXPECT_TRUE(is_ours(*own, "https://bucket.host:8443/x"));
  EXPECT_FALSE(is_ours(*own, "https://host/x"));
  EXPECT_FALSE(is_ours(*own, "https://evilhost:8443/x"));
}

}  // namespace
}  // namespace penstock
