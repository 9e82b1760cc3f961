#include "support/s3_server.h"

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "base/hash.h"
#include "support/own_sha256.h"

namespace penstock {
namespace {

std::string decoded(std::string_view text) {
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

std::map<std::string, std::string> parameters_of(const std::string& target) {
  std::map<std::string, std::string> out;
  const std::size_t begin = target.find('?');
  if (begin == std::string::npos) return out;
  for (std::size_t at = begin + 1; at < target.size();) {
    const std::size_t end = std::min(target.find('&', at), target.size());
    const std::string one = target.substr(at, end - at);
    const std::size_t equals = std::min(one.find('='), one.size());
    out[decoded(one.substr(0, equals))] = decoded(one.substr(std::min(equals + 1, one.size())));
    at = end + 1;
  }
  return out;
}

// As S3 does for encoding-type=url.
std::string listing_encoded(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) || std::string_view("-_.*/").find(c) != std::string_view::npos)
      out += c;
    else if (c == ' ')
      out += '+';
    else
      out += "%" + own_hex(std::string(1, c));
  }
  return out;
}

std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const std::size_t at = text.find(begin);
  if (at == std::string::npos) return "";
  const std::size_t from = at + begin.size();
  return text.substr(from, text.find(end, from) - from);
}

std::string http_date(std::time_t time) {
  std::tm parts{};
  gmtime_r(&time, &parts);
  char text[64];
  std::strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  return text;
}

// The signature that this request should have, from the specification and not from our signer.
std::string expected_signature(const HttpCall& call, const std::string& secret, const std::string& scope,
                               const std::string& names) {
  const std::size_t question = std::min(call.path.find('?'), call.path.size());
  std::vector<std::string> query;
  for (std::size_t at = question + 1; at < call.path.size();) {
    const std::size_t end = std::min(call.path.find('&', at), call.path.size());
    query.push_back(call.path.substr(at, end - at));
    at = end + 1;
  }
  std::sort(query.begin(), query.end());
  std::string canonical = call.method + "\n" + call.path.substr(0, question) + "\n";
  for (std::size_t i = 0; i < query.size(); ++i) canonical += (i == 0 ? "" : "&") + query[i];
  canonical += "\n";
  for (std::size_t at = 0; at < names.size();) {
    const std::size_t end = std::min(names.find(';', at), names.size());
    const std::string name = names.substr(at, end - at);
    canonical += name + ":" + call.header(name) + "\n";
    at = end + 1;
  }
  canonical += "\n" + names + "\n" + call.header("x-amz-content-sha256");
  const std::string text =
      "AWS4-HMAC-SHA256\n" + call.header("x-amz-date") + "\n" + scope + "\n" + own_hex(own_sha256(canonical));
  std::string key = "AWS4" + secret;
  for (std::size_t at = 0; at < scope.size();) {
    const std::size_t end = std::min(scope.find('/', at), scope.size());
    key = own_hmac(key, scope.substr(at, end - at));
    at = end + 1;
  }
  return own_hex(own_hmac(key, text));
}

std::time_t time_of_amz_date(const std::string& text) {
  std::tm parts{};
  if (strptime(text.c_str(), "%Y%m%dT%H%M%SZ", &parts) == nullptr) return 0;
  return timegm(&parts);
}

}  // namespace

S3Server::S3Server(Options options) : options_(std::move(options)) {
  md5 = [](const std::string& bytes) {
    std::string digest;
    for (const std::uint64_t seed : {1, 2}) {
      const std::uint64_t half = hash_text(bytes, seed);
      for (int i = 0; i < 8; ++i) digest += static_cast<char>(half >> (8 * i));
    }
    return digest;
  };
  server_ = std::make_unique<HttpServer>([this](const HttpCall& call, HttpConnection& client) { serve(call, client); });
}

std::string S3Server::etag_of(const std::string& bytes) const { return "\"" + own_hex(md5(bytes)) + "\""; }

void S3Server::put(const std::string& name, std::string bytes) {
  const std::string etag = etag_of(bytes);
  const std::lock_guard lock(mutex_);
  objects_[name] = {std::move(bytes), etag};
}

std::string S3Server::get(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = objects_.find(name);
  return found == objects_.end() ? "(none)" : found->second.first;
}

std::size_t S3Server::open_uploads() const {
  const std::lock_guard lock(mutex_);
  return uploads_.size();
}

void S3Server::change_token(const std::string& access_key, const std::string& secret_key, const std::string& token) {
  const std::lock_guard lock(mutex_);
  options_.access_key = access_key;
  options_.secret_key = secret_key;
  options_.session_token = token;
}

