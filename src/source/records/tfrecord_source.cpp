#include "source/records/tfrecord_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <map>
#include <utility>

#include "base/random.h"
#include "decode/example.h"
#include "decode/text.h"
#include "source/field_kind.h"
#include "source/index/shard_index.h"
#include "source/records/record_source.h"
#include "source/records/tfrecord_scan.h"

namespace penstock {
namespace {

constexpr std::uint64_t kMaxExaminedSamples = 64;
constexpr std::uint64_t kMaxExaminedStreamedSamples = 8;  // number of samples; each is read from the beginning of its shard
constexpr std::size_t kMaxFeaturesListed = 1 << 16;
constexpr std::uint64_t kBytesPerFeatureListed = 256;  // memory besides its name

bool is_numbered_shard(std::string_view name) {
  constexpr std::size_t kDigits = 5;
  const auto cut_digits = [&] {
    const std::size_t before = name.size();
    while (!name.empty() && std::isdigit(static_cast<unsigned char>(name.back()))) name.remove_suffix(1);
    return before - name.size() >= kDigits;
  };
  if (!cut_digits() || !name.ends_with("-of-")) return false;
  name.remove_suffix(4);
  return cut_digits() && name.ends_with('-');
}

Status scan_shard(ForwardReader& reader, const std::string& path, ShardContents& out) {
  out.field_names = {"record"};
  return scan_tfrecord(reader, path, [&](std::uint64_t offset, std::uint64_t length) -> Status {
    PENSTOCK_CHECK(out.growth.add(ShardContents::kBytesPerMember + ShardContents::kBytesPerSample, offset, length));
    out.first_members.push_back(out.offsets.size());
    out.offsets.push_back(offset);
    out.lengths.push_back(length);
    out.fields.push_back(0);
    return {};
  });
}

// The common traits of one feature in the samples that opening examines.
struct FeatureTraits {
  std::uint64_t seen = 0;
  FeatureType type = FeatureType::kNone;
  bool is_sequence = false;
  bool always_one = true;  // every sample has exactly one value
  std::int64_t wide = 1;  // values per step of a sequence
  std::uint64_t texts = 0, images = 0, others = 0;

  Status note(const Feature& feature) {
    ++seen;
    if (feature.type == FeatureType::kNone) return {};
    type = feature.type;
    is_sequence = is_sequence || feature.is_sequence;
    always_one = always_one && !feature.is_sequence && feature.values() == 1;
    if (feature.last_width_not_1 != 1) wide = static_cast<std::int64_t>(feature.last_width_not_1);
    if (feature.type != FeatureType::kBytes) return {};
    return for_each_bytes(feature, [this](ConstBytes value) -> Status {
      ++(looks_like_image(value) ? images : check_utf8(value) ? texts : others);
      return {};
    });
  }

  // The shape of a feature without values.
  Shape shape_without_values() const { return wide > 1 ? Shape{0, wide} : Shape{0}; }

  FieldKind kind() const {
    if (type == FeatureType::kInteger) return always_one ? FieldKind::kInteger : FieldKind::kArray;
    if (type == FeatureType::kFloat) return FieldKind::kArray;
    if (type == FeatureType::kNone) return FieldKind::kBytes;
    if (!always_one) return FieldKind::kJson;  // several texts
    // A single damaged image does not change the kind of the field.
    if (images > texts + others) return FieldKind::kImage;
    return others == 0 && images == 0 ? FieldKind::kText : FieldKind::kBytes;
  }
};

// Calls `put` with the pieces of a JSON list of the texts.
template <typename Put>
Status write_json_list(const Feature& feature, Put put) {
  bool is_first = true;
  put("[");
  PENSTOCK_CHECK(for_each_bytes(feature, [&](ConstBytes value) -> Status {
    if (!check_utf8(value))
      return fail(ErrorCode::kUnsupported, "a list of byte strings that are not text is not read");
    put(std::exchange(is_first, false) ? "\"" : ",\"");
    for (const std::byte byte : value) {
      const auto c = static_cast<char>(byte);
      if (c == '"' || c == '\\')
        put(c == '"' ? "\\\"" : "\\\\");
      else if (static_cast<unsigned char>(c) < 0x20)
        put(fmt::format("\\u{:04x}", static_cast<unsigned>(c)));
      else
        put(std::string_view(&c, 1));
    }
    put("\"");
    return {};
  }));
  put("]");
  return {};
}

// Measures the text before writing it, because it may be far longer than the record.
Result<RecordValue> as_json_list(const Feature& feature, const Source::Allocate& allocate) {
  std::size_t size = 0;
  PENSTOCK_CHECK(write_json_list(feature, [&](std::string_view piece) { size += piece.size(); }));
  const auto memory = allocate(size);
  if (!memory) return std::unexpected(memory.error());
  std::byte* at = memory->data();
  PENSTOCK_CHECK(write_json_list(feature, [&](std::string_view piece) {
    std::memcpy(at, piece.data(), piece.size());
    at += piece.size();
  }));
  return RecordValue{*memory, std::nullopt};
}

class TFRecordSource final : public RecordSource {
 public:
  TFRecordSource(std::shared_ptr<const Store> store, std::string uri, OpenedIndex opened, bool verify)
      : RecordSource(std::move(store), std::move(uri), std::move(opened), verify),
        verify_(verify) {}

