#include "source/tfrecord_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "base/random.h"
#include "decode/example.h"
#include "decode/text.h"
#include "source/field_kind.h"
#include "source/record_source.h"
#include "source/tfrecord_scan.h"

namespace penstock {
namespace {

constexpr std::uint64_t kSamplesToLookAt = 64;
constexpr std::uint64_t kStreamedToLookAt = 8;  // each from the shard's beginning

Status scan_shard(ForwardReader& reader, const std::string& path, ShardContents& out) {
  out.field_names = {"record"};
  return scan_tfrecord(reader, path, [&](std::uint64_t offset, std::uint64_t length) -> Status {
    out.first_members.push_back(out.offsets.size());
    out.offsets.push_back(offset);
    out.lengths.push_back(length);
    out.fields.push_back(0);
    return {};
  });
}

// What the samples that were looked at have in common in one feature.
struct FeatureTraits {
  std::uint64_t seen = 0;
  FeatureType type = FeatureType::kNone;
  bool is_sequence = false;
  bool always_one = true;  // value
  std::int64_t wide = 1;   // values in each step of a sequence
  std::uint64_t texts = 0, images = 0, others = 0;

  void note(const Feature& feature) {
    ++seen;
    if (feature.type == FeatureType::kNone) return;
    type = feature.type;
    is_sequence = is_sequence || feature.is_sequence;
    always_one = always_one && !feature.is_sequence && feature.values() == 1;
    for (const std::uint64_t count : feature.counts)
      if (count != 1) wide = static_cast<std::int64_t>(count);
    if (feature.type != FeatureType::kBytes) return;
    const auto values = read_bytes(feature);
    if (!values) return;
    for (const ConstBytes value : *values)
      ++(looks_like_image(value) ? images : check_utf8(value) ? texts : others);
  }

  // Of a feature without values.
  Shape shape_of_none() const { return wide > 1 ? Shape{0, wide} : Shape{0}; }

  FieldKind kind() const {
    if (type == FeatureType::kInteger) return always_one ? FieldKind::kInteger : FieldKind::kArray;
    if (type == FeatureType::kFloat) return FieldKind::kArray;
    if (type == FeatureType::kNone) return FieldKind::kBytes;
    if (!always_one) return FieldKind::kJson;  // several texts
    // One damaged picture does not make the others something else.
    if (images > texts + others) return FieldKind::kImage;
    return others == 0 && images == 0 ? FieldKind::kText : FieldKind::kBytes;
  }
};

// A JSON list of the texts.
Result<RecordValue> as_json_list(const std::vector<ConstBytes>& values, const Source::Room& room) {
  std::string json = "[";
  for (const ConstBytes value : values) {
    if (!check_utf8(value))
      return fail(ErrorCode::kUnsupported, "a list of byte strings that are not text is not read");
    if (json.size() > 1) json += ',';
    json += '"';
    for (const std::byte byte : value) {
      const auto c = static_cast<char>(byte);
      if (c == '"' || c == '\\')
        json += {'\\', c};
      else if (static_cast<unsigned char>(c) < 0x20)
        json += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
      else
        json += c;
    }
    json += '"';
  }
  json += ']';
  const auto memory = room(json.size());
  if (!memory) return std::unexpected(memory.error());
  std::memcpy(memory->data(), json.data(), json.size());
  return RecordValue{*memory, std::nullopt};
}

class TFRecordSource final : public RecordSource {
 public:
  TFRecordSource(std::shared_ptr<const Store> store, std::string uri, OpenedIndex opened, bool verify)
      : RecordSource(std::move(store), std::move(uri), std::move(opened)),
        verify_(verify) {}

