// Numbers of a TIFF file by their place, in the file's byte order, with every place checked.
//
// Directories and their tables are small and stand close together, so a window of the file is read at
// a time: over a network that is one request for most directories.
#pragma once

#include <string>
#include <vector>

#include "store/store.h"

namespace penstock {

// An entry of a directory: `count` values of a type, from `value_at` in the file.
struct TiffEntry {
  std::uint16_t tag = 0, type = 0;
  std::uint64_t count = 0;
  std::uint64_t value_at = 0;
  std::uint64_t table_bytes = 0;  // of values that do not fit the entry and stand elsewhere
};

class TiffReader {
 public:
  // Borrows both.
  TiffReader(Object& object, const std::string& uri)
      : object_(object),
        uri_(uri),
        size_(object.version().size) {}

  // Gives the place of the first directory.
  Result<std::uint64_t> read_header();
  bool big_endian() const { return big_endian_; }
  std::uint64_t file_bytes() const { return size_; }

  struct Directory {
    std::uint64_t entries = 0, first_entry = 0;
    std::uint64_t next = 0;   // 0: the last one
    std::uint64_t bytes = 0;  // it takes in the file
  };
  Result<Directory> directory(std::uint64_t at);
  Result<TiffEntry> entry(const Directory& directory, std::uint64_t number);

  // Value `index` of an entry of whole numbers.
  Result<std::uint64_t> value(const TiffEntry& entry, std::uint64_t index);
  // The first bytes of a text.
  Result<std::string> text(const TiffEntry& entry, std::uint64_t max_bytes);

  // An error of this place of the file.
  std::unexpected<Error> error(ErrorCode code, std::string message, std::uint64_t offset,
                               std::uint64_t length = 0) const;

 private:
  // Where that means to read, up to `ahead` bytes come along.
  Result<ConstBytes> bytes(std::uint64_t offset, std::uint64_t length, std::uint64_t ahead = 0);
  // Of 1, 2, 4 or 8 bytes.
  Result<std::uint64_t> number(std::uint64_t offset, std::uint64_t length, std::uint64_t ahead = 0);

  Object& object_;
  const std::string& uri_;
  std::uint64_t size_;
  bool big_endian_ = false;
  bool wide_ = false;  // BigTIFF: 64-bit places
  std::vector<std::byte> window_;
  std::uint64_t window_at_ = 0;
};

}  // namespace penstock
