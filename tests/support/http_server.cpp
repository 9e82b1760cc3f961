#include "support/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/text/lower_case.h"

namespace penstock {
namespace {

constexpr int kPollMs = 20;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

HttpCall parse_call(std::string_view text) {
  HttpCall call;
  std::size_t end = text.find("\r\n");
  const std::string_view first = text.substr(0, end);
  const std::size_t space = first.find(' ');
  call.method = first.substr(0, space);
  call.path = first.substr(space + 1, first.rfind(' ') - space - 1);
  while (end != std::string_view::npos) {
    text.remove_prefix(end + 2);
    end = text.find("\r\n");
    const std::string_view line = text.substr(0, end);
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos)
      call.headers[lower_case(line.substr(0, colon))] = trimmed(line.substr(colon + 1));
  }
  return call;
}

}  // namespace

std::string HttpCall::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

std::optional<std::pair<std::size_t, std::size_t>> HttpCall::range(std::size_t size) const {
  const std::string text = header("range");
  if (!text.starts_with("bytes=")) return std::nullopt;
  const std::size_t dash = text.find('-');
  const std::string first = text.substr(6, dash - 6), last = text.substr(dash + 1);
  if (first.empty()) {
    const std::size_t length = std::strtoull(last.c_str(), nullptr, 10);
    return std::pair(size - std::min(size, length), size);
  }
  const std::size_t begin = std::strtoull(first.c_str(), nullptr, 10);
  const std::size_t end = last.empty() ? size : std::strtoull(last.c_str(), nullptr, 10) + 1;
  return std::pair(begin, std::min(end, size));
}

bool HttpConnection::send(std::string_view bytes) {
  while (!bytes.empty() && !is_closed_) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
      continue;
    }
    if (errno != EAGAIN && errno != EINTR) is_closed_ = true;
    if (is_closing_) is_closed_ = true;
    pollfd wait{socket_, POLLOUT, 0};
    if (!is_closed_) poll(&wait, 1, kPollMs);
  }
  return !is_closed_;
}

bool HttpConnection::pause(std::chrono::milliseconds time) {
  const auto until = std::chrono::steady_clock::now() + time;
  while (!is_closed_ && std::chrono::steady_clock::now() < until) {
    if (is_closing_) is_closed_ = true;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    pollfd wait{socket_, POLLRDHUP, 0};
    if (poll(&wait, 1, static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, kPollMs))) > 0)
      is_closed_ = true;
  }
  return !is_closed_;
}

void HttpConnection::reset() {
  const linger abrupt{1, 0};
  setsockopt(socket_, SOL_SOCKET, SO_LINGER, &abrupt, sizeof(abrupt));
  is_closed_ = true;
}

void HttpConnection::answer(const HttpCall& call, std::string_view body, const std::string& etag) {
  std::vector<std::string> headers = {"Accept-Ranges: bytes"};
  if (!etag.empty()) headers.push_back("ETag: " + etag);
  const auto range = call.range(body.size());
  std::string status = "200 OK";
  if (range) {
    if (range->first >= range->second)
      return answer_status("416 Range Not Satisfiable",
                           {"Content-Range: bytes */" + std::to_string(body.size())});
    status = "206 Partial Content";
    headers.push_back("Content-Range: bytes " + std::to_string(range->first) + "-" +
                      std::to_string(range->second - 1) + "/" + std::to_string(body.size()));
    body = body.substr(range->first, range->second - range->first);
  }
  if (call.method == "HEAD") {
    std::string head = "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
    for (const auto& line : headers) head += line + "\r\n";
    send(head + "\r\n");
    return;
  }
  answer_status(status, headers, body);
}

void HttpConnection::answer_status(const std::string& status, const std::vector<std::string>& headers,
                                   std::string_view body) {
  std::string head = "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
  for (const auto& line : headers) head += line + "\r\n";
  send(head + "\r\n");
  send(body);
}

HttpServer::HttpServer(Script script, int port) : script_(std::move(script)) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  socklen_t size = sizeof(address);
  if (bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(listener_, 256) != 0)
    abort();
  getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { accept_all(); });
}

HttpServer::~HttpServer() {
  is_closing_ = true;
  acceptor_.join();
  for (std::thread& thread : threads_) thread.join();
  ::close(listener_);
}

std::string HttpServer::url(const std::string& path) const {
  return "http://127.0.0.1:" + std::to_string(port_) + path;
}

void HttpServer::accept_all() {
  while (!is_closing_) {
    pollfd wait{listener_, POLLIN, 0};
    if (poll(&wait, 1, kPollMs) <= 0) continue;
    const int socket = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) continue;
    const int yes = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    const int number = ++connections_;
    const std::lock_guard lock(mutex_);
    threads_.emplace_back([this, socket, number] { serve(socket, number); });
  }
}

void HttpServer::serve(int socket, int connection) {
  HttpConnection client(socket, is_closing_);
  std::string received;
  while (!client.is_closed() && !is_closing_) {
    const std::size_t end = received.find("\r\n\r\n");
    std::size_t body = 0;
    if (end != std::string::npos) {
      const std::string length = parse_call(std::string_view(received).substr(0, end)).header("content-length");
      body = std::strtoull(length.c_str(), nullptr, 10);
    }
    if (end == std::string::npos || received.size() < end + 4 + body) {
      pollfd wait{socket, POLLIN, 0};
      if (poll(&wait, 1, kPollMs) <= 0) continue;
      char buffer[65536];
      const ssize_t got = recv(socket, buffer, sizeof(buffer), 0);
      if (got <= 0) break;
      received.append(buffer, static_cast<std::size_t>(got));
      continue;
    }
    HttpCall call = parse_call(std::string_view(received).substr(0, end));
    call.body = received.substr(end + 4, body);
    received.erase(0, end + 4 + body);
    call.connection = connection;
    call.number = ++requests_;
    const int now = ++at_once_;
    for (int most = max_at_once_; now > most && !max_at_once_.compare_exchange_weak(most, now);) {}
    script_(call, client);
    --at_once_;
  }
  ::close(socket);
}

}  // namespace penstock
