// Reads a file or a compressed stream at increasing offsets, which is how shards are scanned.
//
// Skipping is free in a plain object; in a compressed one it decompresses and discards. Used by one thread.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "penstock/result.h"
#include "store/store.h"

namespace penstock {

enum class Compression : std::uint8_t { kNone, kGzip, kZstd };

// Derives the compression from the ending of the name: .gz, .tgz, .gzip, .zst, .tzst, .zstd.
Compression compression_of_name(std::string_view name);

// An upper bound of the memory that a reader of such an object uses for input, output and the tables of the
// decompressor, as long as at most 1 MiB is requested at a time.
std::uint64_t memory_of_reader(Compression compression);

class ForwardReader {
 public:
  virtual ~ForwardReader() = default;

  // Returns `size` bytes at `offset` of the uncompressed stream, or fewer if the stream ends before. `offset`
  // must not be less than in the last call. The bytes are borrowed until the next call. Errors name the object
  // and, for compressed objects, the offset in the compressed bytes.
  virtual Result<ConstBytes> at(std::uint64_t offset, std::size_t size) = 0;

  // The end of the stream. It is known, and for a compressed stream verified, once at() has returned fewer bytes
  // than requested.
  virtual std::uint64_t end() const = 0;

  // The CRC32C of every kChecksummed uncompressed bytes of a compressed stream, and of the remainder; complete
  // once the end was reached. They are needed because a compressed stream has its own checksum only at its end.
  virtual std::vector<std::uint32_t> checksums() const { return {}; }
  // Sets the checksums from the time of indexing. at() then returns no byte that was not compared with them.
  virtual void expect(std::span<const std::uint32_t>) {}
};

constexpr std::size_t kChecksummed = 1 << 20;

// `object` is borrowed and must outlive the reader. `uri` is for error messages.
std::unique_ptr<ForwardReader> make_object_reader(Object& object);
std::unique_ptr<ForwardReader> make_gzip_reader(Object& object, std::string uri);
std::unique_ptr<ForwardReader> make_zstd_reader(Object& object, std::string uri);
std::unique_ptr<ForwardReader> make_forward_reader(Object& object, std::string uri, Compression compression);

}  // namespace penstock
