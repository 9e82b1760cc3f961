// "Did you mean ...?": the candidate that is the fewest edits away, if it is near at all.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace penstock {

std::optional<std::string> nearest_name(std::string_view word, std::span<const std::string> candidates);

}  // namespace penstock
