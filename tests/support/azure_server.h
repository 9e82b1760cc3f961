// A canned server of Azure's blob service: blobs in memory, signatures that it checks by code of its own, listings in
// pages, blobs that are put at once or in blocks. The emulator's form of URLs: /account/container/blob.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "store/azure/azure_store.h"
#include "store/s3/digest.h"
#include "support/http_reading.h"
#include "support/http_server.h"
#include "support/own_sha256.h"

namespace penstock {

class AzureServer {
 public:
  explicit AzureServer(std::size_t page_entries = 5000, std::string token = "")
      : page_entries_(page_entries),
        token_(std::move(token)),
        server_(std::make_unique<HttpServer>([this](const HttpCall& call, HttpConnection& client) { serve(call, client); })) {}
  AzureServer(const AzureServer&) = delete;
  ~AzureServer() { server_.reset(); }

  // Signed by the account's key, or by the token where the server has one.
  AzureOptions options() const {
    AzureOptions options;
    options.account = "account";
    options.endpoint = server_->url("/account");
    if (token_.empty())
      options.account_key = base64(text_as_bytes(kKey));
    else
      options.sas_token = token_;
    return options;
  }
  Result<std::shared_ptr<const Store>> store() const { return make_azure_store("az://container", options(), impatient()); }

  void put(const std::string& name, std::string bytes) {
    const std::lock_guard lock(mutex_);
    keep(name, std::move(bytes));
  }
  std::string get(const std::string& name) const {
    const std::lock_guard lock(mutex_);
    const auto found = blobs_.find(name);
    return found == blobs_.end() ? "(none)" : found->second.bytes;
  }
  int requests_of(const std::string& operation) const {
    const std::lock_guard lock(mutex_);
    const auto found = counts_.find(operation);
    return found == counts_.end() ? 0 : found->second;
  }

  // Answers the next requests of an operation ("GET", "LIST", "PUT", "BLOCK", "JOIN") with this error.
  void fail(const std::string& operation, const std::string& status, const std::string& code, int times) {
    const std::lock_guard lock(mutex_);
    failing_ = operation;
    status_ = status;
    code_ = code;
    times_ = times;
  }

 private:
  static constexpr std::string_view kKey = "the key of the account";
  struct Blob {
    std::string bytes, etag;
  };

