// Remembers where the objects of a server were redirected to, so that not every read of them asks again.
//
// Hubs answer each request for an object with a redirect to a signed URL that is valid for an hour, and allow few such
// requests. A redirect is remembered while the answer or the URL itself says that it is valid, and no longer.
// Belongs to the store's thread.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "store/http/http_url.h"

namespace penstock {

struct RedirectAnswer {
  int status = 0;
  std::string_view cache_control, date;  // the headers of these names
};

// How long a redirect to `target` may be followed again, counted from its answer: what the signed URL says, or
// Cache-Control, or five minutes for permanent redirects. Empty: it is valid once. `now_s` is the time here, for
// answers without a date.
std::optional<std::chrono::seconds> lifetime_of_redirect(const RedirectAnswer& answer, const HttpUrl& target,
                                                         std::int64_t now_s);

class RedirectMemory {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kMaxEntries = 10'000;

  struct Target {
    HttpUrl url;
    bool left_its_server = false;
    Clock::time_point expires;
    bool from_inner = false;  // the server that redirected is within the inner network
  };

  void remember(const HttpUrl& from, Target target);
  // nullptr: nothing is known, or no longer.
  const Target* find(const HttpUrl& from, Clock::time_point now);
  void forget(const HttpUrl& from);
  bool empty() const { return targets_.empty(); }

 private:
  std::unordered_map<std::string, Target> targets_;
};

}  // namespace penstock
