// A canned Hugging Face Hub: one repository at two commits, its interface, and a second server that has the bytes, to
// which signed redirects lead. It counts requests.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "store/hub/hub_store.h"
#include "support/http_reading.h"
#include "support/http_server.h"

namespace penstock {

class HubServer {
 public:
  explicit HubServer(std::size_t page_entries = 1000, bool storage_has_head = true)
      : page_entries_(page_entries),
        storage_(std::make_unique<HttpServer>([this, storage_has_head](const HttpCall& call, HttpConnection& client) {
          serve_storage(call, client, storage_has_head);
        })),
        hub_(std::make_unique<HttpServer>([this](const HttpCall& call, HttpConnection& client) { serve_hub(call, client); })) {}
  HubServer(const HubServer&) = delete;
  ~HubServer() {
    hub_.reset();
    storage_.reset();
  }

  Result<std::shared_ptr<const Store>> store(const std::string& token = "hf_secret") const {
    HubOptions options;
    options.endpoint = hub_->url("");
    options.token = token;
    return make_hub_store("hf://datasets/owner/name", std::move(options), impatient());
  }

  // Adds the file to the commit that "main" names.
  void put(const std::string& path, std::string bytes) {
    const std::lock_guard lock(mutex_);
    commits_[commit_][path] = std::move(bytes);
  }
  // "main" names another commit from now on, with the same files.
  void commit() {
    const std::lock_guard lock(mutex_);
    const auto files = commits_[commit_];
    commit_ = std::string(39, '0') + std::to_string(++commit_number_);
    commits_[commit_] = files;
  }
  int count(const std::string& what) const {
    const std::lock_guard lock(mutex_);
    const auto found = counts_.find(what);
    return found == counts_.end() ? 0 : found->second;
  }
  bool token_left_the_hub() const { return token_left_the_hub_; }
  std::atomic<bool> expires{false};  // redirects that were handed out before

 private:
  using Json = nlohmann::json;

  static std::string digest_of(const std::string& bytes) { return "oid" + std::to_string(std::hash<std::string>()(bytes)); }

  Json entry_of(const std::string& path, const std::string& bytes) const {
    return {{"type", "file"}, {"path", path}, {"size", bytes.size()}, {"oid", digest_of(bytes)}};
  }

  static void error(const HttpCall& call, HttpConnection& client, const std::string& status, const std::string& code) {
    client.answer_status(status, {"X-Error-Code: " + code}, call.method == "HEAD" ? "" : "{}");
  }

  void serve_hub(const HttpCall& call, HttpConnection& client) {
    const std::lock_guard lock(mutex_);
    if (call.header("authorization") != "Bearer hf_secret") return error(call, client, "401 Unauthorized", "RepoNotFound");
    const std::string api = "/api/datasets/owner/name/", resolve = "/datasets/owner/name/resolve/";
    if (call.path.starts_with(api)) return serve_api(call, call.path.substr(api.size()), client);
    if (!call.path.starts_with(resolve)) return error(call, client, "404 Not Found", "RepoNotFound");
    ++counts_["resolve"];
    const std::string rest = call.path.substr(resolve.size());
    const auto files = commits_.find(rest.substr(0, rest.find('/')));
    const std::string path = rest.substr(rest.find('/') + 1);
    if (files == commits_.end()) return error(call, client, "404 Not Found", "RevisionNotFound");
    if (!files->second.contains(path)) return error(call, client, "404 Not Found", "EntryNotFound");
    client.answer_status("302 Found", {"Location: " + storage_->url("/" + rest + "?Expires=4000000000&sig=" + std::to_string(++signed_)),
                                       "X-Linked-Size: " + std::to_string(files->second[path].size())});
  }

