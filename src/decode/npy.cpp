#include "decode/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>

#include "base/byte_reader.h"
#include "base/checked_math.h"

namespace penstock {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

// Reads the header, which is the repr() of a dict with three known keys: only strings, True, False and tuples
// of integers.
class LiteralReader {
 public:
  explicit LiteralReader(std::string_view text) : text_(text) {}

  bool accept(char wanted) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  bool read_string(std::string_view& out) {
    skip_space();
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) return false;
    const char quote = text_[at_++];
    const auto end = text_.find(quote, at_);
    if (end == std::string_view::npos) return false;
    out = text_.substr(at_, end - at_);
    at_ = end + 1;
    return true;
  }

  bool read_bool(bool& out) {
    skip_space();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        out = value;
        return true;
      }
    }
    return false;
  }

  bool read_shape(Shape& out, std::size_t most) {
    if (!accept('(')) return false;
    while (!accept(')')) {
      std::int64_t extent = 0;
      skip_space();
      const char* begin = text_.data() + at_;
      const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), extent);
      if (error != std::errc{} || extent < 0 || out.size() >= most) return false;
      at_ += static_cast<std::size_t>(end - begin);
      out.push_back(extent);
      accept('L');  // suffix of long integers in Python 2
      if (!accept(',')) return accept(')');
    }
    return true;
  }

 private:
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

struct DescriptorRow {
  std::string_view code;
  DType dtype;
};
constexpr DescriptorRow kDescriptors[] = {
    {"b1", DType::kBool},      {"u1", DType::kUInt8},       {"i1", DType::kInt8},
    {"u2", DType::kUInt16},    {"i2", DType::kInt16},       {"u4", DType::kUInt32},
    {"i4", DType::kInt32},     {"u8", DType::kUInt64},      {"i8", DType::kInt64},
    {"f2", DType::kFloat16},   {"f4", DType::kFloat32},     {"f8", DType::kFloat64},
    {"c8", DType::kComplex64}, {"c16", DType::kComplex128}, {"M8", DType::kInt64},
    {"m8", DType::kInt64},  // dates and time spans are read as integers
};

std::string_view code_of(DType dtype) {
  const auto found = std::ranges::find(kDescriptors, dtype, &DescriptorRow::dtype);
  return found == std::end(kDescriptors) ? std::string_view() : found->code;
}

Status parse_descriptor(std::string_view text, NpyHeader& header) {
  if (text.size() >= 2 && text[1] == 'O')
    return fail(ErrorCode::kUnsupported, "npy holds Python objects (pickle), which are never read");
  if (text.size() < 3) return fail(ErrorCode::kUnsupported, fmt::format("npy dtype '{}'", text));
  const char order = text[0], kind = text[1];
  const std::string_view size = text.substr(2);
  for (const DescriptorRow& row : kDescriptors) {
    const bool dated = row.code[0] == 'M' || row.code[0] == 'm';
    if (row.code[0] != kind || (dated ? !size.starts_with("8") : size != row.code.substr(1))) continue;
    if (order != '<' && order != '>' && order != '|' && order != '=') break;
    header.array.dtype = row.dtype;
    header.big_endian = order == '>' && size_of(row.dtype) > 1;
    return {};
  }
  return fail(ErrorCode::kUnsupported, fmt::format("npy dtype '{}'", text));
}

std::unexpected<Error> bad_header(const char* what) {
  return fail(ErrorCode::kCorrupt, fmt::format("bad npy header ({})", what));
}

}  // namespace

Result<std::uint64_t> npy_header_size(ConstBytes prefix, const Limits& limits) {
  ByteReader reader(prefix);
  const std::string_view magic = reader.take_text(kMagic.size());
  const auto major = reader.read<std::uint8_t>();
  reader.read<std::uint8_t>();
  if (!reader.ok()) return fail(ErrorCode::kTruncated, "file ends inside the npy header");
  if (magic != kMagic) return bad_header("not an npy file");
  if (major < 1 || major > 3) return fail(ErrorCode::kUnsupported, fmt::format("npy version {}", major));
  const std::uint64_t length = major == 1 ? reader.read<std::uint16_t>() : reader.read<std::uint32_t>();
  if (!reader.ok()) return fail(ErrorCode::kTruncated, "file ends inside the npy header");
  if (length > limits.npy_header_bytes)
    return fail(ErrorCode::kTooLarge, fmt::format("npy header claims {} bytes, at most {} allowed", length,
                                                  limits.npy_header_bytes));
  return reader.offset() + length;
}

