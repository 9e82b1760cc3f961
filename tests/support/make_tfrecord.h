// TFRecord frames and tf.train.Example messages, as TensorFlow writes them and as others might.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#define PROTOZERO_USE_VIEW std::string_view
#include <protozero/pbf_writer.hpp>

#include "base/crc32c.h"

namespace penstock {

inline std::string masked_crc_bytes(std::string_view text) {
  const std::uint32_t crc = crc32c(as_bytes(text.data(), text.size()));
  const std::uint32_t masked = ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
  return {reinterpret_cast<const char*>(&masked), sizeof(masked)};
}

// A header with a valid checksum, whatever the length.
inline std::string tfrecord_header(std::uint64_t length) {
  const std::string raw(reinterpret_cast<const char*>(&length), sizeof(length));
  return raw + masked_crc_bytes(raw);
}

inline std::string tfrecord_frame(std::string_view data) {
  return tfrecord_header(data.size()) + std::string(data) + masked_crc_bytes(data);
}

// A message whose only field is this one: most of what Example is made of.
inline std::string message_field(std::uint32_t tag, std::string_view content) {
  std::string out;
  protozero::pbf_writer(out).add_bytes(tag, content.data(), content.size());
  return out;
}

// Feature messages. Parts of one feature may be written one after another: protobuf merges them.
inline std::string bytes_feature(const std::vector<std::string>& values) {
  std::string list;
  for (const auto& value : values) list += message_field(1, value);
  return message_field(1, list);
}

inline std::string float_feature(const std::vector<float>& values, bool packed = true) {
  std::string list;
  protozero::pbf_writer writer(list);
  if (packed) {
    writer.add_packed_float(1, values.begin(), values.end());
  } else {
    for (const float value : values) writer.add_float(1, value);
  }
  return message_field(2, list);
}

inline std::string integer_feature(const std::vector<std::int64_t>& values, bool packed = true) {
  std::string list;
  protozero::pbf_writer writer(list);
  if (packed) {
    writer.add_packed_int64(1, values.begin(), values.end());
  } else {
    for (const std::int64_t value : values) writer.add_int64(1, value);
  }
  return message_field(3, list);
}

inline std::string feature_list(const std::vector<std::string>& steps) {
  std::string out;
  for (const auto& step : steps) out += message_field(1, step);
  return out;
}

// Features or FeatureLists: the map from names to messages.
using NamedMessages = std::vector<std::pair<std::string, std::string>>;

inline std::string feature_map(const NamedMessages& features) {
  std::string out;
  for (const auto& [name, message] : features)
    out += message_field(1, message_field(1, name) + message_field(2, message));
  return out;
}

inline std::string example_message(const NamedMessages& features) {
  return message_field(1, feature_map(features));
}

inline std::string sequence_example_message(const NamedMessages& context, const NamedMessages& lists) {
  return message_field(1, feature_map(context)) + message_field(2, feature_map(lists));
}

}  // namespace penstock
