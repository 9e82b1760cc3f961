// The escapes of JSON strings.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

// Appends the unescaped form of the text between the quotes. Returns false, with `out` partly filled, for an
// unknown escape or an unpaired surrogate.
bool append_unescaped(std::string_view between_quotes, std::string& out);

}  // namespace penstock