  Status prepare(const OpenOptions& options) {
    std::map<std::string, FeatureTraits> features;
    std::uint64_t looked_at = 0;
    std::optional<Error> first_error;
    const std::uint64_t tries = std::min(size(), is_forward_only() ? kStreamedToLookAt : kSamplesToLookAt);
    std::vector<std::uint64_t> samples;
    std::vector<Extent> extents;
    for (std::uint64_t i = 0; i < tries; ++i) {
      // Of compressed shards only the beginning can be had without reading all.
      samples.push_back(is_forward_only() ? i : i * (size() / tries));
      extents.push_back(extent_of(samples.back(), index_.member(samples.back(), 0)));
    }
    read_each(extents, [&](std::size_t i, const Result<ConstBytes>& stored) {
      if (const auto looked = look_at(samples[i], extents[i], stored, features); looked)
        ++looked_at;
      else if (!first_error)
        first_error = looked.error();
    });
    // Damage is named when the sample is read; only where nothing can be read is there nothing to say.
    if (looked_at == 0) return std::unexpected(*first_error);
    std::vector<std::string> names;
    for (const auto& [name, traits] : features) names.push_back(name);
    PENSTOCK_CHECK(check_field_names(options.field_kinds, names));
    for (const auto& [name, traits] : features) {
      Place place{{name, traits.kind(), FieldForm::kRecord, traits.seen == looked_at}, traits, {}};
      if (const auto told = options.field_kinds.find(name); told != options.field_kinds.end()) {
        auto type = parse_field_type(name, told->second);
        if (!type) return std::unexpected(type.error());
        PENSTOCK_CHECK(check_told(name, told->second, *type, traits));
        place.info.kind = type->kind;
        place.elements = std::move(type->elements);
      }
      places_.push_back(std::move(place));
    }
    if (places_.empty())
      return fail(ErrorCode::kNotFound, "the records are no tf.train.Example with features",
                  {uri(), -1, -1, -1});
    std::ranges::stable_sort(places_, {}, [](const Place& place) { return place.info.kind; });
    for (const Place& place : places_) fields_.push_back(place.info);
    return {};
  }

  std::string kind() const override {
    return is_forward_only() ? "compressed TFRecord shards" : "TFRecord shards";
  }
  std::string key(std::uint64_t sample) const override {
    const ShardInfo& shard = index_.shards()[index_.shard_of(sample)];
    return fmt::format("{}:{}", std::string_view(shard.path).substr(shard.path.rfind('/') + 1),
                       sample - shard.first_sample);
  }
  Result<Extent> extent(std::uint64_t sample, std::size_t) const override {
    return extent_of(sample, index_.member(sample, 0));
  }

  Result<std::span<const std::byte>> open_record(std::uint64_t,
                                                 std::span<const std::byte> stored) const override {
    if (verify_ || stored.size() < kTFRecordHeader + kTFRecordFooter) return open_tfrecord(stored);
    return stored.subspan(kTFRecordHeader, stored.size() - kTFRecordHeader - kTFRecordFooter);
  }

  Result<RecordValue> find_in_record(std::uint64_t, std::size_t field, std::span<const std::byte> record,
                                     const Room& room) const override {
    const Place& place = places_[field];
    const auto feature = find_feature(record, place.info.name);
    if (!feature) return std::unexpected(feature.error());
    if (feature->type != FeatureType::kNone && feature->type != place.traits.type)
      return fail(ErrorCode::kShapeMismatch,
                  fmt::format("feature \"{}\" is of another type here than elsewhere", place.info.name));
    if (feature->type == FeatureType::kInteger) return numbers<std::int64_t>(*feature, place, room);
    if (feature->type == FeatureType::kFloat) return numbers<float>(*feature, place, room);
    const auto values = read_bytes(*feature);
    if (!values) return std::unexpected(values.error());
    if (place.info.kind == FieldKind::kJson && !place.traits.always_one) return as_json_list(*values, room);
    // A feature that is there but empty has no type on the wire.
    if (values->empty() && place.info.kind == FieldKind::kArray && place.traits.type != FeatureType::kBytes)
      return RecordValue{{},
                         ArraySpec{place.traits.type == FeatureType::kFloat ? DType::kFloat32 : DType::kInt64,
                                   place.traits.shape_of_none()}};
    if (values->size() != 1)
      return fail(ErrorCode::kShapeMismatch, fmt::format("feature \"{}\" has {} values here, one elsewhere",
                                                         place.info.name, values->size()));
    if (place.elements && values->front().size() != place.elements->bytes())
      return fail(ErrorCode::kShapeMismatch,
                  fmt::format("feature \"{}\" has {} bytes, its type says {}", place.info.name,
                              values->front().size(), place.elements->bytes()));
    return RecordValue{values->front(), place.elements};
  }

