// The escapes of JSON strings.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

// Appends what the text between the quotes stands for; false, and `out` part-filled, where an escape is
// none of JSON's or half of a surrogate pair stands alone.
bool append_unescaped(std::string_view between_quotes, std::string& out);

}  // namespace penstock
