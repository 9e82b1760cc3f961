// The codecs of a chunk: from its stored bytes to its elements.
//
// A chain lists codecs in the order in which a writer applied them; decoding goes backwards. The
// last step writes where the caller wants the elements, so that a compressed chunk needs no second
// copy. Byte order and the order of axes are not undone here: they are seen through (swap_bytes,
// axes), by whoever copies the elements anyway.
//
// What comes out is exactly as long as the chunk, or it is an error; nothing is allocated because
// the stored bytes say so. Immutable; thread-safe.
//
// Zarr v2 has no codec for byte order and axes. There, a BytesCodec comes before the filters, which
// then take and give bytes as their own types say; and order "F" is a TransposeCodec in front. In
// Zarr v3, where it comes behind them, it says how the last filter's elements are stored.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/memory/scratch.h"
#include "penstock/array.h"
#include "penstock/result.h"

namespace penstock {

// Bytes to bytes.
struct GzipCodec {};    // RFC 1952, any number of members
struct ZlibCodec {};    // RFC 1950
struct ZstdCodec {};    // one or more frames
struct Lz4Codec {};     // numcodecs: a little-endian uint32 of the decoded size, then one block
struct BloscCodec {};   // a Blosc 1 frame
struct Crc32cCodec {};  // the checksum stands in the last four bytes, little-endian
struct ShuffleCodec {   // numcodecs: the bytes of elements regrouped by significance
  std::uint32_t element_bytes = 4;
};
// Elements to elements; a type may be little- or big-endian.
struct StoredType {
  DType dtype = DType::kUInt8;
  bool big_endian = false;
};
struct DeltaCodec {  // the first element, then differences
  StoredType decoded, encoded;
};
struct FixedScaleOffsetCodec {  // round((x - offset) * scale)
  double offset = 0, scale = 1;
  StoredType decoded, encoded;
};
struct QuantizeCodec {  // digits were dropped; only the type may have to be changed back
  StoredType decoded, encoded;
};
// Array to array and array to bytes (Zarr v3).
struct TransposeCodec {
  std::vector<int> order;  // encoded axis i is decoded axis order[i]
};
struct BytesCodec {
  bool big_endian = false;
};

using Codec = std::variant<GzipCodec, ZlibCodec, ZstdCodec, Lz4Codec, BloscCodec, Crc32cCodec, ShuffleCodec,
                           DeltaCodec, FixedScaleOffsetCodec, QuantizeCodec, TransposeCodec, BytesCodec>;

// A worker's decompressors and the memory between two steps. Belongs to one thread; the scratch is
// the sample's, and holds until the sample is done.
class CodecWorker {
 public:
  // `first_buffer` and the one after it are the chain's own.
  CodecWorker(Scratch& scratch, int first_buffer);
  ~CodecWorker();
  CodecWorker(const CodecWorker&) = delete;

  // Together with the scratch's: what was charged for the libraries' own memory is given back there.
  void end_sample() { charged_ = 0; }

 private:
  friend class CodecChain;
  friend class TiffDecoder;
  struct Tools;
  // For memory that a library frees before it returns: the most of one sample counts, not the sum.
  Status charge_at_least(std::uint64_t bytes);

  Scratch& scratch_;
  const int first_buffer_;
  std::unique_ptr<Tools> tools_;
  std::uint64_t charged_ = 0;
};

class CodecChain {
 public:
  // For chunks of this type and shape. Fails where the codecs make no sense together.
  static Result<CodecChain> make(std::vector<Codec> codecs, const ArraySpec& chunk);

  // How the elements stand in what decode() gives.
  bool swap_bytes() const { return swap_bytes_; }
  // The axes of the chunk from slowest to fastest: 0, 1, 2 is C order, 2, 1, 0 Fortran's.
  const std::vector<int>& axes() const { return axes_; }
  std::size_t decoded_bytes() const { return decoded_bytes_; }
  // An encoded chunk that is longer is not one of ours.
  std::uint64_t max_encoded_bytes() const { return max_encoded_bytes_; }
  // Scratch that decode() takes for what lies between two steps.
  std::uint64_t bytes_between() const;
  // Nothing but the elements as they are is stored.
  bool is_plain() const { return steps_.empty(); }

  // `out` has decoded_bytes(). Offsets in errors count from the beginning of `encoded`.
  Status decode(ConstBytes encoded, MutableBytes out, CodecWorker& worker) const;

  // Some of the elements, where that takes less than all of them (Blosc, plain); as they stand in
  // what decode() gives. An error for other chains.
  bool decodes_parts() const { return decodes_parts_; }
  Status decode_part(ConstBytes encoded, std::size_t first_byte, MutableBytes out, CodecWorker& worker) const;

 private:
  class Builder;
  struct Step {
    Codec codec;
    std::uint64_t decoded_bytes = 0;  // that many come out; at most, where not exact
    bool exact = true;                // false behind a compressor: nobody knows how well it did
  };
  CodecChain() = default;

  Result<ConstBytes> undo(const Step& step, ConstBytes encoded, MutableBytes out, CodecWorker& worker) const;
  Result<ConstBytes> undo_all(ConstBytes encoded, MutableBytes out, CodecWorker& worker) const;

  std::vector<Step> steps_;   // in the order of encoding; those that are only seen through are left out
  std::size_t in_place_ = 0;  // so many at the front are filters that work where the elements lie
  std::vector<int> axes_;
  std::size_t decoded_bytes_ = 0;
  std::uint64_t max_encoded_bytes_ = 0;
  bool swap_bytes_ = false;
  bool decodes_parts_ = false;
};

}  // namespace penstock
