// Names for the objects that URLs lead to, which are free of secrets and the same for everybody who may read them.
//
// Caches, saved indexes and fingerprints compare these names. Two URLs of one object that are signed differently must
// have one name, and two URLs whose queries select different contents ("?version=1") must have two. A name holds
// no value of a query: the part of the query that selects contents becomes a digest, in the position of the userinfo
// ("https://~1f0c...@host/x.tar"). There it survives when names of other objects are appended, and
// without_secrets() removes it before a person sees it.
// Pure functions; thread-safe.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

// The name of the object. Paths, and names that this function made, are returned unchanged.
std::string object_key(std::string_view url);

// The digest of the part of "?version=2&signature=..." that selects content; empty if no part does.
std::string selection_digest(std::string_view query);

// Whether this userinfo is the digest of a name, not a user.
bool is_selection_digest(std::string_view userinfo);

// Whether this path leads out of the folder that it is appended to, for a server that decodes percent signs, once or
// several times, or that reads backslashes as slashes. The path must have no query.
bool leaves_folder(std::string_view url_path);

}  // namespace penstock
