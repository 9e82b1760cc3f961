// The object that a cell of a table names: a path below the table's root, or a URL below it.
//
// A table is not trusted, so no cell may lead out of the root, however it is written. A cell may be a URL with a
// signature of its own; the key of its object then holds that signature, and everything that is shown or compared
// uses the name instead.
// Pure functions; thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "penstock/result.h"

namespace penstock {

class RowObjects {
 public:
  // `root` is a folder, or the object_key() of one.
  explicit RowObjects(std::string root);

  // The key by which the store reads the object. Fails with kNoAccess, without a location, if the cell leads out
  // of the root.
  Result<std::string> key(std::string_view cell) const;
  // The cell without the secrets of a URL.
  std::string_view path(std::string_view cell) const;
  std::string shown(std::string_view cell) const;
  // Identifies the object, independently of the signature.
  std::string name(std::string_view cell) const;

 private:
  std::size_t end_of_path(std::string_view cell) const;

  std::string root_;
  // Cells below a URL are URLs or parts of URLs: they may have a query, and percent signs hide characters. Cells below a
  // folder are paths, in which all characters mean themselves.
  bool is_url_, has_queries_ = true;
};

}  // namespace penstock
