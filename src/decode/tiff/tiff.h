// Decodes the strips and tiles of TIFF files.
//
// Deflate and Zstandard are undone by the codecs that chunks of other formats use, which verify
// checksums; LZW and PackBits by libtiff. libtiff never sees the file: the bytes are given to it as the
// only strip of a small image whose directory we wrote ourselves, so that of all its code only the
// decompressors meet data that may lie.
#pragma once

#include <map>

#include "decode/codec/codec_chain.h"
#include "decode/tiff/tiff_directory.h"

namespace penstock {

// Immutable; thread-safe.
class TiffDecoder {
 public:
  // Fails where this build cannot decompress such data.
  static Result<TiffDecoder> make(const TiffLayout& layout);

  // The elements that decode() gives are not in the byte order of this machine.
  bool swap_bytes() const;

  // From the stored bytes of a strip or tile of `rows` rows (layout.rows_of()) to its elements. `out` has
  // layout.row_bytes() * rows bytes; whatever decodes to fewer or more is an error, but for LZW,
  // whose writers may stop late.
  Status decode(std::uint32_t rows, ConstBytes encoded, MutableBytes out, CodecWorker& worker) const;

 private:
  explicit TiffDecoder(const TiffLayout& layout) : layout_(layout) {}

  Status decompress(std::uint32_t rows, ConstBytes encoded, MutableBytes out, CodecWorker& worker) const;

  TiffLayout layout_;
  std::map<std::uint32_t, CodecChain> chains_;  // by the number of rows: the last strip may have fewer
};

}  // namespace penstock
