// The form of a URL that may be shown, logged and kept.
//
// The userinfo and the query of a URL may hold a password or a signature. They stay within the store that reads
// the URL, and in the keys of objects that are asked of it (object_key.h). Error::describe(), and whoever hands the
// uri of an error to people in another way, shows the URL without them.
// Pure functions; thread-safe.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

// The URL without its userinfo, query and fragment. Works on any text, also where it cannot be parsed as a URL; a
// path is returned as it is.
std::string without_secrets(std::string_view url);

// Where the query of a URL begins, or where its fragment does; the length where it has neither. A path has neither.
std::size_t end_of_path(std::string_view url);

}  // namespace penstock
