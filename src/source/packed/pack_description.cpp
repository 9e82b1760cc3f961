#include "source/packed/pack_description.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/checked_math.h"
#include "base/limits.h"
#include "decode/text.h"

namespace penstock {
namespace {

using PackJson = nlohmann::ordered_json;

constexpr std::size_t kMaxPackedFields = 4096;
constexpr std::array kAllKinds = {FieldKind::kImage,   FieldKind::kMask, FieldKind::kArray, FieldKind::kInteger,
                                  FieldKind::kText, FieldKind::kJson, FieldKind::kBytes};

std::unexpected<Error> bad_description(std::string what, const std::string& uri) {
  return fail(ErrorCode::kCorrupt, std::move(what), {uri, -1, -1, -1});
}

std::optional<FieldKind> field_kind_named(std::string_view name) {
  const auto found = std::ranges::find(kAllKinds, name, [](FieldKind kind) { return name_of(kind); });
  return found == kAllKinds.end() ? std::nullopt : std::optional(*found);
}

bool flag(const PackJson& object, std::string_view key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

PackJson json_of(const PackedField& field) {
  PackJson json = {{"name", field.name}, {"kind", name_of(field.kind)}, {"stored_as", field.stored_as}};
  if (!field.is_everywhere) json["optional"] = true;
  if (field.is_class) json["is_class"] = true;
  if (field.keeps_type) json["keeps_type"] = true;
  if (field.is_time) json["is_time"] = true;
  if (field.is_list) json["is_list"] = true;
  if (field.elements) {
    json["dtype"] = name_of(field.elements->dtype);
    json["shape"] = field.elements->shape;
  }
  return json;
}

Result<std::optional<ArraySpec>> elements_of(const PackJson& json, const std::string& uri) {
  const PackJson *type = find_text(json, "dtype"), *shape = find_list(json, "shape");
  if (type == nullptr && shape == nullptr) return std::nullopt;
  const auto dtype = type != nullptr ? dtype_named(type->get<std::string>()) : std::nullopt;
  if (!dtype || shape == nullptr || shape->size() > Limits{}.npy_dimensions)
    return bad_description("a field has no valid type and shape", uri);
  ArraySpec spec{*dtype, {}};
  std::optional<std::uint64_t> bytes = size_of(*dtype);
  for (const PackJson& extent : *shape) {
    if (!extent.is_number_unsigned()) return bad_description("the shape of a field is not valid", uri);
    const auto count = extent.get<std::uint64_t>();
    if (bytes) bytes = checked_multiply(*bytes, count);
    if (!bytes || *bytes > Limits{}.chunk_bytes || count > Limits{}.chunk_bytes)
      return bad_description("the shape of a field is too large", uri);
    spec.shape.push_back(static_cast<std::int64_t>(count));
  }
  return spec;
}

Result<PackedField> field_of(const PackJson& json, const std::string& uri) {
  const PackJson *name = find_text(json, "name"), *kind = find_text(json, "kind"), *stored = find_text(json, "stored_as");
  const auto known = kind != nullptr ? field_kind_named(kind->get<std::string>()) : std::nullopt;
  if (name == nullptr || !known || stored == nullptr) return bad_description("a field lacks its name or kind", uri);
  auto elements = elements_of(json, uri);
  if (!elements) return std::unexpected(std::move(elements).error());
  PackedField field{name->get<std::string>(), *known, !flag(json, "optional"), flag(json, "is_class"),
                    flag(json, "keeps_type"), flag(json, "is_time"), flag(json, "is_list"), stored->get<std::string>(), std::move(*elements)};
  return field;
}

}  // namespace

const PackJson* find_text(const PackJson& object, std::string_view key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? &*found : nullptr;
}

const PackJson* find_count(const PackJson& object, std::string_view key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_unsigned() ? &*found : nullptr;
}

const PackJson* find_list(const PackJson& object, std::string_view key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_array() ? &*found : nullptr;
}

Result<PackJson> parse_pack_json(std::string_view text, const std::string& uri) {
  if (auto checked = check_json(as_bytes(text.data(), text.size())); !checked) {
    checked.error().where.uri = uri;
    return std::unexpected(std::move(checked).error());
  }
  PackJson json = PackJson::parse(text, nullptr, false);
  if (!json.is_object()) return bad_description("not a JSON object", uri);
  return json;
}

PackJson PackDescription::to_json() const {
  PackJson json = {{"format", format},
                   {"source_fingerprint", fmt::format("{:016x}", source_fingerprint)},
                   {"samples", samples},
                   {"shards", shards},
                   {"options", options},
                   {"fields", PackJson::array()},
                   {"classes", classes}};
  for (const PackedField& field : fields) json["fields"].push_back(json_of(field));
  return json;
}

Result<PackDescription> PackDescription::from_json(const PackJson& json, const std::string& uri) {
  if (!json.is_object()) return bad_description("the description of the data set is not an object", uri);
  const PackJson *format = find_text(json, "format"), *fingerprint = find_text(json, "source_fingerprint"),
                 *samples = find_count(json, "samples"), *shards = find_count(json, "shards"),
                 *options = find_text(json, "options"), *fields = find_list(json, "fields"),
                 *classes = find_list(json, "classes");
  if (format == nullptr || fingerprint == nullptr || samples == nullptr || shards == nullptr || options == nullptr ||
      fields == nullptr || classes == nullptr || fields->size() > kMaxPackedFields)
    return bad_description("the description of the data set is not complete", uri);
  PackDescription out;
  out.format = format->get<std::string>();
  const auto digits = fingerprint->get<std::string>();
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), out.source_fingerprint, 16);
  if (error != std::errc{} || end != digits.data() + digits.size())
    return bad_description("the fingerprint of the source is not a number", uri);
  out.samples = samples->get<std::uint64_t>();
  out.shards = shards->get<std::uint64_t>();
  out.options = options->get<std::string>();
  for (const PackJson& field : *fields) {
    auto parsed = field_of(field, uri);
    if (!parsed) return std::unexpected(std::move(parsed).error());
    if (std::ranges::find(out.fields, parsed->name, &PackedField::name) != out.fields.end())
      return bad_description(fmt::format("field \"{}\" is described twice", parsed->name), uri);
    out.fields.push_back(std::move(*parsed));
  }
  for (const PackJson& name : *classes) {
    if (!name.is_string()) return bad_description("the name of a class is not a text", uri);
    out.classes.push_back(name.get<std::string>());
  }
  return out;
}

Result<PackDescription> PackDescription::parse(std::string_view text, const std::string& uri) {
  const auto json = parse_pack_json(text, uri);
  if (!json) return std::unexpected(json.error());
  return from_json(*json, uri);
}

}  // namespace penstock