int S3Server::requests_of(const std::string& operation) const {
  const std::lock_guard lock(mutex_);
  const auto found = counts_.find(operation);
  return found == counts_.end() ? 0 : found->second;
}

void S3Server::answer_error(const HttpCall& call, HttpConnection& client, const std::string& status,
                            const std::string& code, const std::string& more) {
  const std::string body = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>" + code +
                           "</Code><Message>A text that quotes se+cret/key</Message>" + more + "</Error>";
  if (call.method != "HEAD") return client.answer_status(status, {"Date: " + http_date(std::time(nullptr))}, body);
  client.send("HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n");
}

std::string S3Server::refusal(const HttpCall& call) {
  if (options_.is_public) return "";
  const std::string authorization = call.header("authorization");
  if (authorization.empty()) return "403 Forbidden|AccessDenied";
  const std::string credential = between(authorization, "Credential=", ","),
                    names = between(authorization, "SignedHeaders=", ","),
                    signature = between(authorization, "Signature=", ",");
  const std::size_t slash = credential.find('/');
  const std::string id = credential.substr(0, slash), scope = credential.substr(slash + 1);
  if (!options_.session_token.empty() && call.header("x-amz-security-token") != options_.session_token)
    return "400 Bad Request|ExpiredToken";
  if (id != options_.access_key) return "403 Forbidden|InvalidAccessKeyId";
  for (const char* name : {"host", "x-amz-content-sha256", "x-amz-date"})
    if ((";" + names + ";").find(std::string(";") + name + ";") == std::string::npos)
      return "403 Forbidden|AccessDenied";
  for (const auto& [name, value] : call.headers)
    if (name.starts_with("x-amz-") && (";" + names + ";").find(";" + name + ";") == std::string::npos)
      return "403 Forbidden|AccessDenied";
  if (scope.find("/" + options_.region + "/s3/aws4_request") == std::string::npos)
    return "400 Bad Request|AuthorizationHeaderMalformed|<Region>" + options_.region + "</Region>";
  const std::time_t now = std::time(nullptr) + options_.clock_offset_s;
  if (std::abs(time_of_amz_date(call.header("x-amz-date")) - now) > 900) return "403 Forbidden|RequestTimeTooSkewed";
  if (signature != expected_signature(call, options_.secret_key, scope, names))
    return "403 Forbidden|SignatureDoesNotMatch";
  const std::string payload = call.header("x-amz-content-sha256");
  if (payload != "UNSIGNED-PAYLOAD" && payload != own_hex(own_sha256(call.body)))
    return "400 Bad Request|XAmzContentSHA256Mismatch";
  return "";
}

void S3Server::serve(const HttpCall& call, HttpConnection& client) {
  if (before && before(call, client)) return;
  const std::string path = decoded(call.path.substr(1, call.path.find('?') - 1));
  const std::string bucket = path.substr(0, path.find('/'));
  const auto parameters = parameters_of(call.path);
  const auto has = [&](const char* name) { return parameters.contains(name); };
  std::unique_lock lock(mutex_);
  const char* operation = call.method == "POST" ? (has("uploads") ? "BEGIN" : "END")
                          : call.method == "PUT" ? (has("partNumber") ? "PART" : "PUT")
                          : call.method == "DELETE" ? "ABORT"
                          : has("list-type") ? "LIST"
                          : call.method == "HEAD" ? "HEAD" : "GET";
  ++counts_[operation];
  if (const std::string refused = refusal(call); !refused.empty()) {
    const std::size_t first = refused.find('|'), second = std::min(refused.find('|', first + 1), refused.size());
    const std::string body = "<Error><Code>" + refused.substr(first + 1, second - first - 1) + "</Code>" +
                             refused.substr(std::min(second + 1, refused.size())) + "</Error>";
    const std::string date = "Date: " + http_date(std::time(nullptr) + options_.clock_offset_s);
    return client.answer_status(refused.substr(0, first), {date}, call.method == "HEAD" ? "" : body);
  }
  if (!options_.buckets.contains(bucket)) return answer_error(call, client, "404 Not Found", "NoSuchBucket");
  if (has("list-type")) return list(call, client, bucket);
  const std::string id = has("uploadId") ? parameters.at("uploadId") : "";
  if (call.method == "POST" && has("uploads")) {
    const std::string made = "upload/" + std::to_string(++next_upload_) + "+=";
    uploads_[made].name = path;
    return client.answer_status("200 OK", {}, "<InitiateMultipartUploadResult><UploadId>" + made +
                                                  "</UploadId></InitiateMultipartUploadResult>");
  }
  if (!id.empty() && !uploads_.contains(id)) return answer_error(call, client, "404 Not Found", "NoSuchUpload");
  if (call.method == "POST") return end_upload(call, client, id);
  if (call.method == "PUT" && !id.empty()) {
    uploads_[id].parts[std::atoi(parameters.at("partNumber").c_str())] = call.body;
    lock.unlock();
    return client.answer_status("200 OK", {"ETag: " + etag_of(call.body)});
  }
  if (call.method == "PUT") {
    objects_[path] = {call.body, etag_of(call.body)};
    return client.answer_status("200 OK", {"ETag: " + objects_[path].second});
  }
  if (call.method == "DELETE") {
    uploads_.erase(id);
    return client.send("HTTP/1.1 204 No Content\r\n\r\n"), void();
  }
  const auto found = objects_.find(path);
  if (found == objects_.end()) return answer_error(call, client, "404 Not Found", "NoSuchKey");
  const auto [bytes, etag] = found->second;
  lock.unlock();
  const auto range = call.range(bytes.size());
  if (range && range->first >= range->second)
    return client.answer_status("416 Range Not Satisfiable", {"Content-Range: bytes */" + std::to_string(bytes.size())},
                                "<Error><Code>InvalidRange</Code></Error>");
  client.answer(call, bytes, etag);
}

