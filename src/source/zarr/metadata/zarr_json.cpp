#include "source/zarr/metadata/zarr_json.h"

#include <fmt/format.h>

#include "base/limits.h"
#include "decode/text.h"

namespace penstock {
namespace {

constexpr std::string_view kPythonWords[] = {"NaN", "Infinity", "-Infinity"};

// Quotes the words that Python writes for numbers that JSON lacks.
std::string with_quoted_words(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 16);
  bool in_string = false;
  for (std::size_t at = 0; at < text.size();) {
    if (in_string) {
      const std::size_t letters = text[at] == '\\' && at + 1 < text.size() ? 2 : 1;
      in_string = text[at] != '"';
      out += text.substr(at, letters);
      at += letters;
      continue;
    }
    std::string_view found;
    for (const std::string_view word : kPythonWords)
      if (text.substr(at).starts_with(word)) found = word;
    if (found.empty()) {
      in_string = text[at] == '"';
      out += text[at++];
    } else {
      out += '"';
      out += found;
      out += '"';
      at += found.size();
    }
  }
  return out;
}

}  // namespace

Result<Json> parse_zarr_json(ConstBytes bytes, const std::string& uri) {
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::string quoted;
  if (text.contains("NaN") || text.contains("Infinity")) {
    quoted = with_quoted_words(text);
    text = quoted;
  }
  if (auto checked = check_json(as_bytes(text.data(), text.size())); !checked) {
    Error error = std::move(checked).error();
    error.where.uri = uri;
    return std::unexpected(std::move(error));
  }
  Json parsed = Json::parse(text, nullptr, false);
  if (!parsed.is_object()) return bad_metadata(ErrorCode::kCorrupt, "Zarr metadata is not a JSON object", uri);
  return parsed;
}

const Json* find_member(const Json& object, std::string_view key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

std::string short_text(const Json& value) {
  constexpr std::size_t kMax = 60;
  // An object with millions of members is not serialised for 60 characters of output.
  if (value.is_structured() && value.size() > kMax)
    return value.is_array() ? fmt::format("a list of {}", value.size()) : "an object";
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > kMax) text = text.substr(0, kMax) + "...";
  return text;
}

Result<std::int64_t> read_whole_number(const Json& value, std::string_view what, std::int64_t least,
                                       const std::string& uri) {
  if (!value.is_number_integer())
    return bad_metadata(ErrorCode::kCorrupt,
                        fmt::format("{}: {} is not a whole number", what, short_text(value)), uri);
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX)
    return bad_metadata(ErrorCode::kTooLarge, fmt::format("{}: {} is too large", what, short_text(value)),
                        uri);
  const auto number = value.get<std::int64_t>();
  if (number < least)
    return bad_metadata(ErrorCode::kCorrupt,
                        fmt::format("{}: {}, but at least {} makes sense", what, number, least), uri);
  return number;
}

Result<Shape> read_extents(const Json* value, std::string_view what, std::int64_t least,
                           const std::string& uri) {
  if (value == nullptr || !value->is_array())
    return bad_metadata(ErrorCode::kCorrupt, fmt::format("{} is missing or no list", what), uri);
  const std::size_t most = Limits{}.npy_dimensions;
  if (value->size() > most)
    return bad_metadata(ErrorCode::kUnsupported,
                        fmt::format("{}: {} dimensions, at most {} are read", what, value->size(), most),
                        uri);
  Shape extents;
  for (const Json& entry : *value) {
    const auto extent = read_whole_number(entry, what, least, uri);
    if (!extent) return std::unexpected(extent.error());
    extents.push_back(*extent);
  }
  return extents;
}

Result<NamedConfiguration> read_named(const Json* value, std::string_view what, const std::string& uri) {
  NamedConfiguration named;
  const Json* name = value;
  if (value != nullptr && value->is_object()) {
    name = find_member(*value, "name");
    if (const Json* configuration = find_member(*value, "configuration")) {
      if (!configuration->is_object())
        return bad_metadata(ErrorCode::kCorrupt, fmt::format("{}: its configuration is not an object", what),
                            uri);
      named.configuration = *configuration;
    }
  }
  if (name == nullptr || !name->is_string())
    return bad_metadata(ErrorCode::kCorrupt, fmt::format("{} is missing or has no name", what), uri);
  named.name = name->get_ref<const std::string&>();
  return named;
}

}  // namespace penstock
