#include "store/object_key.h"

#include <gtest/gtest.h>

#include "base/text/public_uri.h"

namespace penstock {
namespace {

TEST(ObjectKey, is_the_same_under_every_password_and_signature) {
  const std::string key = "https://a.example/x.tar";
  for (const char* url :
       {"https://a.example/x.tar", "https://user:secret@a.example/x.tar",
        "https://a.example/x.tar?X-Amz-Algorithm=A&X-Amz-Credential=c&X-Amz-Date=1&X-Amz-Signature=secret",
        "https://a.example/x.tar?AWSAccessKeyId=k&Signature=secret&Expires=17",
        "https://a.example/x.tar?Policy=p&Signature=secret&Key-Pair-Id=k#part",
        "https://a.example/x.tar?X-Goog-Signature=secret&x-goog-expires=5",
        "https://a.example/x.tar?sv=2022&ss=b&srt=o&sp=r&se=2027&st=2026&spr=https&sig=secret",
        "https://a.example/x.tar?access_token=secret", "https://a.example/x.tar?"})
    EXPECT_EQ(object_key(url), key) << url;
}

TEST(ObjectKey, tells_contents_that_a_query_selects_apart_without_showing_the_query) {
  const std::string first = object_key("https://a.example/x.tar?version=1"),
                    second = object_key("https://a.example/x.tar?version=2"), none = object_key("https://a.example/x.tar");
  EXPECT_NE(first, second);
  EXPECT_NE(first, none);
  EXPECT_EQ(first, object_key("https://u:p@a.example/x.tar?X-Amz-Signature=abc&version=1"));
  EXPECT_EQ(object_key("https://a.example/x?a=1&b=2"), object_key("https://a.example/x?b=2&a=1"));
  EXPECT_EQ(object_key("https://a.example/x?hunter2").find("hunter2"), std::string::npos);
  EXPECT_TRUE(first.ends_with("@a.example/x.tar")) << "names of other objects can be appended: " << first;
  EXPECT_EQ(without_secrets(first), none);
  EXPECT_NE(object_key("https://a.example/x?st=1"), object_key("https://a.example/x?st=2")) << "Azure's only with sig";
}

TEST(ObjectKey, of_a_key_or_a_path_is_itself) {
  const std::string key = object_key("https://a.example/x.tar?version=1");
  EXPECT_EQ(object_key(key + "/part"), key + "/part");
  for (const char* path : {"/data/a?b#c", "a/b://u:p@c?x", "", "x"}) EXPECT_EQ(object_key(path), path);
}

TEST(ObjectKey, digests_are_no_users) {
  EXPECT_TRUE(is_selection_digest("~0123456789abcdef"));
  for (const char* user : {"", "~", "~0123456789abcde", "~0123456789abcdeF", "user:secret", "0~123456789abcdef"})
    EXPECT_FALSE(is_selection_digest(user)) << user;
}

TEST(LeavesFolder, in_every_spelling) {
  for (const char* path : {"..", "../x", "a/../../x", "%2e%2e/x", "%2E./x", "a/%2e%2e/%2e%2e/x", "..%2fx", "..%5cx",
                           "..\\x", "%252e%252e/x", "%25252e%25252e%25252fx", "/etc", "%2fetc", "\\etc", "..;a/x",
                           "a%2f..%2f..%2fx", "%2525252525252e"})
    EXPECT_TRUE(leaves_folder(path)) << path;
  for (const char* path : {"", "x", "a/b.jpg", "a/../b", "a/%2e%2e/b", "...", "..a", "a..b/c", "100%", "%zz", "a%20b",
                           "a/./b", ".hidden", "%41/b"})
    EXPECT_FALSE(leaves_folder(path)) << path;
}

TEST(WithoutSecrets, passwords_with_odd_characters) {
  for (const char* url : {"http://user:se/cret@a.example/x", "http://user:se?cret@a.example/x",
                          "http://user:se#cret@a.example/x", "http://us@er:se/cret@a.example/x?sig=cret"})
    EXPECT_EQ(without_secrets(url), "http://a.example/x") << url;
  EXPECT_EQ(without_secrets("http://a.example:80/x@y"), "http://a.example:80/x@y");
  EXPECT_EQ(without_secrets("http://[::1]:80/x@y"), "http://[::1]:80/x@y");
}

TEST(ObjectKey, of_a_bucket_is_all_of_its_text) {
  for (const char* key : {"s3://bucket/a", "s3://bucket/what?x=1#y", "gs://bucket/a#b", "S3://bucket/a?", "s3://bucket/a@b?c"})
    EXPECT_EQ(object_key(key), key);
  EXPECT_EQ(object_key("s3://id:secret@bucket/a?b"), "s3://bucket/a?b");
  EXPECT_EQ(without_secrets("s3://bucket/a?b#c"), "s3://bucket/a?b#c");
  EXPECT_EQ(without_secrets("s3://bucket/a?X-Amz-Signature=secret"), "s3://bucket/a") << "it might be one";
  EXPECT_EQ(without_secrets("gs://id:secret@bucket/a"), "gs://bucket/a");
}

}  // namespace
}  // namespace penstock
