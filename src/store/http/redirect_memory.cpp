#include "store/http/redirect_memory.h"

#include <algorithm>

#include "base/text/lower_case.h"
#include "store/http/http_response.h"

namespace penstock {
namespace {

constexpr std::chrono::seconds kMargin{30};          // a request that begins in time may arrive late
constexpr std::chrono::seconds kPermanent{300}, kLongest{86'400};

std::string query_value(std::string_view target, std::string_view wanted) {
  const std::size_t begin = target.find('?');
  if (begin == std::string_view::npos) return {};
  for (std::string_view query = target.substr(begin + 1); !query.empty();) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view parameter = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    const std::size_t equals = std::min(parameter.find('='), parameter.size());
    if (lower_case(parameter.substr(0, equals)) == wanted)
      return std::string(parameter.substr(std::min(equals + 1, parameter.size())));
  }
  return {};
}

// The time at which a signed URL expires.
std::optional<std::int64_t> expiry_of(const HttpUrl& url) {
  for (const char* service : {"x-amz-", "x-goog-"}) {
    const auto begin = parse_iso_time(query_value(url.target, std::string(service) + "date"));
    const auto lasts = parse_length(query_value(url.target, std::string(service) + "expires"));
    if (begin && lasts && *lasts < 10'000'000) return *begin + static_cast<std::int64_t>(*lasts);
  }
  if (const auto end = parse_length(query_value(url.target, "expires"))) return static_cast<std::int64_t>(*end);
  return parse_iso_time(query_value(url.target, "se"));
}

}  // namespace

std::optional<std::chrono::seconds> lifetime_of_redirect(const RedirectAnswer& answer, const HttpUrl& target,
                                                         std::int64_t now_s) {
  const std::string control = lower_case(answer.cache_control);
  if (control.find("no-store") != std::string::npos) return std::nullopt;
  std::optional<std::chrono::seconds> lifetime;
  if (const auto end = expiry_of(target)) {
    lifetime = std::chrono::seconds(*end - parse_http_date(answer.date).value_or(now_s));
  } else if (const std::size_t age = control.find("max-age="); age != std::string::npos) {
    const std::string_view digits = std::string_view(control).substr(age + 8);
    if (const auto seconds = parse_length(digits.substr(0, digits.find_first_not_of("0123456789"))))
      lifetime = std::min(kLongest, std::chrono::seconds(std::min<std::uint64_t>(*seconds, 10'000'000)));
  } else if (control.empty() && (answer.status == 301 || answer.status == 308)) {
    lifetime = kPermanent;
  }
  if (!lifetime || *lifetime <= kMargin) return std::nullopt;
  return std::min(*lifetime, kLongest) - kMargin;
}

void RedirectMemory::remember(const HttpUrl& from, Target target) {
  if (targets_.size() >= kMaxEntries) {
    const Clock::time_point now = Clock::now();
    std::erase_if(targets_, [&](const auto& entry) { return entry.second.expires <= now; });
    if (targets_.size() >= kMaxEntries) targets_.erase(targets_.begin());
  }
  targets_.insert_or_assign(from.text(), std::move(target));
}

const RedirectMemory::Target* RedirectMemory::find(const HttpUrl& from, Clock::time_point now) {
  if (targets_.empty()) return nullptr;
  const auto found = targets_.find(from.text());
  if (found == targets_.end()) return nullptr;
  if (found->second.expires > now) return &found->second;
  targets_.erase(found);
  return nullptr;
}

void RedirectMemory::forget(const HttpUrl& from) { targets_.erase(from.text()); }

}  // namespace penstock