Result<NpyHeader> parse_npy_header(ConstBytes bytes, const Limits& limits) {
  const auto size = npy_header_size(bytes.first(std::min(bytes.size(), kNpyPrefix)), limits);
  if (!size) return std::unexpected(size.error());
  if (*size > bytes.size()) return fail(ErrorCode::kTruncated, "file ends inside the npy header");
  const std::size_t text_at = bytes[6] == std::byte{1} ? 10 : 12;
  LiteralReader reader(
      {reinterpret_cast<const char*>(bytes.data()) + text_at, static_cast<std::size_t>(*size) - text_at});
  NpyHeader header;
  header.data_offset = *size;
  bool has_descriptor = false, has_order = false, has_shape = false;
  if (!reader.accept('{')) return bad_header("no dict");
  while (!reader.accept('}')) {
    std::string_view key, text;
    if (!reader.read_string(key) || !reader.accept(':')) return bad_header("no key");
    if (key == "descr") {
      if (!reader.read_string(text)) return fail(ErrorCode::kUnsupported, "npy with structured dtype");
      PENSTOCK_CHECK(parse_descriptor(text, header));
      has_descriptor = true;
    } else if (key == "fortran_order") {
      if (!reader.read_bool(header.fortran_order)) return bad_header("fortran_order");
      has_order = true;
    } else if (key == "shape") {
      header.array.shape.clear();
      if (!reader.read_shape(header.array.shape, limits.npy_dimensions)) return bad_header("shape");
      has_shape = true;
    } else {
      return bad_header("unknown key");
    }
    reader.accept(',');
  }
  if (!has_descriptor || !has_order || !has_shape) return bad_header("a key is missing");
  std::uint64_t total = size_of(header.array.dtype);
  bool empty = false;
  for (const std::int64_t extent : header.array.shape) empty = empty || extent == 0;
  for (const std::int64_t extent : header.array.shape) {
    const auto product =
        checked_multiply(total, static_cast<std::uint64_t>(std::max<std::int64_t>(extent, 1)));
    if (!product || *product > std::uint64_t{1} << 62) return bad_header("shape too large");
    total = *product;
  }
  if (header.array.shape.size() < 2 || empty) header.fortran_order = false;  // both orders are the same
  return header;
}

Status check_npy_size(const NpyHeader& header, std::uint64_t file_bytes) {
  const std::uint64_t wanted = header.data_offset + header.data_bytes();
  if (file_bytes == wanted) return {};
  return fail(file_bytes < wanted ? ErrorCode::kTruncated : ErrorCode::kCorrupt,
              fmt::format("npy header promises {} bytes, the file has {}", wanted, file_bytes));
}

std::vector<std::byte> npy_header_of(const ArraySpec& array) {
  constexpr std::size_t kPrefix = 10, kPaddedTo = 64;  // of format 1.0, which holds headers of less than 64 KiB
  const std::string_view code = code_of(array.dtype);
  if (code.empty()) return {};
  const char order = size_of(array.dtype) > 1 ? '<' : '|';
  std::string text = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': (", order, code);
  for (const std::int64_t extent : array.shape) text += fmt::format("{}, ", extent);
  if (array.shape.size() > 1) text.resize(text.size() - 2);
  if (array.shape.size() == 1) text.pop_back();
  text += "), }";
  text.append((kPaddedTo - (kPrefix + text.size() + 1) % kPaddedTo) % kPaddedTo, ' ');
  text += '\n';
  std::vector<std::byte> out(kPrefix + text.size());
  std::memcpy(out.data(), kMagic.data(), kMagic.size());
  out[6] = std::byte{1};
  out[8] = static_cast<std::byte>(text.size() & 0xFF);
  out[9] = static_cast<std::byte>(text.size() >> 8);
  std::memcpy(out.data() + kPrefix, text.data(), text.size());
  return out;
}

}  // namespace penstock
