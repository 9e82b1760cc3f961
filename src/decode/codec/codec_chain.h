// The codecs of a chunk turn its stored bytes into elements.
//
// A chain lists codecs in the order in which the writer applied them; decoding applies them backwards. The
// last step writes to the caller's memory, so that a compressed chunk needs no second copy. Decoding undoes
// neither the byte order nor the order of axes: swap_bytes() and axes() report them to the code that copies
// the elements anyway.
//
// The decoded size must be exactly that of the chunk; anything else is an error. No size in the stored bytes
// causes an allocation. Immutable; thread-safe.
//
// Zarr v2 has no codec for byte order and axes. For it, a BytesCodec comes before the filters, whose own
// types then say how they read and write bytes, and order "F" is a TransposeCodec at the front. In Zarr v3,
// the BytesCodec comes after the filters and says how the elements of the last filter are stored.
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
struct Crc32cCodec {};  // the last four bytes are the checksum, little-endian
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
struct QuantizeCodec {  // digits were dropped by the writer; only the type is changed back
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

// The decompressors of a worker, and the memory for intermediate results. Belongs to one thread. It borrows
// the scratch, whose memory is valid until the sample is finished.
class CodecWorker {
 public:
  // The chain uses the scratch buffers `first_buffer` and `first_buffer` + 1.
  CodecWorker(Scratch& scratch, int first_buffer);
  ~CodecWorker();
  CodecWorker(const CodecWorker&) = delete;

  // Call it when the scratch ends the sample, which also ends the charge for the memory of the libraries.
  void end_sample() { charged_ = 0; }

 private:
  friend class CodecChain;
  friend class TiffDecoder;
  struct Tools;
  // Charges memory that a library frees before it returns: the largest call of a sample counts, not the sum.
  Status charge_at_least(std::uint64_t bytes);

  Scratch& scratch_;
  const int first_buffer_;
  std::unique_ptr<Tools> tools_;
  std::uint64_t charged_ = 0;
};

class CodecChain {
 public:
  // Makes a chain for chunks of this type and shape. Fails if the codecs do not fit together.
  static Result<CodecChain> make(std::vector<Codec> codecs, const ArraySpec& chunk);

  // Whether the elements that decode() writes have the other byte order than this machine.
  bool swap_bytes() const { return swap_bytes_; }
  // The axes of the chunk from slowest to fastest: 0, 1, 2 is C order, 2, 1, 0 Fortran's.
  const std::vector<int>& axes() const { return axes_; }
  std::size_t decoded_bytes() const { return decoded_bytes_; }
  // A longer encoded chunk cannot be valid.
  std::uint64_t max_encoded_bytes() const { return max_encoded_bytes_; }
  // Scratch memory that decode() uses for intermediate results.
  std::uint64_t bytes_between() const;
  // Whether the stored bytes are the elements, without any codec.
  bool is_plain() const { return steps_.empty(); }

  // `out` must have decoded_bytes() bytes. Offsets in errors count from the beginning of `encoded`.
  Status decode(ConstBytes encoded, MutableBytes out, CodecWorker& worker) const;

  // Decodes some of the elements, if that is cheaper than decoding all (Blosc, plain), in the order in which
  // decode() writes them. Fails for other chains.
  bool decodes_parts() const { return decodes_parts_; }
  Status decode_part(ConstBytes encoded, std::size_t first_byte, MutableBytes out, CodecWorker& worker) const;

 private:
  class Builder;
  struct Step {
    Codec codec;
    std::uint64_t decoded_bytes = 0;  // size of the decoded bytes; an upper bound if not exact
    bool exact = true;                // false after a compressor, whose output size is unknown
  };
  CodecChain() = default;

  Result<ConstBytes> undo(const Step& step, ConstBytes encoded, MutableBytes out, CodecWorker& worker) const;
  Result<ConstBytes> undo_all(ConstBytes encoded, MutableBytes out, CodecWorker& worker) const;

  std::vector<Step> steps_;   // in the order of encoding, without byte order and transpose
  std::size_t in_place_ = 0;  // number of leading steps that are filters which work in place
  std::vector<int> axes_;
  std::size_t decoded_bytes_ = 0;
  std::uint64_t max_encoded_bytes_ = 0;
  bool swap_bytes_ = false;
  bool decodes_parts_ = false;
};

}  // namespace penstock