  Status prepare(const OpenOptions& options) {
    Features features;
    std::uint64_t examined = 0;
    std::optional<Error> first_error;
    const std::uint64_t tries = std::min(size(), storage().is_forward_only() ? kMaxExaminedStreamedSamples : kMaxExaminedSamples);
    std::vector<std::uint64_t> samples;
    std::vector<Extent> extents;
    for (std::uint64_t i = 0; i < tries; ++i) {
      // Only the beginning of a compressed shard can be read without decompressing all of it.
      samples.push_back(storage().is_forward_only() ? i : i * (size() / tries));
      extents.push_back(extent_of(samples.back(), 0));
    }
    read_each(extents, [&](std::size_t i, const Result<ConstBytes>& stored) {
      if (const auto looked = look_at(samples[i], extents[i], stored, features); looked)
        ++examined;
      else if (!first_error)
        first_error = looked.error();
    });
    // Damage is reported when the sample is read. Opening fails only if no sample can be examined.
    if (examined == 0) return std::unexpected(*first_error);
    if (packed_ && packed_->description.format == "tfrecord") return take_packed_fields(features, options);
    std::vector<std::string> names;
    for (const auto& [name, traits] : features.by_name) names.push_back(name);
    PENSTOCK_CHECK(check_field_names(options.field_kinds, names));
    for (const auto& [name, traits] : features.by_name) {
      FieldMapping mapping{{name, traits.kind(), FieldForm::kRecord, traits.seen == examined}, traits, {}, name};
      if (const auto requested = options.field_kinds.find(name); requested != options.field_kinds.end()) {
        auto type = parse_field_type(name, requested->second);
        if (!type) return std::unexpected(type.error());
        PENSTOCK_CHECK(check_requested_type(name, requested->second, *type, traits));
        mapping.info.kind = type->kind;
        mapping.elements = std::move(type->elements);
      }
      mappings_.push_back(std::move(mapping));
    }
    if (mappings_.empty())
      return fail(ErrorCode::kNotFound, "the records are not tf.train.Example with features",
                  {uri(), -1, -1, -1});
    std::ranges::stable_sort(mappings_, {}, [](const FieldMapping& mapping) { return mapping.info.kind; });
    for (const FieldMapping& mapping : mappings_) fields_.push_back(mapping.info);
    return {};
  }

  std::string kind() const override {
    return storage().is_forward_only() ? "compressed TFRecord shards" : "TFRecord shards";
  }
  const std::vector<std::string>& classes() const override {
    return packed_ ? packed_->description.classes : Source::classes();
  }
  std::string key(std::uint64_t sample) const override {
    if (const std::string_view stored = index_.key(sample); !stored.empty()) return std::string(stored);
    const ShardInfo& shard = index_.shards()[index_.shard_of(sample)];
    return fmt::format("{}:{}", std::string_view(shard.path).substr(shard.path.rfind('/') + 1),
                       sample - shard.first_sample);
  }
  Result<Extent> extent(std::uint64_t sample, std::size_t) const override {
    return extent_of(sample, 0);
  }

  Result<OpenedRecord> open_record(std::uint64_t, std::span<const std::byte> stored,
                                   const Charge&) const override {
    const auto payload = payload_of(stored);
    if (!payload) return std::unexpected(payload.error());
    return OpenedRecord{*payload, nullptr};
  }

