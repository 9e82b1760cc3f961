#include "source/zarr/metadata/numcodecs.h"

#include <fmt/format.h>

#include <cmath>

#include "source/zarr/metadata/zarr_type.h"

namespace penstock {
namespace {

Result<StoredType> read_type(const Json& configuration, std::string_view key, const StoredType& otherwise,
                             std::string_view id, const std::string& uri) {
  const Json* value = find_member(configuration, key);
  if (value == nullptr || value->is_null()) return otherwise;
  if (value->is_string()) {
    if (const auto type = numpy_type(value->get_ref<const std::string&>())) return type->stored;
  }
  return bad_metadata(ErrorCode::kUnsupported, fmt::format("codec {}: {} {}", id, key, short_text(*value)),
                      uri);
}

std::string describe(const StoredType& type) {
  return fmt::format("{}{}", type.big_endian ? "big-endian " : "", name_of(type.dtype));
}

struct ElementTypes {
  StoredType decoded, encoded;
};

Result<ElementTypes> read_types(const Json& configuration, const StoredType& before, std::string_view id,
                                const std::string& uri) {
  const auto decoded = read_type(configuration, "dtype", before, id, uri);
  if (!decoded) return std::unexpected(decoded.error());
  const auto encoded = read_type(configuration, "astype", *decoded, id, uri);
  if (!encoded) return std::unexpected(encoded.error());
  if (decoded->dtype != before.dtype || decoded->big_endian != before.big_endian)
    return bad_metadata(
        ErrorCode::kUnsupported,
        fmt::format("codec {} is for {}, but elements are {}", id, describe(*decoded), describe(before)),
        uri);
  return ElementTypes{*decoded, *encoded};
}

Result<double> read_real(const Json& configuration, std::string_view key, std::string_view id,
                         const std::string& uri) {
  const Json* value = find_member(configuration, key);
  if (value != nullptr && value->is_number() && std::isfinite(value->get<double>()))
    return value->get<double>();
  return bad_metadata(ErrorCode::kCorrupt, fmt::format("codec {}: {} is missing or no number", id, key), uri);
}

Result<std::optional<Codec>> read_scale_offset(const Json& configuration, const ElementTypes& types,
                                               std::string_view id, const std::string& uri) {
  const auto offset = read_real(configuration, "offset", id, uri);
  if (!offset) return std::unexpected(offset.error());
  const auto scale = read_real(configuration, "scale", id, uri);
  if (!scale) return std::unexpected(scale.error());
  if (*scale == 0) return bad_metadata(ErrorCode::kCorrupt, fmt::format("codec {}: scale 0", id), uri);
  return FixedScaleOffsetCodec{*offset, *scale, types.decoded, types.encoded};
}

Result<std::optional<Codec>> read_shuffle(const Json& configuration, const std::string& uri) {
  ShuffleCodec shuffle;
  if (const Json* value = find_member(configuration, "elementsize")) {
    const auto bytes = read_whole_number(*value, "codec shuffle: elementsize", 1, uri);
    if (!bytes) return std::unexpected(bytes.error());
    if (*bytes > 1 << 16)
      return bad_metadata(ErrorCode::kUnsupported, fmt::format("codec shuffle: elementsize {}", *bytes), uri);
    shuffle.element_bytes = static_cast<std::uint32_t>(*bytes);
  }
  return shuffle;
}

}  // namespace

Result<std::optional<Codec>> read_numcodec(std::string_view id, const Json& configuration,
                                           const StoredType& before, const std::string& uri) {
  if (id == "gzip") return GzipCodec{};
  if (id == "zlib") return ZlibCodec{};
  if (id == "zstd") return ZstdCodec{};
  if (id == "lz4") return Lz4Codec{};
  if (id == "blosc") return BloscCodec{};
  if (id == "shuffle") return read_shuffle(configuration, uri);
  if (id == "bitround") return std::nullopt;  // the remaining bits are valid elements
  if (id == "crc32c") {
    const Json* location = find_member(configuration, "location");
    if (location == nullptr || *location == "end") return Crc32cCodec{};
    return bad_metadata(ErrorCode::kUnsupported,
                        fmt::format("codec crc32c with location {}", short_text(*location)), uri);
  }
  if (id == "delta" || id == "fixedscaleoffset" || id == "quantize") {
    const auto types = read_types(configuration, before, id, uri);
    if (!types) return std::unexpected(types.error());
    if (id == "delta") return DeltaCodec{types->decoded, types->encoded};
    if (id == "quantize") return QuantizeCodec{types->decoded, types->encoded};
    return read_scale_offset(configuration, *types, id, uri);
  }
  if (id == "pickle")
    return bad_metadata(ErrorCode::kUnsupported, "codec pickle is refused: reading it would run code", uri);
  return bad_metadata(ErrorCode::kUnsupported, fmt::format("codec {} is not known", short_text(id)), uri);
}

StoredType* encoded_type(Codec& codec) {
  if (auto* delta = std::get_if<DeltaCodec>(&codec)) return &delta->encoded;
  if (auto* scaled = std::get_if<FixedScaleOffsetCodec>(&codec)) return &scaled->encoded;
  if (auto* quantized = std::get_if<QuantizeCodec>(&codec)) return &quantized->encoded;
  return nullptr;
}

bool is_element_codec(const Codec& codec) {
  return std::holds_alternative<DeltaCodec>(codec) || std::holds_alternative<FixedScaleOffsetCodec>(codec) ||
         std::holds_alternative<QuantizeCodec>(codec);
}

}  // namespace penstock