  std::uint64_t reading(std::size_t field) const override {
    const Place& place = places_[field];
    std::uint64_t hash = mix64(static_cast<std::uint64_t>(place.traits.type) << 8 |
                               static_cast<std::uint64_t>(place.traits.always_one));
    hash = mix64(hash ^ static_cast<std::uint64_t>(place.traits.wide));
    if (!place.elements) return hash;
    hash = mix64(hash ^ (static_cast<std::uint64_t>(place.elements->dtype) + 1));
    for (const std::int64_t extent : place.elements->shape)
      hash = mix64(hash ^ static_cast<std::uint64_t>(extent));
    return hash;
  }

 private:
  struct Place {
    FieldInfo info;
    FeatureTraits traits;
    std::optional<ArraySpec> elements;
  };

  Status look_at(std::uint64_t sample, const Extent& where, const Result<ConstBytes>& stored,
                 std::map<std::string, FeatureTraits>& features) const {
    const auto at_record = [&](Error error) {
      error.where = {where.object, static_cast<std::int64_t>(where.offset),
                     static_cast<std::int64_t>(where.length), static_cast<std::int64_t>(sample)};
      return std::unexpected(std::move(error));
    };
    if (!stored) return std::unexpected(stored.error());
    const auto record = open_record(sample, *stored);
    if (!record) return at_record(record.error());
    const auto found = list_features(*record);
    if (!found) return at_record(found.error());
    for (const NamedFeature& named : *found) features[named.name].note(named.feature);
    return {};
  }

  // Numbers are what they are; the user can only say how many and in which shape.
  static Status check_told(const std::string& name, const std::string& told, const FieldType& type,
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
                    name_of(own), told, name_of(own)));
  }

  // One number, a list, or (a sequence whose steps have several values each) a table.
  template <typename T>
  Result<RecordValue> numbers(const Feature& feature, const Place& place, const Room& room) const {
    const std::uint64_t count = feature.values();
    ArraySpec spec{std::is_same_v<T, float> ? DType::kFloat32 : DType::kInt64, {}};
    if (place.elements) {
      if (count != element_count(place.elements->shape))
        return fail(ErrorCode::kShapeMismatch,
                    fmt::format("feature \"{}\" has {} values, its type says {}", place.info.name, count,
                                element_count(place.elements->shape)));
      spec = *place.elements;
    } else if (place.traits.always_one) {
      if (count != 1)
        return fail(ErrorCode::kShapeMismatch,
                    fmt::format("feature \"{}\" has {} values here, one elsewhere", place.info.name, count));
    } else if (feature.is_sequence && !feature.counts.empty() &&
               !std::ranges::all_of(feature.counts, [](std::uint64_t n) { return n == 1; })) {
      const std::uint64_t width = feature.counts.front();
      if (!std::ranges::all_of(feature.counts, [&](std::uint64_t n) { return n == width; }))
        return fail(ErrorCode::kUnsupported,
                    fmt::format("the steps of feature list \"{}\" differ in length", place.info.name));
      spec.shape = {static_cast<std::int64_t>(feature.counts.size()), static_cast<std::int64_t>(width)};
    } else {
      spec.shape = {static_cast<std::int64_t>(count)};
      if (count == 0) spec.shape = place.traits.shape_of_none();
    }
    const auto memory = room(count * sizeof(T));
    if (!memory) return std::unexpected(memory.error());
    const std::span<T> out(reinterpret_cast<T*>(memory->data()), count);
    if constexpr (std::is_same_v<T, float>)
      PENSTOCK_CHECK(read_floats(feature, out));
    else
      PENSTOCK_CHECK(read_integers(feature, out));
    return RecordValue{*memory, spec};
  }

  bool verify_;
  std::vector<Place> places_;  // in the order of fields_
};

}  // namespace

Result<SourcePtr> open_tfrecord_shards(std::shared_ptr<const Store> store, const ShardSet& shards,
                                       const OpenOptions& options) {
  auto opened = open_shard_index(*store, shards, options, scan_shard);
  if (!opened) return std::unexpected(std::move(opened).error());
  if (opened->index.size() == 0)
    return fail(ErrorCode::kNotFound, "no records in the file", {shards.uri, 0, 0, -1});
  auto source = std::make_shared<TFRecordSource>(std::move(store), shards.uri, std::move(*opened),
                                                 options.verify_checksums);
  PENSTOCK_CHECK(source->prepare(options));
  return source;
}

}  // namespace penstock