  Result<RecordValue> find_in_record(std::uint64_t, std::size_t field, const OpenedRecord& record,
                                     const Allocate& allocate) const override {
    const FieldMapping& mapping = mappings_[field];
    const auto feature = find_feature(record.bytes, mapping.feature);
    if (!feature) return std::unexpected(feature.error());
    if (feature->type != FeatureType::kNone && feature->type != mapping.traits.type)
      return fail(ErrorCode::kShapeMismatch,
                  fmt::format("feature \"{}\" is of another type here than elsewhere", mapping.info.name));
    if (feature->type == FeatureType::kInteger) return numbers<std::int64_t>(*feature, mapping, allocate);
    if (feature->type == FeatureType::kFloat) return numbers<float>(*feature, mapping, allocate);
    if (mapping.info.kind == FieldKind::kJson && !mapping.traits.always_one) return as_json_list(*feature, allocate);
    // An empty feature has no type in the record.
    if (feature->values() == 0 && mapping.info.kind == FieldKind::kArray && mapping.traits.type != FeatureType::kBytes)
      return RecordValue{{},
                         ArraySpec{mapping.traits.type == FeatureType::kFloat ? DType::kFloat32 : DType::kInt64,
                                   mapping.traits.shape_without_values()}};
    if (feature->values() != 1)
      return fail(ErrorCode::kShapeMismatch, fmt::format("feature \"{}\" has {} values here, one elsewhere",
                                                         mapping.info.name, feature->values()));
    ConstBytes value;
    PENSTOCK_CHECK(read_bytes(*feature, std::span(&value, 1)));
    if (mapping.elements && value.size() != mapping.elements->bytes())
      return fail(ErrorCode::kShapeMismatch,
                  fmt::format("feature \"{}\" has {} bytes, its type says {}", mapping.info.name, value.size(),
                              mapping.elements->bytes()));
    return RecordValue{value, mapping.elements};
  }

  std::uint64_t record_reading(std::size_t field) const override {
    const FieldMapping& mapping = mappings_[field];
    std::uint64_t hash = mix64(static_cast<std::uint64_t>(mapping.traits.type) << 8 |
                               static_cast<std::uint64_t>(mapping.traits.always_one));
    hash = mix64(hash ^ static_cast<std::uint64_t>(mapping.traits.wide));
    if (!mapping.elements) return hash;
    hash = mix64(hash ^ (static_cast<std::uint64_t>(mapping.elements->dtype) + 1));
    for (const std::int64_t extent : mapping.elements->shape)
      hash = mix64(hash ^ static_cast<std::uint64_t>(extent));
    return hash;
  }

 private:
  struct FieldMapping {
    FieldInfo info;
    FeatureTraits traits;
    std::optional<ArraySpec> elements;
    std::string feature;  // its name in the records
  };

  // The fields are those of the source that was packed, whatever the features are called.
  template <typename ListedFeatures>
  Status take_packed_fields(const ListedFeatures& features, const OpenOptions& options) {
    std::vector<std::string> names;
    for (const PackedField& field : packed_->description.fields) names.push_back(field.name);
    PENSTOCK_CHECK(check_field_names(options.field_kinds, names));
    for (const PackedField& field : packed_->description.fields) {
      FieldMapping mapping{
          {field.name, field.kind, FieldForm::kRecord, field.is_everywhere, field.is_class, field.keeps_type},
          {},
          {},
          field.stored_as};
      if (const auto seen = features.by_name.find(field.stored_as); seen != features.by_name.end())
        mapping.traits = seen->second;
      mapping.traits.type = field.kind == FieldKind::kInteger ? FeatureType::kInteger
                            : !field.is_list                  ? FeatureType::kBytes
                            : field.elements && field.elements->dtype == DType::kInt64 ? FeatureType::kInteger
                            : field.elements || mapping.traits.type == FeatureType::kNone ? FeatureType::kFloat
                                                                                         : mapping.traits.type;
      // A list of numbers without a fixed shape has one axis, also where all records that were examined have one value.
      mapping.traits.always_one = field.kind == FieldKind::kInteger || !field.is_list;
      if (field.is_list) mapping.elements = field.elements;
      if (const auto requested = options.field_kinds.find(field.name); requested != options.field_kinds.end()) {
        auto type = parse_field_type(field.name, requested->second);
        if (!type) return std::unexpected(type.error());
        PENSTOCK_CHECK(check_requested_type(field.name, requested->second, *type, mapping.traits));
        mapping.info.kind = type->kind;
        mapping.elements = std::move(type->elements);
      }
      mappings_.push_back(std::move(mapping));
    }
    for (const FieldMapping& mapping : mappings_) fields_.push_back(mapping.info);
    return {};
  }

  // The features of the samples that opening examines.
  struct Features {
    std::map<std::string, FeatureTraits> by_name;
    OpeningReservation reservation;  // for the map
  };

