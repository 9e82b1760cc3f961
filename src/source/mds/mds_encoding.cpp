#include "source/mds/mds_encoding.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <limits>

#include "base/byte_reader.h"
#include "base/checked_math.h"
#include "base/limits.h"
#include "decode/text.h"
#include "source/mds/pillow_image.h"

namespace penstock {
namespace {

using Form = MdsEncoding::Form;

struct NamedEncoding {
  std::string_view name;
  Form form;
  FieldKind kind;
  std::optional<DType> dtype = {};
};

// Integers are labels more often than anything else. Those of 64 bits without a sign do not fit a label.
const std::array kEncodings = {
    NamedEncoding{"bytes", Form::kWhole, FieldKind::kBytes},
    NamedEncoding{"str", Form::kWhole, FieldKind::kText},
    NamedEncoding{"json", Form::kWhole, FieldKind::kJson},
    NamedEncoding{"jpeg", Form::kWhole, FieldKind::kImage},
    NamedEncoding{"png", Form::kWhole, FieldKind::kImage},
    NamedEncoding{"pil", Form::kPixels, FieldKind::kImage},
    NamedEncoding{"jpeg_array", Form::kImageArray, FieldKind::kImage},
    NamedEncoding{"jpegarray", Form::kImageArray, FieldKind::kImage},
    NamedEncoding{"list[jpeg]", Form::kImageList, FieldKind::kImage},
    NamedEncoding{"list[png]", Form::kImageList, FieldKind::kImage},
    NamedEncoding{"list[pil]", Form::kPixelList, FieldKind::kImage},
    NamedEncoding{"int", Form::kScalar, FieldKind::kInteger, DType::kInt64},
    NamedEncoding{"int8", Form::kScalar, FieldKind::kInteger, DType::kInt8},
    NamedEncoding{"int16", Form::kScalar, FieldKind::kInteger, DType::kInt16},
    NamedEncoding{"int32", Form::kScalar, FieldKind::kInteger, DType::kInt32},
    NamedEncoding{"int64", Form::kScalar, FieldKind::kInteger, DType::kInt64},
    NamedEncoding{"uint8", Form::kScalar, FieldKind::kInteger, DType::kUInt8},
    NamedEncoding{"uint16", Form::kScalar, FieldKind::kInteger, DType::kUInt16},
    NamedEncoding{"uint32", Form::kScalar, FieldKind::kInteger, DType::kUInt32},
    NamedEncoding{"uint64", Form::kScalar, FieldKind::kArray, DType::kUInt64},
    NamedEncoding{"float16", Form::kScalar, FieldKind::kArray, DType::kFloat16},
    NamedEncoding{"float32", Form::kScalar, FieldKind::kArray, DType::kFloat32},
    NamedEncoding{"float64", Form::kScalar, FieldKind::kArray, DType::kFloat64},
    NamedEncoding{"str_int", Form::kWrittenInteger, FieldKind::kInteger},
    NamedEncoding{"str_float", Form::kWrittenReal, FieldKind::kArray},
    NamedEncoding{"str_decimal", Form::kWhole, FieldKind::kText},  // no type of numbers holds all of its digits
};

// The types of arrays by the byte that stands before an array whose encoding does not give its type.
constexpr std::array<std::pair<std::uint8_t, DType>, 11> kArrayTypes = {{
    {8, DType::kUInt8}, {9, DType::kInt8}, {16, DType::kUInt16}, {17, DType::kInt16}, {18, DType::kFloat16},
    {32, DType::kUInt32}, {33, DType::kInt32}, {34, DType::kFloat32}, {64, DType::kUInt64}, {65, DType::kInt64},
    {66, DType::kFloat64},
}};

Status check_dimensions(std::size_t dimensions) {
  const std::size_t most = Limits{}.npy_dimensions;
  if (dimensions <= most) return {};
  return fail(ErrorCode::kUnsupported, fmt::format("an ndarray of {} dimensions, at most {} are read", dimensions, most));
}

std::unexpected<Error> bad_encoding(std::string_view text) {
  return fail(ErrorCode::kCorrupt, fmt::format("\"{}\" is not an encoding of ndarrays", text));
}

// "ndarray", "ndarray:float32", "ndarray:float32:3,4"
Result<MdsEncoding> parse_array_encoding(std::string_view text) {
  MdsEncoding encoding{Form::kArray, FieldKind::kArray, {}, {}};
  if (!text.contains(':')) return encoding;
  std::string_view rest = text.substr(text.find(':') + 1);
  const std::string_view type = rest.substr(0, rest.find(':'));
  const auto dtype = dtype_named(std::string(type));
  const bool is_known = dtype && std::ranges::find(kArrayTypes, *dtype, &std::pair<std::uint8_t, DType>::second) != kArrayTypes.end();
  if (!is_known) return bad_encoding(text);
  encoding.dtype = *dtype;
  if (!rest.contains(':')) return encoding;
  rest.remove_prefix(rest.find(':') + 1);
  Shape& shape = encoding.shape.emplace();
  while (true) {
    const std::string_view part = rest.substr(0, rest.find(','));
    std::int64_t extent = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), extent);
    if (error != std::errc{} || end != part.data() + part.size() || extent < 1) return bad_encoding(text);
    shape.push_back(extent);
    if (part.size() == rest.size()) break;
    rest.remove_prefix(part.size() + 1);
  }
  PENSTOCK_CHECK(check_dimensions(shape.size()));
  return encoding;
}

