// The name of an object that a URL leads to: the same for everybody who may read it, and without secrets.
//
// Caches, kept indexes and fingerprints compare names, so two URLs of one object that are signed differently
// must have one name, and two URLs whose queries select different contents ("?version=1") two names. A name holds
// no value of a query: the part of the query that selects becomes a digest, which stands where a URL has its
// userinfo ("https://~1f0c...@host/x.tar"). There it survives that names of other objects are appended, and
// without_secrets() removes it for people.
// Pure functions; thread-safe.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

// Paths, and names that were made by this function, are returned as they are.
std::string object_key(std::string_view url);

// The digest of that part of "?version=2&signature=..." that selects content; empty: no part does.
std::string selection_digest(std::string_view query);

// Is this userinfo the digest in a name, and no user?
bool is_selection_digest(std::string_view userinfo);

// Would this path lead out of the folder it is appended to, for anybody who decodes percent signs, once or
// several times, or reads backslashes as slashes? The path must have no query.
bool leaves_folder(std::string_view url_path);

}  // namespace penstock
