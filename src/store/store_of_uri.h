// Chooses the store for a path or a URL that a user names.
//
// This is the only place that knows the kinds of stores. To add one (S3, say), implement Store, add a StoreKind to the
// table in store_of_uri.cpp, and add the store to tests/conformance/store_test.cpp. Sources ask the traits of the store
// what they can do with it, and find folders, patterns and kinds of data through it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "store/http/http_url.h"
#include "store/object_key.h"
#include "store/store.h"

namespace penstock {

// Makes a new store on each call. Its keys are object_key(uri) and names below that: the userinfo and the query of a
// URL stay within the store, which adds them to its requests to the same server, together with `headers`
// ("Name: value"; files have no use for them). Fails with kUnsupported if no store knows the scheme, and with
// kInvalidArgument if the URL or a header is malformed.
Result<std::shared_ptr<const Store>> make_store_for(const std::string& uri,
                                                    const std::vector<std::string>& headers = {});

// Whether one store may read both: two paths, or two URLs of the same kind of store.
bool have_same_kind_of_store(std::string_view uri, std::string_view other);

// A kind of store, and the URLs that it reads.
struct StoreKind {
  std::vector<std::string> schemes;  // in lower case
  std::function<Result<std::shared_ptr<const Store>>(const std::string& uri, const std::vector<std::string>& headers)>
      make;
};

// Adds a kind of store to the table, for the calling thread and the lifetime of the scope. Tests open sources from
// stores of their own by it. Sources make their stores on the thread that opens them.
class StoreKindScope {
 public:
  explicit StoreKindScope(StoreKind kind);
  StoreKindScope(const StoreKindScope&) = delete;
  ~StoreKindScope();

 private:
  friend const StoreKind* store_kind_of(std::string_view scheme);

  const StoreKind kind_;
  const StoreKindScope* const outer_;
};

// Puts another store before each store that make_store_for() makes, for the calling thread and the lifetime of the
// scope. Sources that are opened within it read through that store, whatever their kind.
class StoreWrapScope {
 public:
  using Wrap = std::function<Result<std::shared_ptr<const Store>>(std::shared_ptr<const Store> store,
                                                                  const std::string& uri)>;
  explicit StoreWrapScope(Wrap wrap);
  StoreWrapScope(const StoreWrapScope&) = delete;
  ~StoreWrapScope();

 private:
  friend Result<std::shared_ptr<const Store>> make_store_for(const std::string&, const std::vector<std::string>&);

  const Wrap wrap_;
  const StoreWrapScope* const outer_;
};

}  // namespace penstock