  Status look_at(std::uint64_t sample, const Extent& where, const Result<ConstBytes>& stored,
                 Features& features) const {
    const auto at_record = [&](Error error) {
      error.where = {where.object, static_cast<std::int64_t>(where.offset),
                     static_cast<std::int64_t>(where.length), static_cast<std::int64_t>(sample)};
      return std::unexpected(std::move(error));
    };
    if (!stored) return std::unexpected(stored.error());
    const auto record = payload_of(*stored);
    if (!record) return at_record(record.error());
    OpeningReservation listed;
    const auto found = list_features(*record, [&](std::uint64_t bytes) {
      return listed.add(bytes, "the list of a record's features", {});
    });
    if (!found) return at_record(found.error());
    for (const NamedFeature& named : *found) {
      if (!features.by_name.contains(named.name)) {
        if (features.by_name.size() == kMaxFeaturesListed)
          return at_record({ErrorCode::kTooLarge, fmt::format("more than {} features", kMaxFeaturesListed), {}});
        PENSTOCK_CHECK(features.reservation.add(kBytesPerFeatureListed + named.name.size(), "the list of features",
                                                where_of(where)));
      }
      if (const Status noted = features.by_name[named.name].note(named.feature); !noted)
        return at_record(noted.error());
    }
    return {};
  }

  Result<ConstBytes> payload_of(ConstBytes stored) const {
    if (verify_ || stored.size() < kTFRecordHeader + kTFRecordFooter) return open_tfrecord(stored);
    return stored.subspan(kTFRecordHeader, stored.size() - kTFRecordHeader - kTFRecordFooter);
  }

  // The type of stored numbers is fixed. The user can only declare their count and shape.
  static Status check_requested_type(const std::string& name, const std::string& requested, const FieldType& type,
                           const FeatureTraits& traits) {
    if (traits.type != FeatureType::kInteger && traits.type != FeatureType::kFloat) return {};
    const DType own = traits.type == FeatureType::kFloat ? DType::kFloat32 : DType::kInt64;
    const bool fits = type.elements
                          ? type.elements->dtype == own
                          : type.kind == FieldKind::kInteger && own == DType::kInt64 && traits.always_one;
    if (fits) return {};
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("feature \"{}\" holds {} numbers and cannot be \"{}\" (but {}[...], or Cast them)", name,
                    name_of(own), requested, name_of(own)));
  }

  // Returns one number, a list, or a table for a sequence whose steps have several values each.
  template <typename T>
  Result<RecordValue> numbers(const Feature& feature, const FieldMapping& mapping, const Allocate& allocate) const {
    const std::uint64_t count = feature.values();
    ArraySpec spec{std::is_same_v<T, float> ? DType::kFloat32 : DType::kInt64, {}};
    if (mapping.elements) {
      if (count != element_count(mapping.elements->shape))
        return fail(ErrorCode::kShapeMismatch,
                    fmt::format("feature \"{}\" has {} values, its type says {}", mapping.info.name, count,
                                element_count(mapping.elements->shape)));
      spec = *mapping.elements;
    } else if (mapping.traits.always_one) {
      if (count != 1)
        return fail(ErrorCode::kShapeMismatch,
                    fmt::format("feature \"{}\" has {} values here, one elsewhere", mapping.info.name, count));
    } else if (feature.is_sequence && feature.steps > 0 && !(feature.is_even && feature.first_width == 1)) {
      if (!feature.is_even)
        return fail(ErrorCode::kUnsupported,
                    fmt::format("the steps of feature list \"{}\" differ in length", mapping.info.name));
      spec.shape = {static_cast<std::int64_t>(feature.steps), static_cast<std::int64_t>(feature.first_width)};
    } else {
      spec.shape = {static_cast<std::int64_t>(count)};
      if (count == 0) spec.shape = mapping.traits.shape_without_values();
    }
    const auto memory = allocate(count * sizeof(T));
    if (!memory) return std::unexpected(memory.error());
    const std::span<T> out(reinterpret_cast<T*>(memory->data()), count);
    if constexpr (std::is_same_v<T, float>)
      PENSTOCK_CHECK(read_floats(feature, out));
    else
      PENSTOCK_CHECK(read_integers(feature, out));
    return RecordValue{*memory, spec};
  }

  bool verify_;
  std::vector<FieldMapping> mappings_;  // in the order of fields_
};

}  // namespace

bool is_tfrecord_name(std::string_view name) {
  return std::ranges::any_of(std::array{".tfrecord", ".tfrecords", ".tfrecord.gz", ".tfrecords.gz", ".tfrec"},
                             [&](std::string_view ending) { return name.ends_with(ending); }) ||
         is_numbered_shard(name);
}

Result<SourcePtr> open_tfrecord(OpenRequest request, const OpenOptions& options) {
  const ShardSet shards = shard_set(request, "tfrecord");
  auto opened = open_shard_index(*request.store, shards, options, scan_shard);
  if (!opened) return std::unexpected(std::move(opened).error());
  if (opened->index.size() == 0)
    return fail(ErrorCode::kNotFound, "no records in the file", {shards.uri, 0, 0, -1});
  auto source = std::make_shared<TFRecordSource>(std::move(request.store), shards.uri, std::move(*opened),
                                                 options.verify_checksums);
  PENSTOCK_CHECK(source->prepare(options));
  return source;
}

}  // namespace penstock
