#include "source/zarr/metadata/zarr_codecs.h"

#include <fmt/format.h>

#include <algorithm>

#include "source/zarr/metadata/numcodecs.h"

namespace penstock {
namespace {

constexpr std::size_t kMaxCodecs = 32;
constexpr int kMaxShardingLevels = 4;
constexpr std::string_view kNumcodecsPrefix = "numcodecs.";

TransposeCodec reversed_axes(std::size_t rank) {
  TransposeCodec transpose;
  for (std::size_t axis = rank; axis-- > 0;) transpose.order.push_back(static_cast<int>(axis));
  return transpose;
}

// Parses the codec list of one level of version 3: codecs from elements to elements, one codec from elements to
// bytes, then codecs from bytes to bytes.
class CodecListReader {
 public:
  CodecListReader(DType dtype, std::size_t rank, int level, const std::string& uri)
      : type_{dtype, false},
        rank_(rank),
        level_(level),
        uri_(uri) {}

  Result<ZarrCodecs> read(const Json* list) {
    if (list == nullptr || !list->is_array() || list->size() > kMaxCodecs)
      return bad(ErrorCode::kCorrupt, "codecs is missing, no list, or too long");
    for (const Json& entry : *list) {
      const auto named = read_named(&entry, "codec", uri_);
      if (!named) return std::unexpected(named.error());
      PENSTOCK_CHECK(add(*named));
    }
    if (!are_bytes_) return bad(ErrorCode::kCorrupt, "codecs: none of them turns elements into bytes");
    return std::move(codecs_);
  }

 private:
  std::unexpected<Error> bad(ErrorCode code, std::string what) const {
    return bad_metadata(code, std::move(what), uri_);
  }
  std::unexpected<Error> misplaced(const std::string& name) const {
    return bad(ErrorCode::kCorrupt, fmt::format("codecs: {} is not possible at this place in the list", name));
  }

  Status add(const NamedConfiguration& named) {
    const bool to_bytes = named.name == "bytes" || named.name == "sharding_indexed";
    if (are_bytes_ && (to_bytes || named.name == "transpose")) return misplaced(named.name);
    if (named.name == "bytes") return add_bytes(named.configuration);
    if (named.name == "sharding_indexed") return add_sharding(named.configuration);
    if (named.name == "transpose") return add_transpose(named.configuration);
    std::string_view id = named.name;
    const bool prefixed = id.starts_with(kNumcodecsPrefix);
    if (prefixed) id.remove_prefix(kNumcodecsPrefix.size());
    if (!prefixed && id != "gzip" && id != "zstd" && id != "blosc" && id != "crc32c")
      return bad(ErrorCode::kUnsupported, fmt::format("codec {} is not known", short_text(named.name)));
    auto codec = read_numcodec(id, named.configuration, type_, uri_);
    if (!codec) return std::unexpected(std::move(codec).error());
    if (!*codec) return {};
    return add_numcodec(**std::move(codec), named.name);
  }

  Status add_numcodec(Codec codec, const std::string& name) {
    StoredType* encoded = encoded_type(codec);
    if ((encoded != nullptr) == are_bytes_) return misplaced(name);
    // A shard whose bytes are encoded again cannot be read in parts.
    if (codecs_.sharding)
      return bad(ErrorCode::kUnsupported, fmt::format("codec {} after sharding_indexed", name));
    if (encoded != nullptr) {
      encoded->big_endian = false;  // unless the bytes codec says otherwise
      type_.dtype = encoded->dtype;
    }
    codecs_.codecs.push_back(std::move(codec));
    return {};
  }

  Status add_bytes(const Json& configuration) {
    are_bytes_ = true;
    const Json* endian = find_member(configuration, "endian");
    const bool big = endian != nullptr && *endian == "big";
    if (!big && !(endian != nullptr && *endian == "little") &&
        (endian != nullptr || size_of(type_.dtype) > 1))
      return bad(ErrorCode::kCorrupt, fmt::format("codec bytes: endian is {}, not little or big",
                                                  endian == nullptr ? "missing" : short_text(*endian)));
    // Between two codecs, elements are little-endian. This byte order only applies to the output of the last one.
    for (auto codec = codecs_.codecs.rbegin(); codec != codecs_.codecs.rend(); ++codec) {
      StoredType* encoded = encoded_type(*codec);
      if (encoded == nullptr) continue;
      encoded->big_endian = big;
      break;
    }
    codecs_.codecs.push_back(BytesCodec{big});
    return {};
  }

  Status add_transpose(const Json& configuration) {
    const Json* order = find_member(configuration, "order");
    if (order != nullptr && *order == "C") return {};  // a draft of the format allowed this
    if (order != nullptr && *order == "F") {
      codecs_.codecs.push_back(reversed_axes(rank_));
      return {};
    }
    const auto axes = read_extents(order, "codec transpose: order", 0, uri_);
    if (!axes) return std::unexpected(axes.error());
    TransposeCodec transpose;
    std::vector<bool> seen(rank_);
    for (const std::int64_t axis : *axes) {
      if (static_cast<std::uint64_t>(axis) >= rank_ || seen[static_cast<std::size_t>(axis)]) break;
      seen[static_cast<std::size_t>(axis)] = true;
      transpose.order.push_back(static_cast<int>(axis));
    }
    if (axes->size() != rank_ || transpose.order.size() != rank_)
      return bad(ErrorCode::kCorrupt,
                 fmt::format("codec transpose: order {} is not a permutation of {} axes", short_text(*order), rank_));
    codecs_.codecs.push_back(std::move(transpose));
    return {};
  }

