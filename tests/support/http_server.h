// A web server on 127.0.0.1 that says exactly what a test tells it to, byte by byte.
//
// One thread for each connection runs the test's script for each request. Scripts run on several
// threads at a time.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace penstock {

struct HttpCall {
  std::string method, path;                    // the path with its query
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;                            // as long as its Content-Length says
  int connection = 0;                          // 1 is the server's first
  int number = 0;                              // of requests, 1 is the server's first

  std::string header(const std::string& name) const;
  // "bytes=a-b" for an object of this size: the first byte and one past the last.
  std::optional<std::pair<std::size_t, std::size_t>> range(std::size_t size) const;
};

class HttpConnection {
 public:
  HttpConnection(int socket, const std::atomic<bool>& is_closing)
      : socket_(socket),
        is_closing_(is_closing) {}

  // False when the other side is gone.
  bool send(std::string_view bytes);
  // Waits, unless the client goes away or the server ends.
  bool pause(std::chrono::milliseconds time);
  // Until the client goes away.
  void stall() { pause(std::chrono::hours(1)); }
  void close() { is_closed_ = true; }
  void reset();  // RST instead of a goodbye

  // A correct answer.
  void answer(const HttpCall& call, std::string_view body, const std::string& etag = "\"1\"");
  // Status and headers (lines without their ends); the length is added.
  void answer_status(const std::string& status, const std::vector<std::string>& headers = {},
                     std::string_view body = "");

  bool is_closed() const { return is_closed_; }

 private:
  int socket_;
  const std::atomic<bool>& is_closing_;
  bool is_closed_ = false;
};

class HttpServer {
 public:
  using Script = std::function<void(const HttpCall&, HttpConnection&)>;

  explicit HttpServer(Script script, int port = 0);
  HttpServer(const HttpServer&) = delete;
  ~HttpServer();

  int port() const { return port_; }
  std::string url(const std::string& path = "/x") const;
  int connections() const { return connections_; }
  int requests() const { return requests_; }
  int max_at_once() const { return max_at_once_; }

 private:
  void accept_all();
  void serve(int socket, int connection);

  Script script_;
  int listener_ = -1, port_ = 0;
  std::atomic<bool> is_closing_{false};
  std::atomic<int> connections_{0}, requests_{0}, at_once_{0}, max_at_once_{0};
  std::mutex mutex_;
  std::vector<std::thread> threads_;  // guarded by mutex_
  std::thread acceptor_;
};

}  // namespace penstock