template <typename T>
Result<RecordValue> number_value(T number, DType dtype, const Source::Allocate& allocate) {
  const auto memory = allocate(sizeof number);
  if (!memory) return std::unexpected(memory.error());
  std::memcpy(memory->data(), &number, sizeof number);
  return RecordValue{*memory, ArraySpec{dtype, {}}};
}

std::int64_t widened(DType dtype, ConstBytes stored) {
  ByteReader reader(stored);
  switch (dtype) {
    case DType::kInt8: return reader.read<std::int8_t>();
    case DType::kInt16: return reader.read<std::int16_t>();
    case DType::kInt32: return reader.read<std::int32_t>();
    case DType::kUInt8: return reader.read<std::uint8_t>();
    case DType::kUInt16: return reader.read<std::uint16_t>();
    case DType::kUInt32: return reader.read<std::uint32_t>();
    default: return reader.read<std::int64_t>();
  }
}

Result<RecordValue> read_scalar(const MdsEncoding& encoding, ConstBytes stored, const Source::Allocate& allocate) {
  if (stored.size() != size_of(*encoding.dtype))
    return fail(ErrorCode::kCorrupt, fmt::format("{} bytes, where one {} takes {}", stored.size(), name_of(*encoding.dtype),
                                                 size_of(*encoding.dtype)));
  if (encoding.kind != FieldKind::kInteger) return RecordValue{stored, ArraySpec{*encoding.dtype, {}}};
  return number_value(widened(*encoding.dtype, stored), DType::kInt64, allocate);
}

Result<RecordValue> read_written_real(ConstBytes stored, const Source::Allocate& allocate) {
  const auto* begin = reinterpret_cast<const char*>(stored.data());
  double number = 0;
  const auto [end, error] = std::from_chars(begin, begin + stored.size(), number);
  if (error != std::errc{} || end != begin + stored.size()) return fail(ErrorCode::kCorrupt, "the text is not a number");
  return number_value(number, DType::kFloat64, allocate);
}

Result<Shape> read_array_shape(ByteReader& reader) {
  const auto packed = reader.read<std::uint8_t>();
  const std::size_t dimensions = packed >> 2;
  PENSTOCK_CHECK(check_dimensions(dimensions));
  Shape shape;
  for (std::size_t d = 0; d < dimensions; ++d) {
    std::uint64_t extent = 0;
    switch (packed & 3) {
      case 0: extent = reader.read<std::uint8_t>(); break;
      case 1: extent = reader.read<std::uint16_t>(); break;
      case 2: extent = reader.read<std::uint32_t>(); break;
      default: extent = reader.read<std::uint64_t>(); break;
    }
    if (extent > INT64_MAX) return fail(ErrorCode::kCorrupt, "an ndarray with an absurd shape");
    shape.push_back(static_cast<std::int64_t>(extent));
  }
  return shape;
}

