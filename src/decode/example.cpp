#include "decode/example.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <type_traits>

#define PROTOZERO_USE_VIEW std::string_view
#include <protozero/pbf_reader.hpp>

#include "decode/text.h"
#include "penstock/interruption.h"

namespace penstock {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;
using protozero::tag_and_type;

// Field numbers of tensorflow/core/example/{example,feature}.proto.
constexpr std::uint32_t kFeatures = 1, kFeatureLists = 2;                  // Example, SequenceExample
constexpr std::uint32_t kMapEntry = 1, kMapKey = 1, kMapValue = 2;         // Features, FeatureLists
constexpr std::uint32_t kStep = 1;                                         // FeatureList
constexpr std::uint32_t kBytesList = 1, kFloatList = 2, kIntegerList = 3;  // Feature
constexpr std::uint32_t kValue = 1;                                        // the three lists

constexpr std::size_t kMaxFeatures = 1 << 16;
constexpr std::uint64_t kBytesPerFeature = 256;  // memory per listed feature, in addition to its name

// Thrown when the thread was interrupted: a record of 2 GiB may have a billion fields.
struct Stopped {};
void look_for_interruption() {
  thread_local InterruptionCheck check;
  if (check.is_due() && Interruption::is_requested()) throw Stopped{};
}

// protozero keeps only 32 bits of a length, and would read a huge one as a small one.
bool next_field(pbf_reader& reader) {
  look_for_interruption();
  if (!reader.next()) return false;
  if (!reader.has_wire_type(pbf_wire_type::length_delimited)) return true;
  const std::string_view rest = reader.data();
  const char* at = rest.data();
  const char* end = at + rest.size();
  const std::uint64_t length = protozero::decode_varint(&at, end);
  if (length > static_cast<std::uint64_t>(end - at)) throw protozero::end_of_buffer_exception{};
  return true;
}

// Finds the next message (or string) with this field number and skips other fields.
bool next_message(pbf_reader& reader, std::uint32_t tag, std::string_view& out) {
  while (next_field(reader)) {
    if (reader.tag_and_type() == tag_and_type(tag, pbf_wire_type::length_delimited)) {
      out = reader.get_view();
      return true;
    }
    reader.skip();
  }
  return false;
}

std::string_view text_of(ConstBytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
ConstBytes bytes_of(std::string_view text) { return as_bytes(text.data(), text.size()); }

std::unexpected<Error> corrupt_example(std::string_view what) {
  return fail(ErrorCode::kCorrupt, fmt::format("bad tf.train.Example ({})", what));
}

// Turns the exceptions of protozero, and Stopped, into errors.
template <typename Body>
auto guarded(Body body) -> decltype(body()) {
  try {
    return body();
  } catch (const protozero::exception& error) {
    return corrupt_example(error.what());
  } catch (const Stopped&) {
    return fail(ErrorCode::kStopped, "stopped while a record was read");
  }
}

std::string_view name_of(std::string_view entry) {
  std::string_view name;
  for (pbf_reader fields(entry); next_message(fields, kMapKey, name);) {}
  return name;
}

// Calls on_step with the Feature message of each step. A plain feature may be written in several parts, which
// protobuf merges; then on_step is called for each part.
template <typename OnStep>
Status each_step(std::string_view entry, bool is_sequence, OnStep on_step) {
  std::string_view value, step;
  for (pbf_reader values(entry); next_message(values, kMapValue, value);) {
    if (!is_sequence) {
      PENSTOCK_CHECK(on_step(value));
      continue;
    }
    for (pbf_reader steps(value); next_message(steps, kStep, step);) PENSTOCK_CHECK(on_step(step));
  }
  return {};
}

// Calls on_list with type and bytes of each list of a Feature message.
template <typename OnList>
Status each_list(std::string_view message, OnList on_list) {
  for (pbf_reader fields(message); next_field(fields);) {
    FeatureType type = FeatureType::kNone;
    switch (fields.tag_and_type()) {
      case tag_and_type(kBytesList, pbf_wire_type::length_delimited): type = FeatureType::kBytes; break;
      case tag_and_type(kFloatList, pbf_wire_type::length_delimited): type = FeatureType::kFloat; break;
      case tag_and_type(kIntegerList, pbf_wire_type::length_delimited): type = FeatureType::kInteger; break;
      default: fields.skip(); continue;
    }
    PENSTOCK_CHECK(on_list(type, fields.get_view()));
  }
  return {};
}

// The value fields of a list as runs: `packed` gets bytes with many values, `single` the reader at
// a field with one. Writers may use either, or both.
template <typename Packed, typename Single>
void each_run(std::string_view list, pbf_wire_type wire_type, Packed packed, Single single) {
  for (pbf_reader fields(list); next_field(fields);) {
    if (fields.tag() != kValue)
      fields.skip();
    else if (fields.has_wire_type(pbf_wire_type::length_delimited))
      packed(fields.get_view());
    else if (fields.has_wire_type(wire_type))
      single(fields);
    else
      fields.skip();
  }
}

std::uint64_t count_bytes(std::string_view list) {
  std::uint64_t count = 0;
  std::string_view value;
  for (pbf_reader fields(list); next_message(fields, kValue, value);) ++count;
  return count;
}

std::uint64_t count_floats(std::string_view list) {
  std::uint64_t count = 0;
  each_run(
      list, pbf_wire_type::fixed32,
      [&](std::string_view packed) {
        if (packed.size() % sizeof(float) != 0) throw protozero::invalid_length_exception{};
        count += packed.size() / sizeof(float);
      },
      [&](pbf_reader& fields) {
        fields.skip();
        ++count;
      });
  return count;
}

std::uint64_t count_integers(std::string_view list) {
  std::uint64_t count = 0;
  each_run(
      list, pbf_wire_type::varint,
      [&](std::string_view packed) {  // the last byte of each number has its high bit clear
        if (!packed.empty() && (packed.back() & 0x80) != 0) throw protozero::end_of_buffer_exception{};
        count += static_cast<std::uint64_t>(
            std::ranges::count_if(packed, [](char byte) { return (byte & 0x80) == 0; }));
      },
      [&](pbf_reader& fields) {
        fields.skip();
        ++count;
      });
  return count;
}

std::uint64_t count_values(FeatureType type, std::string_view list) {
  switch (type) {
    case FeatureType::kBytes: return count_bytes(list);
    case FeatureType::kFloat: return count_floats(list);
    case FeatureType::kInteger: return count_integers(list);
    case FeatureType::kNone: break;
  }
  return 0;
}

// Adds the values of one step to `count`; sets `type` where it is not known yet.
Status count_step(std::string_view step, FeatureType& type, std::uint64_t& count) {
  return each_list(step, [&](FeatureType found, std::string_view list) -> Status {
    // If one feature has values of several types, protobuf keeps only the last type, which no writer intends.
    if (type != FeatureType::kNone && type != found) return corrupt_example("one feature has values of two types");
    type = found;
    count += count_values(type, list);
    return {};
  });
}

Result<Feature> measure(std::string_view entry, bool is_sequence) {
  Feature feature;
  feature.is_sequence = is_sequence;
  feature.entry = bytes_of(entry);
  const Status counted = each_step(entry, is_sequence, [&](std::string_view step) -> Status {
    std::uint64_t count = 0;
    PENSTOCK_CHECK(count_step(step, feature.type, count));
    feature.total += count;
    if (!is_sequence) return {};
    if (feature.steps++ == 0) feature.first_width = count;
    feature.is_even = feature.is_even && count == feature.first_width;
    if (count != 1) feature.last_width_not_1 = count;
    return {};
  });
  PENSTOCK_CHECK(counted);
  return feature;
}

// Calls on_list for each list of the feature, after checking that the caller expects its type and size.
template <typename OnList>
Status read_lists(const Feature& feature, FeatureType wanted, std::uint64_t room, OnList on_list) {
  if (feature.total != room || (feature.type != wanted && room > 0))
    return fail(ErrorCode::kInvalidArgument, "feature read as another type or size than it has");
  if (room == 0) return {};  // also if the type differs: lists of another type must not be read as this one
  return guarded([&] {
    return each_step(text_of(feature.entry), feature.is_sequence, [&](std::string_view step) {
      return each_list(step, [&](FeatureType, std::string_view list) -> Status {
        if constexpr (std::is_void_v<decltype(on_list(list))>) {
          on_list(list);
          return {};
        } else {
          return on_list(list);
        }
      });
    });
  });
}

}  // namespace

Result<Feature> find_feature(ConstBytes example, std::string_view name) {
  return guarded([&]() -> Result<Feature> {
    for (const bool is_sequence : {false, true}) {
      std::optional<std::string_view> found;
      std::string_view map, entry;
      for (pbf_reader maps(text_of(example));
           next_message(maps, is_sequence ? kFeatureLists : kFeatures, map);)
        for (pbf_reader entries(map); next_message(entries, kMapEntry, entry);)
          if (name_of(entry) == name) found = entry;
      if (found) return measure(*found, is_sequence);
    }
    return fail(ErrorCode::kNotFound, fmt::format("the example has no feature '{}'", name));
  });
}

Result<std::vector<NamedFeature>> list_features(ConstBytes example, const Charge& charge) {
  return guarded([&]() -> Result<std::vector<NamedFeature>> {
    std::vector<NamedFeature> features;
    for (const bool is_sequence : {false, true}) {
      std::map<std::string_view, std::string_view> by_name;
      std::string_view map, entry;
      for (pbf_reader maps(text_of(example));
           next_message(maps, is_sequence ? kFeatureLists : kFeatures, map);)
        for (pbf_reader entries(map); next_message(entries, kMapEntry, entry);) {
          const std::string_view name = name_of(entry);
          if (!by_name.contains(name)) PENSTOCK_CHECK(ask(charge, kBytesPerFeature + name.size()));
          by_name[name] = entry;
          if (by_name.size() > kMaxFeatures)
            return fail(ErrorCode::kTooLarge,
                        fmt::format("example with more than {} features", kMaxFeatures));
        }
      for (const auto& [name, place] : by_name) {
        if (!check_utf8(bytes_of(name))) return corrupt_example("a feature's name is not UTF-8");
        auto feature = measure(place, is_sequence);
        if (!feature) return std::unexpected(std::move(feature).error());
        features.push_back({std::string(name), *std::move(feature)});
      }
    }
    return features;
  });
}

Status read_integers(const Feature& feature, std::span<std::int64_t> out) {
  auto next = out.begin();
  return read_lists(feature, FeatureType::kInteger, out.size(), [&](std::string_view list) {
    each_run(
        list, pbf_wire_type::varint,
        [&](std::string_view packed) {
          const char* at = packed.data();
          const char* end = at + packed.size();
          while (at != end) *next++ = static_cast<std::int64_t>(protozero::decode_varint(&at, end));
        },
        [&](pbf_reader& fields) { *next++ = fields.get_int64(); });
  });
}

Status read_floats(const Feature& feature, std::span<float> out) {
  auto next = out.begin();
  return read_lists(feature, FeatureType::kFloat, out.size(), [&](std::string_view list) {
    each_run(
        list, pbf_wire_type::fixed32,
        [&](std::string_view packed) {
          if (packed.empty()) return;
          std::memcpy(&*next, packed.data(), packed.size());
          next += static_cast<std::ptrdiff_t>(packed.size() / sizeof(float));
        },
        [&](pbf_reader& fields) { *next++ = fields.get_float(); });
  });
}

Status read_bytes(const Feature& feature, std::span<ConstBytes> out) {
  if (feature.total != out.size())
    return fail(ErrorCode::kInvalidArgument, "feature read as another type or size than it has");
  auto next = out.begin();
  return for_each_bytes(feature, [&](ConstBytes value) -> Status {
    *next++ = value;
    return {};
  });
}

Status for_each_bytes(const Feature& feature, const std::function<Status(ConstBytes)>& look) {
  return read_lists(feature, FeatureType::kBytes, feature.total, [&](std::string_view list) -> Status {
    std::string_view value;
    for (pbf_reader fields(list); next_message(fields, kValue, value);) PENSTOCK_CHECK(look(bytes_of(value)));
    return {};
  });
}

}  // namespace penstock
