#include <fmt/format.h>

#include "base/text/public_uri.h"
#include "penstock/result.h"

namespace penstock {

std::string Error::describe() const {
  std::string text = message;
  if (!where.uri.empty()) text += ": " + without_secrets(where.uri);
  if (where.offset >= 0) text += fmt::format(" @ {}", where.offset);
  if (where.length >= 0) text += fmt::format("+{}", where.length);
  if (where.sample >= 0) text += fmt::format(" (sample {})", where.sample);
  return text;
}

}  // namespace penstock
