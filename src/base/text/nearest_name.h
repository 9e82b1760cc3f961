// "Did you mean ...?": finds the candidate that is the fewest edits away.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace penstock {

// Empty if no candidate is similar. Pure; thread-safe.
std::optional<std::string> nearest_name(std::string_view word, std::span<const std::string> candidates);

}  // namespace penstock