Result<RecordValue> read_array(const MdsEncoding& encoding, ConstBytes stored) {
  ByteReader reader(stored);
  ArraySpec spec;
  if (encoding.dtype) {
    spec.dtype = *encoding.dtype;
  } else {
    const auto number = reader.read<std::uint8_t>();
    const auto type = std::ranges::find(kArrayTypes, number, &std::pair<std::uint8_t, DType>::first);
    if (reader.ok() && type == kArrayTypes.end())
      return fail(ErrorCode::kCorrupt, fmt::format("an ndarray of the unknown type {}", number));
    if (reader.ok()) spec.dtype = type->second;
  }
  if (encoding.shape) {
    spec.shape = *encoding.shape;
  } else {
    auto shape = read_array_shape(reader);
    if (!shape) return std::unexpected(shape.error());
    spec.shape = *std::move(shape);
  }
  if (!reader.ok()) return fail(ErrorCode::kTruncated, "an ndarray ends within its header");
  std::optional<std::uint64_t> bytes = size_of(spec.dtype);
  for (const std::int64_t extent : spec.shape)
    if (bytes) bytes = checked_multiply<std::uint64_t>(*bytes, static_cast<std::uint64_t>(extent));
  if (!bytes || *bytes != reader.left())
    return fail(ErrorCode::kCorrupt, fmt::format("an ndarray {} {} has {} bytes", name_of(spec.dtype), spec.shape, reader.left()));
  return RecordValue{reader.take(reader.left()), std::move(spec)};
}

struct ImageTable {
  std::uint32_t count = 0;
  ConstBytes sizes, images;

  std::uint32_t size_of_image(std::uint32_t number) const {
    return ByteReader(sizes.subspan(std::size_t{number} * 4)).read<std::uint32_t>();
  }
};

Result<ImageTable> read_image_table(const MdsEncoding& encoding, ConstBytes stored) {
  ByteReader reader(stored);
  if (encoding.form != Form::kImageArray) reader.take(4);
  ImageTable table;
  table.count = reader.read<std::uint32_t>();
  table.sizes = reader.take(std::size_t{table.count} * 4);
  if (!reader.ok()) return fail(ErrorCode::kTruncated, "a list of images ends within the table of their sizes");
  table.images = reader.take(reader.left());
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < table.count; ++i) sum += table.size_of_image(i);
  if (sum != table.images.size())
    return fail(ErrorCode::kCorrupt, fmt::format("{} images of {} bytes together, where there are {} bytes", table.count, sum,
                                                 table.images.size()));
  return table;
}

Result<RecordValue> read_pixels(ConstBytes stored, const Source::Allocate& allocate) {
  const auto file = as_image_file(stored, allocate);
  if (!file) return std::unexpected(file.error());
  return RecordValue{*file, std::nullopt};
}

}  // namespace

Result<MdsEncoding> parse_mds_encoding(std::string_view text) {
  if (text == "ndarray" || text.starts_with("ndarray:")) return parse_array_encoding(text);
  const auto known = std::ranges::find(kEncodings, text, &NamedEncoding::name);
  if (known == kEncodings.end()) return MdsEncoding{};
  return MdsEncoding{known->form, known->kind, known->dtype, {}};
}

Result<RecordValue> read_mds_value(const MdsEncoding& encoding, ConstBytes stored, const Source::Allocate& allocate) {
  switch (encoding.form) {
    case Form::kScalar: return read_scalar(encoding, stored, allocate);
    case Form::kWrittenReal: return read_written_real(stored, allocate);
    case Form::kArray: return read_array(encoding, stored);
    case Form::kPixels: return read_pixels(stored, allocate);
    case Form::kWrittenInteger: {
      const auto number = parse_integer(stored);
      if (!number) return std::unexpected(number.error());
      return number_value(*number, DType::kInt64, allocate);
    }
    default: return RecordValue{stored, std::nullopt};
  }
}

Result<std::uint32_t> count_mds_images(const MdsEncoding& encoding, ConstBytes stored) {
  const auto table = read_image_table(encoding, stored);
  if (!table) return std::unexpected(table.error());
  return table->count;
}

Result<RecordValue> read_mds_image(const MdsEncoding& encoding, ConstBytes stored, std::uint32_t number,
                                   const Source::Allocate& allocate) {
  const auto table = read_image_table(encoding, stored);
  if (!table) return std::unexpected(table.error());
  if (number >= table->count)
    return fail(ErrorCode::kNotFound, fmt::format("the sample has {} images, image {} is asked for", table->count, number));
  std::size_t begin = 0;
  for (std::uint32_t i = 0; i < number; ++i) begin += table->size_of_image(i);
  const ConstBytes image = table->images.subspan(begin, table->size_of_image(number));
  if (encoding.form == Form::kPixelList) return read_pixels(image, allocate);
  return RecordValue{image, std::nullopt};
}

}  // namespace penstock
