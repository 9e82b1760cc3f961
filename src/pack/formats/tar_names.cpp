#include "pack/formats/tar_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <unordered_map>

#include "decode/image/image_formats.h"
#include "decode/text.h"
#include "source/field_kind.h"

namespace penstock {
namespace {

void append_escaped(std::string& out, char c) { out += fmt::format("%{:02X}", static_cast<unsigned char>(c)); }

// Escapes one part of a path between slashes. Only the last part may have no dots.
std::string escaped_part(std::string_view part, bool is_last, bool is_utf8) {
  std::string out;
  const bool is_dots = part == "." || part == "..";
  for (const char c : part) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_kept = byte >= 0x20 && byte != 0x7F && c != '%' && (byte < 0x80 || is_utf8) &&
                         !(c == '.' && (is_last || is_dots));
    if (is_kept)
      out += c;
    else
      append_escaped(out, c);
  }
  return out;
}

std::string escaped(std::string_view key) {
  const bool is_utf8 = check_utf8(as_bytes(key.data(), key.size())).has_value();
  std::string out;
  for (std::size_t at = 0;;) {
    const std::size_t slash = std::min(key.find('/', at), key.size());
    const bool is_last = slash == key.size();
    out += escaped_part(key.substr(at, slash - at), is_last, is_utf8);
    if (is_last) break;
    // A slash at the beginning, at the end or after another one would not survive extraction.
    const bool is_plain = slash > at && slash + 1 < key.size();
    out += is_plain ? "/" : "%2F";
    at = slash + 1;
  }
  return out.empty() ? "%" : out;
}

std::string_view without_image_ending(std::string_view key) {
  const auto dot = key.rfind('.'), slash = key.rfind('/');
  if (dot == std::string_view::npos || dot == 0 || (slash != std::string_view::npos && dot <= slash + 1)) return key;
  std::string ending(key.substr(dot + 1));
  std::ranges::transform(ending, ending.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return is_image_ending(ending) || ending == "npy" ? key.substr(0, dot) : key;
}

// The characters of a field's name that an ending may have.
std::string plain_word(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 && byte < 0x80)
      out += static_cast<char>(std::tolower(byte));
    else
      out += c == '.' || c == '-' ? c : '_';
  }
  while (out.starts_with('.')) out.erase(0, 1);
  while (out.ends_with('.')) out.pop_back();
  return out.empty() ? "field" : out;
}

std::string_view last_part(std::string_view ending) { return ending.substr(ending.rfind('.') + 1); }

std::string_view ending_of_kind(FieldKind kind, bool is_class) {
  switch (kind) {
    case FieldKind::kImage:
    case FieldKind::kMask: return "";
    case FieldKind::kArray: return "npy";
    case FieldKind::kInteger: return is_class ? "cls" : "count";
    case FieldKind::kText: return "txt";
    case FieldKind::kJson: return "json";
    case FieldKind::kBytes: return "bin";
  }
  return "bin";
}

// "left.png" becomes "left", and "png" becomes "".
std::string without_format(std::string word) {
  if (!is_image_ending(last_part(word))) return word;
  const auto dot = word.rfind('.');
  return dot == std::string::npos ? "" : word.substr(0, dot);
}

std::string picture_begin(const FieldInfo& field, bool is_first) {
  std::string begin = without_format(plain_word(field.name));
  if (field.kind == FieldKind::kImage) {
    // A kind follows from the name, so the name of an image may not look like that of a mask.
    if (is_first && begin == "image") return "";
    return !begin.empty() && kind_of_extension(begin + ".png") == FieldKind::kMask ? begin + ".image" : begin;
  }
  if (begin.empty()) return "mask";
  return kind_of_extension(begin + ".png") == FieldKind::kMask ? begin : begin + ".mask";
}

}  // namespace

std::vector<std::string> tar_names_of(const std::vector<std::string>& keys) {
  std::vector<std::string> names(keys.size());
  std::unordered_map<std::string, std::uint64_t> uses;
  for (std::size_t i = 0; i < keys.size(); ++i) ++uses[names[i] = escaped(without_image_ending(keys[i]))];
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (uses[names[i]] > 1) names[i] = escaped(keys[i]);
  // Keys that are equal, or that look like a short name of another, get a number. "%_" is in no escaped name.
  std::unordered_map<std::string, std::uint64_t> seen;
  for (std::string& name : names)
    if (const std::uint64_t before = seen[name]++; before > 0) name += fmt::format("%_{}", before);
  return names;
}

std::vector<std::string> tar_endings_of(const std::vector<FieldInfo>& fields) {
  std::vector<std::string> endings;
  bool is_first_image = true, has_class = false;
  for (const FieldInfo& field : fields) {
    const bool is_picture = field.kind == FieldKind::kImage || field.kind == FieldKind::kMask;
    const std::string word = plain_word(field.name);
    std::string ending;
    if (is_picture) {
      ending = picture_begin(field, is_first_image && field.kind == FieldKind::kImage);
      if (field.kind == FieldKind::kImage) is_first_image = false;
    } else if (field.kind == FieldKind::kInteger && (field.is_class || word == "label") && !has_class) {
      ending = "cls";
    } else if (kind_of_extension(word) == field.kind && last_part(word) != "npz" && word == field.name) {
      ending = word;  // a field of a tar keeps its ending
    } else {
      ending = word + "." + std::string(ending_of_kind(field.kind, field.is_class));
    }
    has_class = has_class || ending == "cls";
    while (std::ranges::find(endings, ending) != endings.end())
      ending = fmt::format("field{}{}{}", endings.size(), ending.empty() ? "" : ".", ending);
    endings.push_back(std::move(ending));
  }
  return endings;
}

std::string image_ending(const std::string& begin, FieldKind kind, std::string_view field,
                         const std::vector<std::string_view>& of_format) {
  // A field of a tar called "jpeg" keeps this ending where its format has it.
  const std::string word = plain_word(field);
  const std::string_view own = last_part(word);
  const std::string_view format = std::ranges::find(of_format, own) != of_format.end() ? own : of_format.front();
  if (begin.empty()) return kind == FieldKind::kMask ? "mask." + std::string(format) : std::string(format);
  return begin + "." + std::string(format);
}

}  // namespace penstock
