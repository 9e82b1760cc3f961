// Keys and values of queries as AWS wants them in URLs: every byte but letters, digits and "-._~" is percent-encoded.
// Pure functions; thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace penstock {

std::string uri_encoded(std::string_view text, bool keeps_slashes);

// The text of a listing with encoding-type=url, in which '+' is a space. Empty: not properly encoded.
std::optional<std::string> listing_decoded(std::string_view text);

}  // namespace penstock
