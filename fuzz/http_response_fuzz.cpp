// The input is what was asked for (12 bytes), then the lines of a response's head.
//
// What is accepted must be what was asked for, and a redirect must lead where it may: the same
// place for us and for curl.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#ifdef PENSTOCK_WITH_CURL
#include <curl/curl.h>
#endif

#include "base/byte_reader.h"
#include "store/http/http_response.h"
#include "store/http/http_url.h"
#include "store/object_key.h"

namespace {

using namespace penstock;

void promise(bool kept, const char* what) {
  if (kept) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

#ifdef PENSTOCK_WITH_CURL
std::string part_by_curl(CURLU* url, CURLUPart part) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, CURLU_DEFAULT_PORT) != CURLUE_OK) return {};
  const std::string out = text;
  curl_free(text);
  return out;
}
#endif

void check_url(const HttpUrl& url) {
  const std::string text = url.text();
  for (const char c : text) promise(c > ' ' && c < 0x7F, "a URL is printable");
  const auto again = parse_http_url(text);
  promise(again.has_value() && *again == url, "a URL is read as it was written");
  promise(url.shown() == without_secrets(text), "a message shows the same as a key");
  promise(url.shown().find('?') == std::string::npos, "the query is hidden");
  const std::string key = object_key(text);
  promise(object_key(key) == key, "the key of a key is the key");
  promise(without_secrets(key) == url.shown(), "a key has nothing but a digest that a message has not");
  const auto of_key = parse_http_url(key);
  promise(of_key.has_value() && of_key->same_server(url), "a key is a URL of the same server");
  promise(leaves_folder("a/" + url.target) == leaves_folder("a//" + url.target), "empty parts of a path lead nowhere");
#ifdef PENSTOCK_WITH_CURL
  CURLU* by_curl = curl_url();
  if (curl_url_set(by_curl, CURLUPART_URL, text.c_str(), CURLU_PATH_AS_IS) == CURLUE_OK) {
    promise(part_by_curl(by_curl, CURLUPART_SCHEME) == url.scheme, "curl reads the same scheme");
    promise(network_of_host(part_by_curl(by_curl, CURLUPART_HOST)) == network_of_host(url.host),
            "curl reads the same network");
    if (!url.host.starts_with('['))
      promise(part_by_curl(by_curl, CURLUPART_HOST) == url.host, "curl reads the same host");
    promise(part_by_curl(by_curl, CURLUPART_PORT) == std::to_string(url.port), "curl reads the same port");
  }
  curl_url_cleanup(by_curl);
#endif
}

void check_redirects(const std::string& location) {
  for (const char* start :
       {"http://a.example/x/y?q", "https://u:p@b.example:81/", "http://u:p@127.0.0.1/x"}) {
    const HttpUrl from = *parse_http_url(start);
    for (const bool from_inner : {false, true}) {
      const auto to = redirect_target(from, location, {true, from_inner});
      if (!to) continue;
      check_url(*to);
      const Network network = network_of_host(to->host);
      promise(network != Network::kCredentials, "never where credentials are");
      promise(network == Network::kPublic || from_inner || to->host == from.host,
              "never inside from outside");
      promise(to->userinfo.empty() || to->same_server(from), "passwords stay where they belong");
      promise(from.scheme == "http" || to->scheme == "https", "encryption stays");
    }
    const auto near = redirect_target(from, location, {false, false});
    promise(!near || near->host == from.host, "other hosts only where allowed");
  }
}

void check_verdict(const Asked& asked, const Verdict& verdict) {
  if (verdict.next != Verdict::Next::kAccept) {
    const bool is_error = verdict.next == Verdict::Next::kFail || verdict.next == Verdict::Next::kRetry ||
                          verdict.next == Verdict::Next::kRetryBriefly;
    promise(is_error == !verdict.message.empty(), "errors say what is wrong");
    return;
  }
  if (asked.method != Asked::Method::kGet) return promise(!verdict.has_body, "no body was asked for");
  promise(verdict.has_body, "a body was asked for");
  if (asked.version && verdict.length) promise(verdict.version == *asked.version, "the version asked for");
  if (!verdict.length)
    return promise(asked.range.is_whole() || (asked.is_piece && asked.range.offset == 0),
                   "only all has no length");
  promise(*verdict.length <= asked.max_bytes, "no more than expected");
  promise(verdict.offset + *verdict.length <= verdict.version.size, "within the object");
  if (asked.range.from_end)
    promise(verdict.offset + *verdict.length == verdict.version.size && *verdict.length <= asked.range.length,
            "the end");
  else if (!asked.is_piece && asked.range.length != ByteRange::kToTheEnd)
    promise(verdict.offset == asked.range.offset && *verdict.length == asked.range.length,
            "what was asked for");
  else if (asked.is_piece && asked.range.offset > 0)
    promise(verdict.offset == asked.range.offset && *verdict.length <= asked.range.length, "a piece");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ByteReader reader(as_bytes(data, size));
  const auto flags = reader.read<std::uint8_t>();
  const auto method = reader.read<std::uint8_t>();
  const std::uint64_t offset = reader.read<std::uint16_t>(), length = reader.read<std::uint16_t>();
  const std::uint64_t most = reader.read<std::uint32_t>(), total = reader.read<std::uint16_t>();
  if (!reader.ok()) return -1;
  Asked asked;
  asked.method = static_cast<Asked::Method>(method % 4);
  asked.range = {flags & 1 ? 0 : offset, flags & 2 ? ByteRange::kToTheEnd : length + 1, false};
  if (flags & 4) asked.range = {0, length + 1, true};
  asked.is_piece = (flags & 8) != 0;
  if (asked.is_piece) asked.range = {(flags & 64) != 0 ? offset : 0, length + 1, false};
  if (flags & 16) asked.version = ObjectVersion{total, 0};
  asked.max_bytes = flags & 32 ? UINT64_MAX : most;

  ResponseHead head;
  std::string_view text = reader.take_text(reader.left());
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    head.add_line(line);
    if (const auto url = parse_http_url(line)) check_url(*url);
  }
  head.add_line("\r\n");
  check_verdict(asked, judge_response(asked, head));
  promise(head.modified_ns() >= 0, "versions are numbers of 63 bits");
  const auto max_wait = std::chrono::milliseconds(30'000);
  const auto wait = parse_retry_after(head.retry_after, 784111777, max_wait);
  promise(!wait || (wait->count() >= 0 && *wait <= max_wait), "nobody makes us wait for long");
  check_redirects(head.location);
  return 0;
}
