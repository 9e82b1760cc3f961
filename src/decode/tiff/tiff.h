// Decodes the strips and tiles of TIFF files.
//
// Deflate and Zstandard are decoded by the codecs of chunked arrays, which verify checksums; LZW and PackBits
// by libtiff. libtiff never sees the file: it gets the bytes as the only strip of a small image whose
// directory we wrote ourselves, so that only its decompressors process untrusted data.
#pragma once

#include <map>

#include "decode/codec/codec_chain.h"
#include "decode/tiff/tiff_directory.h"

namespace penstock {

// Immutable; thread-safe.
class TiffDecoder {
 public:
  // Fails if this build cannot decompress such data.
  static Result<TiffDecoder> make(const TiffLayout& layout);

  // Whether the elements that decode() writes have the other byte order than this machine.
  bool swap_bytes() const;

  // Decodes the stored bytes of a strip or tile of `rows` rows (layout.rows_of()). `out` must have
  // layout.row_bytes() * rows bytes. Fails if the decoded size differs, except that LZW data may be longer,
  // because some writers stop late.
  Status decode(std::uint32_t rows, ConstBytes encoded, MutableBytes out, CodecWorker& worker) const;

 private:
  explicit TiffDecoder(const TiffLayout& layout) : layout_(layout) {}

  Status decompress(std::uint32_t rows, ConstBytes encoded, MutableBytes out, CodecWorker& worker) const;

  TiffLayout layout_;
  std::map<std::uint32_t, CodecChain> chains_;  // by the number of rows: the last strip may have fewer
};

}  // namespace penstock
