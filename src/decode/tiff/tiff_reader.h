// Reads numbers of a TIFF file by their offset, in the byte order of the file. Every offset is checked.
//
// Directories and their tables are small and close together, so a window of the file is read at a time. Over
// a network, most directories then cost one request.
#pragma once

#include <string>
#include <vector>

#include "store/store.h"

namespace penstock {

// An entry of a directory: `count` values of a type, beginning at offset `value_at` of the file.
struct TiffEntry {
  std::uint16_t tag = 0, type = 0;
  std::uint64_t count = 0;
  std::uint64_t value_at = 0;
  std::uint64_t table_bytes = 0;  // size of values that do not fit into the entry and are stored elsewhere
};

class TiffReader {
 public:
  // Borrows both arguments.
  TiffReader(Object& object, const std::string& uri)
      : object_(object),
        uri_(uri),
        size_(object.version().size) {}

  // Returns the offset of the first directory.
  Result<std::uint64_t> read_header();
  bool big_endian() const { return big_endian_; }
  std::uint64_t file_bytes() const { return size_; }

  struct Directory {
    std::uint64_t entries = 0, first_entry = 0;
    std::uint64_t next = 0;   // offset of the next directory; 0: this is the last
    std::uint64_t bytes = 0;  // its size in the file
  };
  Result<Directory> directory(std::uint64_t at);
  Result<TiffEntry> entry(const Directory& directory, std::uint64_t number);

  // Returns value `index` of an entry of integers.
  Result<std::uint64_t> value(const TiffEntry& entry, std::uint64_t index);
  // Returns at most `max_bytes` of a text.
  Result<std::string> text(const TiffEntry& entry, std::uint64_t max_bytes);

  // Makes an error with this offset of the file.
  std::unexpected<Error> error(ErrorCode code, std::string message, std::uint64_t offset,
                               std::uint64_t length = 0) const;

 private:
  // If the bytes are not in the window, up to `ahead` bytes are read with them.
  Result<ConstBytes> bytes(std::uint64_t offset, std::uint64_t length, std::uint64_t ahead = 0);
  // Reads a number of 1, 2, 4 or 8 bytes.
  Result<std::uint64_t> number(std::uint64_t offset, std::uint64_t length, std::uint64_t ahead = 0);

  Object& object_;
  const std::string& uri_;
  std::uint64_t size_;
  bool big_endian_ = false;
  bool wide_ = false;  // BigTIFF: 64-bit offsets
  std::vector<std::byte> window_;
  std::uint64_t window_at_ = 0;
};

}  // namespace penstock