  Status add_sharding(const Json& configuration) {
    are_bytes_ = true;
    if (level_ >= kMaxShardingLevels)
      return bad(ErrorCode::kUnsupported,
                 fmt::format("codec sharding_indexed nested more than {} deep", kMaxShardingLevels));
    if (std::ranges::any_of(codecs_.codecs, is_element_codec))
      return bad(ErrorCode::kUnsupported, "codec sharding_indexed after a codec that changes elements");
    ZarrSharding sharding;
    auto chunk_shape = read_extents(find_member(configuration, "chunk_shape"),
                                    "codec sharding_indexed: chunk_shape", 1, uri_);
    if (!chunk_shape) return std::unexpected(std::move(chunk_shape).error());
    if (chunk_shape->size() != rank_)
      return bad(ErrorCode::kCorrupt,
                 fmt::format("codec sharding_indexed: chunk_shape has {} dimensions, not {}",
                             chunk_shape->size(), rank_));
    sharding.chunk_shape = *std::move(chunk_shape);
    auto inner =
        CodecListReader(type_.dtype, rank_, level_ + 1, uri_).read(find_member(configuration, "codecs"));
    if (!inner) return std::unexpected(std::move(inner).error());
    sharding.inner = *std::move(inner);
    PENSTOCK_CHECK(read_index_codecs(find_member(configuration, "index_codecs"), sharding));
    const Json* location = find_member(configuration, "index_location");
    sharding.index_at_start = location != nullptr && *location == "start";
    if (location != nullptr && !sharding.index_at_start && *location != "end")
      return bad(ErrorCode::kCorrupt,
                 fmt::format("codec sharding_indexed: index_location {}", short_text(*location)));
    codecs_.sharding = std::make_shared<const ZarrSharding>(std::move(sharding));
    return {};
  }

  // An index must be located before it is read, so only codecs with a known encoded length are allowed.
  Status read_index_codecs(const Json* list, ZarrSharding& sharding) const {
    if (list == nullptr || !list->is_array() || list->size() > kMaxCodecs)
      return bad(ErrorCode::kCorrupt, "codec sharding_indexed: index_codecs is missing or no list");
    std::vector<std::string> names;
    for (const Json& entry : *list) {
      const auto named = read_named(&entry, "index codec", uri_);
      if (!named) return std::unexpected(named.error());
      names.push_back(named->name);
      if (named->name != "bytes") continue;
      const Json* endian = find_member(named->configuration, "endian");
      sharding.index_big_endian = endian != nullptr && *endian == "big";
      if (endian == nullptr || (!sharding.index_big_endian && *endian != "little"))
        return bad(ErrorCode::kCorrupt, "codec sharding_indexed: index codec bytes without endian");
    }
    sharding.index_has_checksum = names == std::vector<std::string>{"bytes", "crc32c"};
    if (sharding.index_has_checksum || names == std::vector<std::string>{"bytes"}) return {};
    return bad(ErrorCode::kUnsupported,
               fmt::format("codec sharding_indexed: index_codecs {}, only bytes and crc32c are read",
                           short_text(Json(names))));
  }

  StoredType type_;  // type of the elements at this point of the list
  const std::size_t rank_;
  const int level_;
  const std::string& uri_;
  bool are_bytes_ = false;
  ZarrCodecs codecs_;
};

}  // namespace

Result<ZarrCodecs> read_v2_codecs(const Json& zarray, const StoredType& type, std::size_t rank,
                                  const std::string& uri) {
  const Json* order = find_member(zarray, "order");
  const bool is_fortran = order != nullptr && *order == "F";
  if (order == nullptr || (!is_fortran && *order != "C"))
    return bad_metadata(ErrorCode::kCorrupt, "order is neither C nor F", uri);
  std::vector<const Json*> listed;
  if (const Json* filters = find_member(zarray, "filters"); filters != nullptr && !filters->is_null()) {
    if (!filters->is_array() || filters->size() > kMaxCodecs)
      return bad_metadata(ErrorCode::kCorrupt, "filters is not a list, or is too long", uri);
    for (const Json& filter : *filters) listed.push_back(&filter);
  }
  const Json* compressor = find_member(zarray, "compressor");
  if (compressor != nullptr && !compressor->is_null()) listed.push_back(compressor);

  ZarrCodecs codecs;
  if (is_fortran && rank > 1) codecs.codecs.push_back(reversed_axes(rank));
  codecs.codecs.push_back(BytesCodec{type.big_endian});  // the filters know their own byte order
  StoredType current = type;
  bool are_elements = true;
  for (const Json* entry : listed) {
    const Json* id = find_member(*entry, "id");
    if (id == nullptr || !id->is_string())
      return bad_metadata(ErrorCode::kCorrupt, fmt::format("codec {} has no id", short_text(*entry)), uri);
    auto codec = read_numcodec(id->get_ref<const std::string&>(), *entry, current, uri);
    if (!codec) return std::unexpected(std::move(codec).error());
    if (!*codec) continue;
    if (const StoredType* encoded = encoded_type(**codec)) {
      if (!are_elements)
        return bad_metadata(ErrorCode::kUnsupported,
                            fmt::format("codec {} after one that turns elements into bytes", short_text(*id)),
                            uri);
      current = *encoded;
    } else {
      are_elements = false;
    }
    codecs.codecs.push_back(**std::move(codec));
  }
  return codecs;
}

Result<ZarrCodecs> read_v3_codecs(const Json* codecs, DType dtype, std::size_t rank, const std::string& uri) {
  return CodecListReader(dtype, rank, 0, uri).read(codecs);
}

}  // namespace penstock
