// Bytes at ever larger offsets: what scanning a shard needs of a file or of a compressed stream.
//
// Over a plain object skipping costs nothing; over a compressed one it decompresses and drops.
// Belongs to one thread.
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

// By the name's ending: .gz, .tgz, .zst, .tzst, .gzip.
Compression compression_of_name(std::string_view name);

// What a reader of such an object takes at most, while no more than a MiB is asked of it at a time: pieces of
// input and output, and the decompressor's own tables.
std::uint64_t memory_of_reader(Compression compression);

class ForwardReader {
 public:
  virtual ~ForwardReader() = default;

  // The `size` bytes at `offset` of the uncompressed stream, fewer only where it ends before.
  // `offset` is not before that of the last call. Borrowed until the next call. Errors name the
  // object and, for compressed ones, the offset in the compressed bytes.
  virtual Result<ConstBytes> at(std::uint64_t offset, std::size_t size) = 0;

  // Where the stream ends: known (and, of a compressed one, verified) once at() gave fewer bytes
  // than it was asked for.
  virtual std::uint64_t end() const = 0;

  // Of a compressed stream, whose own checksum stands at its end: CRC32C of every kChecksummed bytes
  // as they are uncompressed (the last: of what is left), all of them once the end was reached.
  virtual std::vector<std::uint32_t> checksums() const { return {}; }
  // They were these when it was indexed: at() gives no byte that has not been compared.
  virtual void expect(std::span<const std::uint32_t>) {}
};

constexpr std::size_t kChecksummed = 1 << 20;

// `object` is borrowed and outlives the reader; `uri` is for errors.
std::unique_ptr<ForwardReader> make_object_reader(Object& object);
std::unique_ptr<ForwardReader> make_gzip_reader(Object& object, std::string uri);
std::unique_ptr<ForwardReader> make_zstd_reader(Object& object, std::string uri);
std::unique_ptr<ForwardReader> make_forward_reader(Object& object, std::string uri, Compression compression);

}  // namespace penstock
