// A canned S3 server: objects in memory behind the interface of S3, with signatures that it checks by code of its own.
//
// It knows what the store uses: objects, ListObjectsV2, uploads in parts. Buckets are in the path. A test may answer any
// request itself (`before`), to be slow, wrong or gone.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "support/http_server.h"

namespace penstock {

class S3Server {
 public:
  struct Options {
    std::string access_key = "key-id", secret_key = "se+cret/key", session_token;
    std::string region = "us-east-1";
    bool is_public = false;               // requests need no signature
    std::int64_t clock_offset_s = 0;      // of the server's clock
    std::size_t page_entries = 1000;
    std::set<std::string> buckets = {"bucket"};
  };

  S3Server() : S3Server(Options{}) {}
  explicit S3Server(Options options);
  S3Server(const S3Server&) = delete;
  ~S3Server() { server_.reset(); }

  std::string endpoint() const { return server_->url(""); }
  HttpServer& http() { return *server_; }

  // Returns true if it has answered. Set it before the first request.
  std::function<bool(const HttpCall&, HttpConnection&)> before;
  // The answers to the first request that ends an upload are lost, after it has ended.
  bool loses_ends = false;
  // The digest of ETags; 16 bytes.
  std::function<std::string(const std::string&)> md5;

  void put(const std::string& name, std::string bytes);  // "bucket/key"
  std::string get(const std::string& name) const;        // "(none)" if it is missing
  std::size_t open_uploads() const;
  // From now on, this session token is the valid one; requests with another one get ExpiredToken.
  void change_token(const std::string& access_key, const std::string& secret_key, const std::string& token);
  int requests_of(const std::string& operation) const;  // "GET", "LIST", "PUT", "PART", "BEGIN", "END", "ABORT", "HEAD"

  static void answer_error(const HttpCall& call, HttpConnection& client, const std::string& status,
                           const std::string& code, const std::string& more = "");

 private:
  struct Upload {
    std::string name;
    std::map<int, std::string> parts;
  };

  void serve(const HttpCall& call, HttpConnection& client);
  std::string refusal(const HttpCall& call);  // "", or "status|code|more"
  void list(const HttpCall& call, HttpConnection& client, const std::string& bucket);
  void end_upload(const HttpCall& call, HttpConnection& client, const std::string& id);
  std::string etag_of(const std::string& bytes) const;

  mutable std::mutex mutex_;
  Options options_;
  std::map<std::string, std::pair<std::string, std::string>> objects_;  // "bucket/key" to bytes and ETag
  std::map<std::string, Upload> uploads_;
  std::map<std::string, int> counts_;
  int next_upload_ = 0;
  std::unique_ptr<HttpServer> server_;
};

}  // namespace penstock