  void serve_api(const HttpCall& call, const std::string& rest, HttpConnection& client) {
    const std::string function = rest.substr(0, rest.find('/'));
    ++counts_[function];
    std::string after = rest.substr(rest.find('/') + 1);
    const std::string query = after.find('?') == std::string::npos ? "" : after.substr(after.find('?'));
    after = after.substr(0, after.find('?'));
    const std::string revision = after.substr(0, after.find('/'));
    const std::string path = after.find('/') == std::string::npos ? "" : after.substr(after.find('/') + 1);
    if (function == "revision" && revision == "main") return json(client, {{"sha", commit_}});
    const auto files = commits_.find(revision);
    if (files == commits_.end()) return error(call, client, "404 Not Found", "RevisionNotFound");
    if (function == "paths-info") {
      Json found = Json::array();
      const Json question = Json::parse(call.body);
      for (const auto& asked : question["paths"]) {
        const auto name = asked.get<std::string>();
        if (files->second.contains(name)) found.push_back(entry_of(name, files->second[name]));
        for (const auto& [file, bytes] : files->second)
          if (file.starts_with(name + "/")) {
            found.push_back({{"type", "directory"}, {"path", name}, {"size", 0}, {"oid", "tree"}});
            break;
          }
      }
      return json(client, found);
    }
    tree(call, files->second, path, query, client);
  }

  void tree(const HttpCall& call, const std::map<std::string, std::string>& files, const std::string& path,
            const std::string& query, HttpConnection& client) {
    const bool is_recursive = query.find("recursive=true") != std::string::npos;
    const std::string prefix = path.empty() ? "" : path + "/";
    std::map<std::string, Json> entries;
    for (const auto& [file, bytes] : files) {
      if (!file.starts_with(prefix)) continue;
      for (std::size_t slash = file.find('/', prefix.size()); slash != std::string::npos; slash = file.find('/', slash + 1)) {
        entries[file.substr(0, slash)] = {{"type", "directory"}, {"path", file.substr(0, slash)}, {"size", 0}, {"oid", "tree"}};
        if (!is_recursive) break;
      }
      if (is_recursive || file.find('/', prefix.size()) == std::string::npos) entries[file] = entry_of(file, bytes);
    }
    if (entries.empty()) return error(call, client, "404 Not Found", "EntryNotFound");
    const std::size_t cursor_at = query.find("cursor=");
    const std::size_t first = cursor_at == std::string::npos ? 0 : std::stoul(query.substr(cursor_at + 7));
    Json page = Json::array();
    std::size_t number = 0;
    std::string next;
    for (const auto& [name, entry] : entries) {
      if (number >= first && number < first + page_entries_) page.push_back(entry);
      if (++number == first + page_entries_ + 1)
        next = "Link: <" + hub_->url(call.path.substr(0, call.path.find("&cursor"))) + "&cursor=" + std::to_string(first + page_entries_) +
               ">; rel=\"next\"";
    }
    json(client, page, next);
  }

  static void json(HttpConnection& client, const Json& answer, const std::string& header = "") {
    std::vector<std::string> headers = {"Content-Type: application/json"};
    if (!header.empty()) headers.push_back(header);
    client.answer_status("200 OK", headers, answer.dump());
  }

  void serve_storage(const HttpCall& call, HttpConnection& client, bool has_head) {
    if (!call.header("authorization").empty()) token_left_the_hub_ = true;
    const std::lock_guard lock(mutex_);
    ++counts_["storage"];
    const std::string signature = "sig=" + std::to_string(signed_);
    const bool is_current = !expires || call.path.ends_with(signature);
    if (!is_current || (call.method == "HEAD" && !has_head)) return client.answer_status("403 Forbidden");
    const std::string rest = call.path.substr(1, call.path.find('?') - 1);
    const auto& files = commits_[rest.substr(0, rest.find('/'))];
    client.answer(call, files.at(rest.substr(rest.find('/') + 1)), "\"storage's own\"");
  }

  const std::size_t page_entries_;
  mutable std::mutex mutex_;
  std::string commit_ = std::string(40, 'a');
  int commit_number_ = 0, signed_ = 0;
  std::map<std::string, std::map<std::string, std::string>> commits_;
  std::map<std::string, int> counts_;
  std::atomic<bool> token_left_the_hub_{false};
  std::unique_ptr<HttpServer> storage_, hub_;
};

}  // namespace penstock