void S3Server::list(const HttpCall& call, HttpConnection& client, const std::string& bucket) {
  auto parameters = parameters_of(call.path);
  const std::string prefix = bucket + "/" + parameters["prefix"], delimiter = parameters["delimiter"];
  std::size_t most = options_.page_entries;
  if (parameters.contains("max-keys"))
    most = std::min<std::size_t>(most, std::strtoull(parameters["max-keys"].c_str(), nullptr, 10));
  const std::string token = parameters["continuation-token"];
  auto object = objects_.lower_bound(token.empty() ? prefix : token.substr(6));
  std::string body = "<ListBucketResult><EncodingType>url</EncodingType>", next;
  for (std::size_t count = 0; object != objects_.end() && object->first.starts_with(prefix); ++count) {
    if (count == most) {
      next = "token:" + object->first;
      break;
    }
    const std::string& name = object->first;
    const std::size_t slash = delimiter.empty() ? std::string::npos : name.find(delimiter, prefix.size());
    if (slash != std::string::npos) {
      const std::string folder = name.substr(0, slash + 1);
      body += "<CommonPrefixes><Prefix>" + listing_encoded(folder.substr(bucket.size() + 1)) +
              "</Prefix></CommonPrefixes>";
      object = objects_.lower_bound(folder.substr(0, folder.size() - 1) + "0");
      continue;
    }
    const std::string etag = object->second.second;
    body += "<Contents><Key>" + listing_encoded(name.substr(bucket.size() + 1)) + "</Key><ETag>&quot;" +
            etag.substr(1, etag.size() - 2) + "&quot;</ETag><Size>" + std::to_string(object->second.first.size()) +
            "</Size></Contents>";
    ++object;
  }
  body += std::string("<IsTruncated>") + (next.empty() ? "false" : "true") + "</IsTruncated>";
  if (!next.empty()) {
    body += "<NextContinuationToken>";
    for (const char c : next) body += c == '&' ? "&amp;" : c == '<' ? "&lt;" : std::string(1, c);
    body += "</NextContinuationToken>";
  }
  client.answer_status("200 OK", {}, body + "</ListBucketResult>");
}

void S3Server::end_upload(const HttpCall& call, HttpConnection& client, const std::string& id) {
  const Upload& upload = uploads_[id];
  std::string bytes, sums, rest = call.body;
  int parts = 0;
  for (std::size_t at = 0; (at = rest.find("<Part>", at)) != std::string::npos; ++at, ++parts) {
    const std::string one = between(rest.substr(at), "<Part>", "</Part>");
    const auto part = upload.parts.find(std::atoi(between(one, "<PartNumber>", "<").c_str()));
    const std::string etag = between(one, "<ETag>&quot;", "&quot;");
    if (part == upload.parts.end() || "\"" + etag + "\"" != etag_of(part->second))
      return answer_error(call, client, "400 Bad Request", "InvalidPart");
    bytes += part->second;
    sums += md5(part->second);
  }
  if (parts == 0) return answer_error(call, client, "400 Bad Request", "MalformedXML");
  const std::string etag = "\"" + own_hex(md5(sums)) + "-" + std::to_string(parts) + "\"";
  objects_[upload.name] = {std::move(bytes), etag};
  uploads_.erase(id);
  if (loses_ends) return client.reset();
  client.answer_status("200 OK", {}, "<CompleteMultipartUploadResult><ETag>x</ETag></CompleteMultipartUploadResult>");
}

}  // namespace penstock
