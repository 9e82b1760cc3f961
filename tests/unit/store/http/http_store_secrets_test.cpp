// Whatever a server does, an error of the store names the object and none of the secrets that were sent.
#include <gtest/gtest.h>

#include "store/object_key.h"
#include "support/http_reading.h"
#include "support/watchdog.h"

namespace penstock {
namespace {

const std::string kBody = counted_text(20'000);

HttpServer::Script status(const std::string& line, std::vector<std::string> headers = {}) {
  return [=](const HttpCall&, HttpConnection& client) { client.answer_status(line, headers); };
}

HttpServer::Script raw(const std::string& answer) {
  return [=](const HttpCall&, HttpConnection& client) {
    client.send(answer);
    client.close();
  };
}

// Servers that refuse, fail, lie, break off, and repeat what they were shown.
const std::vector<HttpServer::Script> kServers = {
    status("401 Unauthorized"),
    status("403 Forbidden"),
    status("404 Not Found"),
    status("407 Proxy Authentication Required"),
    status("408 Timeout"),
    status("412 Precondition Failed"),
    status("416 Range Not Satisfiable", {"Content-Range: bytes */10"}),
    status("429 Later"),
    status("500 Broken"),
    status("503 Later", {"Retry-After: 0"}),
    status("302 Found", {"Location: ftp://user:hunter2@b.example/?sig=hunter2"}),
    status("302 Found", {"Location: http://169.254.169.254/x?sig=hunter2#hunter2"}),
    status("302 Found", {"Location: /y?sig=hunter2"}),
    raw("HTTP/1.1 206 Part\r\nContent-Length: 100\r\nContent-Range: bytes 5-104/20000\r\n\r\n"),
    raw("HTTP/1.1 206 Part\r\nContent-Length: 100\r\nContent-Range: bytes 0-99/20000\r\n\r\nshort"),
    raw("HTTP/1.1 206 Part\r\nContent-Length: 100\r\nContent-Encoding: gzip\r\n\r\n"),
    raw("HTTP/1.1 200 OK\r\nContent-Length: 20000\r\n\r\n" + kBody),
    raw("HTTP/1.1 206 Part\r\nX: " + std::string(300'000, 'x') + "\r\n\r\n"),
    raw("SSH-2.0-OpenSSH\r\n"),
    raw(""),
    [](const HttpCall&, HttpConnection& client) { client.reset(); },
    [](const HttpCall&, HttpConnection& client) { client.stall(); },
    [](const HttpCall& call, HttpConnection& client) { client.answer(call, kBody, "\"2\""); },
};

class HttpSecrets : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto store = make_http_store(); !store) GTEST_SKIP() << store.error().message;
  }

  static HttpOptions options_for(const std::string& server) {
    HttpOptions options = impatient();
    options.stall_after = std::chrono::milliseconds(200);
    options.retry.give_up_after = std::chrono::milliseconds(1000);
    options.server = server;
    options.userinfo = "user:hunter2";
    options.query = "sig=hunter2&version=hunter2";
    options.headers = {"Authorization: Bearer hunter2"};
    return options;
  }

  static void expect_clean(const Error& error) {
    EXPECT_EQ(error.describe().find("hunter2"), std::string::npos) << error.describe();
    EXPECT_EQ(error.where.uri.find("hunter2"), std::string::npos) << error.where.uri;
    EXPECT_EQ(error.describe().find('~'), std::string::npos) << "a digest is for programs: " << error.describe();
    EXPECT_NE(error.describe().find("http://127.0.0.1"), std::string::npos) << error.describe();
  }

  Watchdog watchdog_{"HTTP secrets", std::chrono::seconds(120)};
};

TEST_F(HttpSecrets, stand_in_no_error) {
  for (const HttpServer::Script& script : kServers) {
    HttpServer server(script);
    const auto store = *make_http_store(options_for("http://127.0.0.1:" + std::to_string(server.port())));
    const ObjectVersion indexed{20'000, 7};
    const std::string key = object_key(server.url() + "?version=hunter2");
    const auto read = read_text(*store, {key, {0, 100, false}, 100, indexed});
    ASSERT_FALSE(read);
    expect_clean(read.error());
    if (const auto version = store->stat(key); !version) expect_clean(version.error());
  }
}

TEST_F(HttpSecrets, nor_where_nobody_answers) {
  int port = 0;
  {
    const HttpServer gone(status("200 OK"));
    port = gone.port();
  }
  const std::string server = "http://127.0.0.1:" + std::to_string(port);
  const auto store = *make_http_store(options_for(server));
  const auto read = read_text(*store, {server + "/x?sig=hunter2", {}, 100, {}});
  ASSERT_FALSE(read);
  expect_clean(read.error());
}

TEST_F(HttpSecrets, are_sent_for_a_key_with_a_digest_and_the_digest_is_not) {
  std::string authorization, path;
  HttpServer server([&](const HttpCall& call, HttpConnection& client) {
    authorization = call.header("authorization");
    path = call.path;
    client.answer(call, kBody);
  });
  HttpOptions options = options_for("http://127.0.0.1:" + std::to_string(server.port()));
  options.headers.clear();
  const auto store = *make_http_store(options);
  const std::string key = object_key(server.url() + "?version=hunter2");
  EXPECT_NE(key, server.url());
  ASSERT_TRUE(read_text(*store, {key, {0, 100, false}, 100, {}}));
  EXPECT_EQ(authorization, "Basic dXNlcjpodW50ZXIy");
  EXPECT_EQ(path, "/x?sig=hunter2&version=hunter2");
  const auto bare = *make_http_store(impatient());
  ASSERT_TRUE(read_text(*bare, {key, {0, 100, false}, 100, {}}));
  EXPECT_EQ(authorization, "");
  EXPECT_EQ(path, "/x");
}

}  // namespace
}  // namespace penstock
