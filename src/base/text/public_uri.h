// The form of a URL that may be shown, logged and stored.
//
// The userinfo and the query of a URL may hold a password or a signature. They stay within the store that reads the
// URL, and in the keys of objects that it is asked for (object_key.h). Error::describe() shows the URL without them,
// and so must all other code that shows the uri of an error.
// Pure functions; thread-safe.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

// The URL without its userinfo, query and fragment. It accepts any text, also malformed URLs. A path is returned
// unchanged.
std::string without_secrets(std::string_view url);

// The offset of the query of a URL, or of its fragment; the length if it has neither. A path has neither.
std::size_t end_of_path(std::string_view url);

}  // namespace penstock
