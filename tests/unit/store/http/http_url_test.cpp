#include "store/http/http_url.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

std::string text_of(std::string_view url) {
  const auto parsed = parse_http_url(url);
  return parsed ? parsed->text() : "refused";
}

TEST(HttpUrl, takes_apart_and_puts_together) {
  EXPECT_EQ(text_of("http://a.example"), "http://a.example/");
  EXPECT_EQ(text_of("HTTPS://A.Example:443/x?y=1#z"), "https://a.example/x?y=1");
  EXPECT_EQ(text_of("http://a.example:8080/x/../y"), "http://a.example:8080/x/../y");
  EXPECT_EQ(text_of("http://u:p@a.example/x"), "http://u:p@a.example/x");
  EXPECT_EQ(text_of("http://[::1]:81/x"), "http://[::1]:81/x");
  EXPECT_EQ(text_of("http://a.example?x"), "http://a.example/?x");
  EXPECT_EQ(text_of("http://a.example/my data/\xC3\xA9"), "http://a.example/my%20data/%C3%A9");
}

TEST(HttpUrl, what_could_be_read_in_two_ways_is_refused) {
  for (const char* url : {"",
                          "x",
                          "ftp://a/x",
                          "file:///etc/passwd",
                          "http:///x",
                          "http://a b/x",
                          "http://a\\b/x",
                          "http://a/x\r\nHost: b",
                          "http://a:0/",
                          "http://a:65536/",
                          "http://a:8x/",
                          "http://127.1/",
                          "http://0x7f.0.0.1/",
                          "http://2130706433/",
                          "http://127.0.0.01/",
                          "http://[::1/",
                          "http://[x]/",
                          "http://a@b@c/",
                          "http://a..b/",
                          "http://.a/",
                          "http://a%2eb/"})
    EXPECT_EQ(text_of(url), "refused") << url;
}

TEST(HttpUrl, what_follows_a_zero_byte_is_not_overlooked) {
  // Found by fuzzing: the address before it was checked, the rest went out.
  EXPECT_EQ(text_of(std::string_view("http://[::1\0.b.example]/", 23)), "refused");
  EXPECT_EQ(text_of(std::string_view("http://a.example\0.b/", 20)), "refused");
}

TEST(HttpUrl, passwords_are_in_no_message) {
  EXPECT_EQ(parse_http_url("http://u:secret@a.example/x")->shown(), "http://a.example/x");
  EXPECT_EQ(without_secrets("http://u:se@cret@a.example/x@y"), "http://a.example/x@y");
  EXPECT_EQ(without_secrets("plain/path@x?y#z"), "plain/path@x?y#z");
  EXPECT_EQ(without_secrets("a/b://u:p@c?x"), "a/b://u:p@c?x") << "a path";
  EXPECT_EQ(parse_http_url("http://u:secret@a b/x").error().describe().find("secret"), std::string::npos);
}

TEST(HttpUrl, signatures_are_in_no_message) {
  EXPECT_EQ(parse_http_url("https://a.example/x.tar?sig=secret")->shown(), "https://a.example/x.tar");
  EXPECT_EQ(without_secrets("https://u:p@a.example?sig=secret@/x#y"), "https://a.example");
  EXPECT_EQ(parse_http_url("https://a b/x?sig=secret").error().describe().find("secret"), std::string::npos);
  const auto from = parse_http_url("https://a.example/x?sig=secret");
  const auto refused = redirect_target(*from, "http://b.example/y?sig=secret", {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().describe().find("secret"), std::string::npos);
}

TEST(HttpUrl, tells_inner_addresses) {
  for (const char* host :
       {"127.0.0.1", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1", "0.0.0.0", "169.254.1.1",
        "100.64.0.1", "255.255.255.255", "[::1]", "[::]", "[fe80::1]", "[fd12::1]", "[::ffff:10.0.0.1]",
        "[64:ff9b::7f00:1]", "localhost", "a.localhost", "LOCALHOST.", "db.internal"})
    EXPECT_EQ(network_of_host(host), Network::kInner) << host;
  for (const char* host :
       {"8.8.8.8", "172.32.0.1", "192.169.0.1", "a.example", "[2001:db8::1]", "[::ffff:8.8.8.8]"})
    EXPECT_EQ(network_of_host(host), Network::kPublic) << host;
  for (const char* host :
       {"169.254.169.254", "[::ffff:169.254.169.254]", "[fd00:ec2::254]", "metadata.google.internal"})
    EXPECT_EQ(network_of_host(host), Network::kCredentials) << host;
}

std::string redirected(const char* from, const char* location, RedirectRules rules = {}) {
  const auto target = redirect_target(*parse_http_url(from), location, rules);
  return target ? target->text() : "refused";
}

TEST(HttpRedirect, relative_ones_stay_on_the_server_with_its_password) {
  EXPECT_EQ(redirected("http://u:p@a.example:81/x/y?q", "/z"), "http://u:p@a.example:81/z");
  EXPECT_EQ(redirected("http://a.example/x/y?q", "z"), "http://a.example/x/z");
  EXPECT_EQ(redirected("http://a.example/x/y/z", "../w"), "http://a.example/x/w");
  EXPECT_EQ(redirected("http://a.example/x/y", "../../../w"), "http://a.example/w");
  EXPECT_EQ(redirected("http://a.example/x/y?q", "?r"), "http://a.example/x/y?r");
  EXPECT_EQ(redirected("https://a.example/x", "//b.example/z"), "https://b.example/z");
}

TEST(HttpRedirect, other_servers_never_get_the_password) {
  EXPECT_EQ(redirected("http://u:p@a.example/x", "http://a.example/y"), "http://u:p@a.example/y");
  EXPECT_EQ(redirected("http://u:p@a.example/x", "http://a.example:81/y"), "http://a.example:81/y");
  EXPECT_EQ(redirected("http://u:p@a.example/x", "http://b.example/y"), "http://b.example/y");
  EXPECT_EQ(redirected("http://u:p@a.example/x", "http://v:w@b.example/y"), "http://b.example/y");
  EXPECT_EQ(redirected("http://u:p@a.example/x", "http://b.example/y", {.allow_other_hosts = false}),
            "refused");
}

TEST(HttpRedirect, never_into_the_inner_network_from_outside) {
  for (const char* location :
       {"http://127.0.0.1/", "http://localhost/", "http://[::1]/", "http://10.0.0.1/",
        "http://169.254.169.254/x", "http://[::ffff:169.254.169.254]/", "http://192.168.0.1:8080/",
        "http://0x7f000001/", "http://127.1/", "file:///etc/passwd", "ftp://b.example/x",
        "gopher://b.example/", "javascript:1", "data:,x", "http://b.example\\@127.0.0.1/",
        "http:\\\\127.0.0.1", "//127.0.0.1/x"})
    EXPECT_EQ(redirected("http://a.example/x", location), "refused") << location;
  EXPECT_EQ(redirected("http://127.0.0.1:80/x", "http://127.0.0.2/y", {.from_inner = true}),
            "http://127.0.0.2/y");
  EXPECT_EQ(redirected("http://127.0.0.1/x", "http://169.254.169.254/y", {.from_inner = true}), "refused");
}

TEST(HttpRedirect, encryption_is_never_given_up) {
  EXPECT_EQ(redirected("https://a.example/x", "http://a.example/x"), "refused");
  EXPECT_EQ(redirected("http://a.example/x", "https://a.example/x"), "https://a.example/x");
}

}  // namespace
}  // namespace penstock