  static std::string decoded(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '%' && i + 2 < text.size()) {
        out += static_cast<char>(std::strtol(std::string(text.substr(i + 1, 2)).c_str(), nullptr, 16));
        i += 2;
      } else {
        out += text[i];
      }
    }
    return out;
  }
  static std::map<std::string, std::string> parameters_of(const std::string& target) {
    std::map<std::string, std::string> out;
    std::size_t at = target.find('?');
    while (at != std::string::npos && at + 1 < target.size()) {
      const std::size_t end = target.find('&', at + 1);
      const std::string one = target.substr(at + 1, end == std::string::npos ? end : end - at - 1);
      out[one.substr(0, one.find('='))] = decoded(one.find('=') == std::string::npos ? "" : one.substr(one.find('=') + 1));
      at = end;
    }
    return out;
  }

  // As the documentation of "Authorize with Shared Key" writes it.
  static bool is_signed(const HttpCall& call) {
    std::string text = call.method + "\n\n\n";
    const std::string length = call.header("content-length");
    text += (length == "0" ? "" : length) + "\n" + call.header("content-md5") + "\n" + call.header("content-type") + "\n\n\n" +
            call.header("if-match") + "\n\n\n" + call.header("range") + "\n";
    for (const auto& [name, value] : call.headers)
      if (name.starts_with("x-ms-")) text += name + ":" + value + "\n";
    text += "/account" + call.path.substr(0, call.path.find('?'));
    for (const auto& [name, value] : parameters_of(call.path)) text += "\n" + name + ":" + value;
    const std::string sum = own_hmac(std::string(kKey), text);
    return call.header("authorization") == "SharedKey account:" + base64(text_as_bytes(sum));
  }

  static void error(const HttpCall& call, HttpConnection& client, const std::string& status, const std::string& code) {
    const std::string body = "\xEF\xBB\xBF<?xml version=\"1.0\" encoding=\"utf-8\"?><Error><Code>" + code + "</Code></Error>";
    client.answer_status(status, {"x-ms-error-code: " + code}, call.method == "HEAD" ? "" : body);
  }

  void keep(const std::string& name, std::string bytes) {
    blobs_[name] = {std::move(bytes), "\"0x8D" + std::to_string(++versions_) + "\""};
  }

  void serve(const HttpCall& call, HttpConnection& client) {
    const std::lock_guard lock(mutex_);
    auto parameters = parameters_of(call.path);
    const std::string path = decoded(call.path.substr(0, call.path.find('?')));
    const std::string comp = parameters["comp"];
    const std::string operation =
        comp == "list" ? "LIST" : comp == "block" ? "BLOCK" : comp == "blocklist" ? "JOIN" : call.method;
    ++counts_[operation];
    if (operation == failing_ && times_ > 0) {
      --times_;
      return error(call, client, status_, code_);
    }
    const bool is_allowed = token_.empty() ? is_signed(call) : call.path.find(token_) != std::string::npos;
    if (!is_allowed || call.header("x-ms-version").empty()) return error(call, client, "403 Forbidden", "AuthenticationFailed");
    const std::string prefix = "/account/";
    if (!path.starts_with(prefix)) return error(call, client, "400 Bad Request", "InvalidUri");
    const std::string name = path.substr(prefix.size());
    const std::string container = name.substr(0, name.find('/'));
    if (container != "container") return error(call, client, "404 Not Found", "ContainerNotFound");
    if (operation == "LIST") return list(parameters, container, client);
    if (call.method == "PUT") return write(call, parameters, name, operation, client);
    const auto found = blobs_.find(name);
    if (found == blobs_.end()) return error(call, client, "404 Not Found", "BlobNotFound");
    const std::string wanted = call.header("if-match");
    if (!wanted.empty() && wanted != found->second.etag) return error(call, client, "412 Condition Not Met", "ConditionNotMet");
    client.answer(call, found->second.bytes, found->second.etag);
  }

  void write(const HttpCall& call, std::map<std::string, std::string>& parameters, const std::string& name,
             const std::string& operation, HttpConnection& client) {
    if (operation == "BLOCK") {
      blocks_[name][parameters["blockid"]] = call.body;
    } else if (operation == "JOIN") {
      std::string whole;
      for (std::size_t at = call.body.find("<Latest>"); at != std::string::npos; at = call.body.find("<Latest>", at + 1)) {
        const std::string id = call.body.substr(at + 8, call.body.find('<', at + 8) - at - 8);
        const auto block = blocks_[name].find(id);
        if (block == blocks_[name].end()) return error(call, client, "400 Bad Request", "InvalidBlockList");
        whole += block->second;
      }
      keep(name, std::move(whole));
      blocks_.erase(name);
    } else {
      if (call.header("x-ms-blob-type") != "BlockBlob") return error(call, client, "400 Bad Request", "MissingRequiredHeader");
      keep(name, call.body);
    }
    client.answer_status("201 Created", {"ETag: " + (operation == "BLOCK" ? std::string("\"\"") : blobs_[name].etag)});
  }

  static std::string escaped(const std::string& text) {
    std::string out;
    for (const char c : text) out += c == '&' ? "&amp;" : c == '<' ? "&lt;" : std::string(1, c);
    return out;
  }

  void list(std::map<std::string, std::string>& parameters, const std::string& container, HttpConnection& client) {
    const std::string prefix = container + "/" + parameters["prefix"], delimiter = parameters["delimiter"];
    std::set<std::string> names;  // a folder ends with '/'
    for (const auto& [name, blob] : blobs_) {
      if (!name.starts_with(prefix)) continue;
      const std::size_t slash = delimiter.empty() ? std::string::npos : name.find('/', prefix.size());
      names.insert(slash == std::string::npos ? name : name.substr(0, slash + 1));
    }
    std::string xml = "\xEF\xBB\xBF<?xml version=\"1.0\" encoding=\"utf-8\"?><EnumerationResults><Blobs>", next;
    std::size_t count = 0;
    const std::size_t most = std::min<std::size_t>(page_entries_, std::strtoul(parameters["maxresults"].c_str(), nullptr, 10));
    for (const std::string& name : names) {
      if (name < parameters["marker"]) continue;
      if (count++ == most) {
        next = name;
        break;
      }
      const std::string shown = "<Name>" + escaped(name.substr(container.size() + 1)) + "</Name>";
      if (!delimiter.empty() && name.ends_with('/')) {
        xml += "<BlobPrefix>" + shown + "</BlobPrefix>";
        continue;
      }
      const Blob& blob = blobs_[name];
      xml += "<Blob>" + shown + "<Properties><Content-Length>" + std::to_string(blob.bytes.size()) +
             "</Content-Length><Etag>" + blob.etag.substr(1, blob.etag.size() - 2) + "</Etag></Properties></Blob>";
    }
    client.answer_status("200 OK", {"Content-Type: application/xml"},
                         xml + "</Blobs><NextMarker>" + escaped(next) + "</NextMarker></EnumerationResults>");
  }

  const std::size_t page_entries_;
  const std::string token_;
  mutable std::mutex mutex_;
  std::map<std::string, Blob> blobs_;
  std::map<std::string, std::map<std::string, std::string>> blocks_;
  std::map<std::string, int> counts_;
  std::string failing_, status_, code_;
  int times_ = 0, versions_ = 0;
  std::unique_ptr<HttpServer> server_;
};

}  // namespace penstock
