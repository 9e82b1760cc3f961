#include "source/field_kind.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/checked_math.h"
#include "base/limits.h"
#include "base/text/nearest_name.h"
#include "decode/image/image_formats.h"

namespace penstock {
namespace {

struct NamedKind {
  std::string_view name;
  FieldKind kind;
};

constexpr std::array kKindNames = {
    NamedKind{"image", FieldKind::kImage}, NamedKind{"mask", FieldKind::kMask},
    NamedKind{"npy", FieldKind::kArray},   NamedKind{"integer", FieldKind::kInteger},
    NamedKind{"text", FieldKind::kText},   NamedKind{"json", FieldKind::kJson},
    NamedKind{"bytes", FieldKind::kBytes},
};

// The endings that WebDataset's default decoders read besides images, without those that run code or use formats
// of its own.
constexpr std::array kExtensions = {
    NamedKind{"npy", FieldKind::kArray},     NamedKind{"npz", FieldKind::kArray},
    NamedKind{"cls", FieldKind::kInteger},   NamedKind{"cls2", FieldKind::kInteger},
    NamedKind{"class", FieldKind::kInteger}, NamedKind{"count", FieldKind::kInteger},
    NamedKind{"index", FieldKind::kInteger}, NamedKind{"inx", FieldKind::kInteger},
    NamedKind{"id", FieldKind::kInteger},    NamedKind{"txt", FieldKind::kText},
    NamedKind{"text", FieldKind::kText},     NamedKind{"transcript", FieldKind::kText},
    NamedKind{"json", FieldKind::kJson},     NamedKind{"jsn", FieldKind::kJson},
};

constexpr std::array<std::string_view, 4> kMaskWords = {"mask", "masks", "seg", "segmentation"};

Result<Shape> parse_shape(std::string_view text) {
  Shape shape;
  while (!text.empty()) {
    const auto comma = std::min(text.find(','), text.size());
    std::string_view part = text.substr(0, comma);
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    std::int64_t extent = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), extent);
    if (error != std::errc{} || end != part.data() + part.size() || extent < 0)
      return fail(ErrorCode::kInvalidArgument, "not a shape");
    shape.push_back(extent);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return shape;
}

}  // namespace

Result<FieldType> parse_field_type(const std::string& field, const std::string& text) {
  for (const auto& [name, kind] : kKindNames)
    if (text == name) return FieldType{kind, std::nullopt};
  if (const auto number = dtype_named(text)) return FieldType{FieldKind::kArray, ArraySpec{*number, {}}};
  const auto open = text.find('[');
  if (open != std::string::npos && text.ends_with(']')) {
    const auto dtype = dtype_named(text.substr(0, open));
    auto shape = parse_shape(std::string_view(text).substr(open + 1, text.size() - open - 2));
    if (dtype && shape && shape->size() <= Limits{}.npy_dimensions) {
      std::optional<std::uint64_t> bytes = size_of(*dtype);
      for (const std::int64_t extent : *shape)
        if (bytes) bytes = checked_multiply<std::uint64_t>(*bytes, static_cast<std::uint64_t>(extent));
      if (bytes && *bytes <= Limits{}.encoded_bytes)
        return FieldType{FieldKind::kArray, ArraySpec{*dtype, std::move(*shape)}};
    }
  }
  std::vector<std::string_view> words;
  for (const auto& word : kKindNames) words.push_back(word.name);
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("field \"{}\" cannot be \"{}\"; it can be {}, one number such as float32, or "
                          "elements such as float32[3,224,224]",
                          field, text, fmt::join(words, ", ")));
}

FieldKind kind_of_extension(std::string_view extension) {
  const auto dot = extension.rfind('.');
  const std::string_view last = dot == std::string_view::npos ? extension : extension.substr(dot + 1);
  if (!is_image_ending(last)) {
    const auto found = std::ranges::find(kExtensions, last, &NamedKind::name);
    return found == kExtensions.end() ? FieldKind::kBytes : found->kind;
  }
  if (dot == std::string_view::npos) return FieldKind::kImage;
  std::string_view front = extension.substr(0, dot);
  if (const auto before = front.rfind('.'); before != std::string_view::npos) front.remove_prefix(before + 1);
  return std::ranges::find(kMaskWords, front) != kMaskWords.end() ? FieldKind::kMask : FieldKind::kImage;
}

bool looks_like_image(std::span<const std::byte> bytes) {
  const ImageFormat* const format = image_format_of(bytes);
  // Two bytes are not enough to tell a JPEG file from other data.
  const bool is_jpeg = format != nullptr && format->make == make_jpeg_codec;
  return is_jpeg ? bytes.size() > 2 && bytes[2] == std::byte{0xFF} : format != nullptr;
}

Status check_field_names(const std::map<std::string, std::string>& wanted,
                         const std::vector<std::string>& known) {
  for (const auto& [name, kind] : wanted) {
    if (std::ranges::find(known, name) != known.end()) continue;
    const auto near = nearest_name(name, known);
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("there is no field \"{}\"{}; there are {}", name,
                    near ? fmt::format(", did you mean \"{}\"?", *near) : "", fmt::join(known, ", ")));
  }
  return {};
}

}  // namespace penstock
