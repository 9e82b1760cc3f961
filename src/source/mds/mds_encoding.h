// The encodings of MDS columns: how the stored bytes of a value become what a field delivers.
//
// Values that are immutable after parsing; the functions are pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "penstock/source.h"
#include "source/opened_record.h"

namespace penstock {

struct MdsEncoding {
  enum class Form : std::uint8_t {
    kWhole,       // the stored bytes are the value: bytes, text, JSON, a JPEG
    kScalar,      // one number of `dtype`; integers are widened to 64 bits
    kWrittenInteger,  // digits
    kWrittenReal,
    kArray,       // an array, with its type and shape in the value where the encoding does not give them
    kPixels,      // size, mode and pixels of an image of Pillow
    kImageArray,  // several JPEGs: their number, their sizes, and the files
    kImageList,   // the same behind four bytes that are not used
    kPixelList,   // several images of Pillow in such a list
    kRefused,     // is never read as what it is: a pickle, or an encoding that Streaming does not have
  };
  Form form = Form::kRefused;
  FieldKind kind = FieldKind::kBytes;
  std::optional<DType> dtype;  // kScalar; kArray where all values have the same type
  std::optional<Shape> shape;  // kArray where all values have the same shape

  bool is_several_images() const { return form == Form::kImageArray || form == Form::kImageList || form == Form::kPixelList; }
};

// `text` is the encoding in the index: "int", "ndarray:float32:3,4". Fails with kCorrupt where it is malformed.
Result<MdsEncoding> parse_mds_encoding(std::string_view text);

// The value of a column that holds one value.
Result<RecordValue> read_mds_value(const MdsEncoding& encoding, ConstBytes stored, const Source::Allocate& allocate);

// The number of images in a value that holds several, and one of them. Every size in the value is checked.
Result<std::uint32_t> count_mds_images(const MdsEncoding& encoding, ConstBytes stored);
Result<RecordValue> read_mds_image(const MdsEncoding& encoding, ConstBytes stored, std::uint32_t number,
                                   const Source::Allocate& allocate);

}  // namespace penstock
