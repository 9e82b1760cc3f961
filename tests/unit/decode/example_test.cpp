#include "decode/example.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "penstock/interruption.h"
#include "source/records/tfrecord_scan.h"
#include "support/golden_record.h"
#include "support/make_tfrecord.h"

namespace penstock {
namespace {

using Integers = std::vector<std::int64_t>;
using Floats = std::vector<float>;
using Strings = std::vector<std::string>;

ConstBytes bytes(const std::string& text) { return as_bytes(text.data(), text.size()); }

Feature must_find(const std::string& message, std::string_view name) {
  const auto feature = find_feature(bytes(message), name);
  EXPECT_TRUE(feature) << name << ": " << feature.error().describe();
  return feature.value_or(Feature{});
}

Integers integers(const Feature& feature) {
  Integers out(feature.values());
  EXPECT_TRUE(read_integers(feature, out));
  return out;
}
Floats floats(const Feature& feature) {
  Floats out(feature.values());
  EXPECT_TRUE(read_floats(feature, out));
  return out;
}
Strings strings(const Feature& feature) {
  std::vector<ConstBytes> parts(feature.values());
  EXPECT_TRUE(read_bytes(feature, parts));
  Strings out;
  for (const ConstBytes part : parts)
    out.emplace_back(reinterpret_cast<const char*>(part.data()), part.size());
  return out;
}

ErrorCode code_of(const std::string& message, std::string_view name) {
  const auto feature = find_feature(bytes(message), name);
  EXPECT_FALSE(feature);
  return feature ? ErrorCode::kStopped : feature.error().code;
}

std::vector<std::string> golden_records(const std::string& name) {
  const std::string file = golden_record(name);
  std::vector<std::string> records;
  for (std::size_t at = 0; at < file.size();) {
    std::uint64_t length = 0;
    std::memcpy(&length, file.data() + at, sizeof(length));
    const auto data = open_tfrecord(bytes(file).subspan(at, length + kTFRecordHeader + kTFRecordFooter));
    EXPECT_TRUE(data);
    records.emplace_back(reinterpret_cast<const char*>(data->data()), data->size());
    at += length + kTFRecordHeader + kTFRecordFooter;
  }
  return records;
}

std::string hex(const std::string& raw) {
  std::string out;
  for (const char c : raw)
    for (const int digit : {(c >> 4) & 15, c & 15}) out += "0123456789abcdef"[digit];
  return out;
}

nlohmann::json values_as_json(const Feature& feature) {
  nlohmann::json out = nlohmann::json::array();
  switch (feature.type) {
    case FeatureType::kNone: return nullptr;
    case FeatureType::kBytes:
      for (const auto& value : strings(feature)) out.push_back(hex(value));
      break;
    case FeatureType::kFloat:
      for (const float value : floats(feature)) out.push_back(static_cast<double>(value));
      break;
    case FeatureType::kInteger:
      for (const auto value : integers(feature)) out.push_back(value);
      break;
  }
  return out;
}

TEST(Example, what_tensorflow_wrote_has_the_values_that_tensorflow_was_given) {
  const auto expected = nlohmann::json::parse(golden_record("expected.json"));
  for (const std::string kind : {"example", "sequence"}) {
    const auto records = golden_records(kind + ".tfrecord");
    ASSERT_EQ(records.size(), expected[kind].size());
    for (std::size_t i = 0; i < records.size(); ++i) {
      const auto features = list_features(bytes(records[i]));
      ASSERT_TRUE(features) << features.error().describe();
      EXPECT_EQ(features->size(), expected[kind][i].size());
      for (const auto& [name, feature] : *features) {
        const auto& wanted = expected[kind][i].at(name);
        const bool empty_list = feature.is_sequence && feature.steps == 0;
        EXPECT_EQ(empty_list ? nlohmann::json::array() : values_as_json(feature), wanted["values"]) << name;
        EXPECT_EQ(values_as_json(must_find(records[i], name)), values_as_json(feature)) << name;
        ASSERT_EQ(feature.is_sequence, !wanted["steps"].is_null()) << name;
        if (!feature.is_sequence) continue;
        const auto widths = wanted["steps"].get<std::vector<std::uint64_t>>();
        EXPECT_EQ(feature.steps, widths.size()) << name;
        if (widths.empty()) continue;
        EXPECT_EQ(feature.first_width, widths.front()) << name;
        EXPECT_EQ(feature.is_even, std::ranges::adjacent_find(widths, std::not_equal_to<>()) == widths.end()) << name;
      }
    }
  }
}

TEST(Example, plain_features_are_found_by_name) {
  const std::string message = example_message({{"image", bytes_feature({"JPEG"})},
                                               {"label", integer_feature({3})},
                                               {"box", float_feature({0.5f, 1, -2})}});
  EXPECT_EQ(strings(must_find(message, "image")), Strings{"JPEG"});
  EXPECT_EQ(integers(must_find(message, "label")), Integers{3});
  EXPECT_EQ(floats(must_find(message, "box")), (Floats{0.5f, 1, -2}));
  EXPECT_EQ(code_of(message, "imag"), ErrorCode::kNotFound);
  EXPECT_EQ(code_of(message, ""), ErrorCode::kNotFound);
  EXPECT_EQ(code_of("", "image"), ErrorCode::kNotFound);
}

TEST(Example, values_are_borrowed_and_not_copied) {
  const std::string message = example_message({{"image", bytes_feature({std::string(1000, 'x')})}});
  std::vector<ConstBytes> out(1);
  ASSERT_TRUE(read_bytes(must_find(message, "image"), out));
  const auto* begin = reinterpret_cast<const char*>(out[0].data());
  EXPECT_TRUE(begin >= message.data() && begin + 1000 <= message.data() + message.size());
}

TEST(Example, extreme_values_survive) {
  const Integers whole{
      0, -1, 127, 128, std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()};
  const Floats real{-0.0f, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::denorm_min(),
                    std::numeric_limits<float>::max()};
  for (const bool packed : {true, false}) {
    const std::string message =
        example_message({{"whole", integer_feature(whole, packed)}, {"real", float_feature(real, packed)}});
    EXPECT_EQ(integers(must_find(message, "whole")), whole);
    EXPECT_EQ(floats(must_find(message, "real")), real);
    EXPECT_TRUE(std::signbit(floats(must_find(message, "real"))[0]));
  }
}

TEST(Example, parts_of_a_list_are_joined_whether_packed_or_not) {
  const std::string message = example_message({
      {"i",
       integer_feature({1, 300}) + integer_feature({2}, false) + integer_feature({}) + integer_feature({3})},
      {"f", float_feature({1}, false) + float_feature({2, 3})},
      {"b", bytes_feature({"x", ""}) + bytes_feature({"y"})},
      {"within", message_field(3, integer_feature({1}).substr(2) + integer_feature({2, 3}, false).substr(2))},
  });
  EXPECT_EQ(integers(must_find(message, "i")), (Integers{1, 300, 2, 3}));
  EXPECT_EQ(floats(must_find(message, "f")), (Floats{1, 2, 3}));
  EXPECT_EQ(strings(must_find(message, "b")), (Strings{"x", "", "y"}));
  EXPECT_EQ(integers(must_find(message, "within")), (Integers{1, 2, 3}));
}

TEST(Example, a_message_in_several_parts_is_merged) {
  const std::string message = example_message({{"a", integer_feature({1})}, {"b", integer_feature({2})}}) +
                              example_message({{"c", integer_feature({3})}, {"a", integer_feature({4, 5})}});
  EXPECT_EQ(integers(must_find(message, "a")), (Integers{4, 5})) << "of a name that occurs twice the last";
  EXPECT_EQ(integers(must_find(message, "b")), Integers{2});
  EXPECT_EQ(integers(must_find(message, "c")), Integers{3});
  const auto features = list_features(bytes(message));
  ASSERT_TRUE(features);
  ASSERT_EQ(features->size(), 3u);
  EXPECT_EQ((*features)[0].feature.values(), 2u);
  const std::string value_twice =
      message_field(1, message_field(1, message_field(1, "a") + message_field(2, integer_feature({1})) +
                                            message_field(2, integer_feature({2}))));
  EXPECT_EQ(integers(must_find(value_twice, "a")), (Integers{1, 2}));
}

TEST(Example, entries_without_key_or_value_are_tolerated) {
  const std::string message =
      message_field(1, message_field(1, "") + message_field(1, message_field(1, "named")) +
                           message_field(1, message_field(2, integer_feature({7}))) +
                           message_field(1, message_field(2, float_feature({1})) + message_field(1, "late")));
  EXPECT_EQ(must_find(message, "named").type, FeatureType::kNone);
  EXPECT_EQ(must_find(message, "named").values(), 0u);
  EXPECT_EQ(integers(must_find(message, "")), Integers{7});
  EXPECT_EQ(floats(must_find(message, "late")), Floats{1}) << "the key after the value";
}

TEST(Example, features_without_values_keep_their_type_if_they_say_it) {
  const std::string message = example_message(
      {{"none", ""}, {"i", integer_feature({}, false)}, {"f", float_feature({})}, {"b", bytes_feature({})}});
  EXPECT_EQ(must_find(message, "none").type, FeatureType::kNone);
  EXPECT_EQ(must_find(message, "i").type, FeatureType::kInteger);
  EXPECT_EQ(must_find(message, "f").type, FeatureType::kFloat);
  EXPECT_EQ(must_find(message, "b").type, FeatureType::kBytes);
  for (const char* name : {"none", "i", "f", "b"})
    EXPECT_EQ(floats(must_find(message, name)), Floats{}) << name;
}

TEST(Example, unknown_fields_and_wire_types_are_passed_over) {
  std::string odd;
  protozero::pbf_writer writer(odd);
  writer.add_fixed64(9, 1);
  writer.add_int64(1, 5);  // number 1, but no message
  writer.add_fixed32(2, 6);
  writer.add_string(1000, "x");
  std::string odd_list;
  protozero::pbf_writer list(odd_list);
  list.add_fixed64(1, 1);
  list.add_fixed32(1, 1);  // a float among integers is no integer
  list.add_string(4, "x");
  const std::string entry = odd + message_field(1, "a") + odd.substr(0, 9) +
                            message_field(2, odd + message_field(3, odd_list) + integer_feature({8}));
  const std::string message = odd + message_field(1, odd + message_field(1, entry)) + odd;
  EXPECT_EQ(integers(must_find(message, "a")), Integers{8});
}

TEST(Example, a_list_that_is_empty_for_its_own_type_is_not_read_as_another) {
  std::string list;
  protozero::pbf_writer(list).add_int64(1, 5);  // unknown in a list of floats
  const std::string message = example_message({{"a", message_field(2, list)}});
  const Feature feature = must_find(message, "a");
  EXPECT_EQ(feature.type, FeatureType::kFloat);
  EXPECT_EQ(feature.values(), 0u);
  EXPECT_EQ(integers(feature), Integers{});
}

TEST(Example, sequences_have_steps) {
  const std::string message = sequence_example_message(
      {{"id", integer_feature({5})}}, {{"words", feature_list({integer_feature({1, 2}), integer_feature({3}),
                                                               "", integer_feature({4, 5, 6})})},
                                       {"frames", feature_list({bytes_feature({"a"}), bytes_feature({"b"})})},
                                       {"nothing", feature_list({})}});
  const Feature words = must_find(message, "words");
  EXPECT_TRUE(words.is_sequence);
  EXPECT_EQ(words.type, FeatureType::kInteger);
  EXPECT_EQ(integers(words), (Integers{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(words.steps, 4u);
  EXPECT_EQ(words.first_width, 2u);
  EXPECT_EQ(words.last_width_not_1, 3u);
  EXPECT_FALSE(words.is_even);
  const Feature frames = must_find(message, "frames");
  EXPECT_EQ(strings(frames), (Strings{"a", "b"}));
  EXPECT_TRUE(frames.is_even);
  EXPECT_EQ(frames.last_width_not_1, 1u);
  EXPECT_EQ(must_find(message, "nothing").steps, 0u);
  EXPECT_FALSE(must_find(message, "id").is_sequence);
}

TEST(Example, features_are_listed_context_first_and_by_name) {
  const std::string message = sequence_example_message(
      {{"z", integer_feature({5})}, {"b", float_feature({5})}},
      {{"y", feature_list({integer_feature({1})})}, {"b", feature_list({bytes_feature({"x"})})}});
  const auto features = list_features(bytes(message));
  ASSERT_TRUE(features);
  std::string order;
  for (const auto& [name, feature] : *features) order += name + (feature.is_sequence ? "+" : "-");
  EXPECT_EQ(order, "b-z-b+y+");
  EXPECT_FALSE(must_find(message, "b").is_sequence) << "the context goes first";
}

TEST(Example, two_types_in_one_feature_are_refused) {
  EXPECT_EQ(code_of(example_message({{"a", integer_feature({1}) + float_feature({1})}}), "a"),
            ErrorCode::kCorrupt);
  const std::string steps = feature_list({integer_feature({1}), float_feature({1})});
  EXPECT_EQ(code_of(sequence_example_message({}, {{"a", steps}}), "a"), ErrorCode::kCorrupt);
}

TEST(Example, reading_the_wrong_type_or_size_is_the_callers_error) {
  const std::string message = example_message({{"a", integer_feature({1, 2})}});
  const Feature feature = must_find(message, "a");
  Floats reals(2);
  std::vector<ConstBytes> parts(2);
  Integers few(1), many(3);
  EXPECT_EQ(read_floats(feature, reals).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(read_bytes(feature, parts).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(read_integers(feature, few).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(read_integers(feature, many).error().code, ErrorCode::kInvalidArgument);
  const auto look = [](ConstBytes) -> Status { return {}; };
  EXPECT_EQ(for_each_bytes(feature, look).error().code, ErrorCode::kInvalidArgument);
}

TEST(Example, malformed_messages_are_corrupt) {
  const std::string cut_float = message_field(2, message_field(1, "12345"));      // not a multiple of four
  const std::string cut_varint = message_field(3, message_field(1, "\x01\x80"));  // ends inside a number
  EXPECT_EQ(code_of(example_message({{"a", cut_float}}), "a"), ErrorCode::kCorrupt);
  EXPECT_EQ(code_of(example_message({{"a", cut_varint}}), "a"), ErrorCode::kCorrupt);
  EXPECT_EQ(code_of("\x0a\x05", "a"), ErrorCode::kCorrupt) << "a message beyond the end";
  EXPECT_EQ(code_of("\x0b\x0c", "a"), ErrorCode::kCorrupt) << "groups";
  EXPECT_EQ(code_of(std::string("\0\0", 2), "a"), ErrorCode::kCorrupt) << "field number 0";
  EXPECT_EQ(code_of("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "a"), ErrorCode::kCorrupt);
  EXPECT_FALSE(list_features(bytes("\x0a\x05")));
  EXPECT_EQ(list_features(bytes(example_message({{"\xff", ""}}))).error().code, ErrorCode::kCorrupt);
}

TEST(Example, a_length_beyond_32_bits_is_not_read_as_a_small_one) {
  // 2^32 + 1, whose lower half would fit.
  EXPECT_EQ(code_of(std::string("\x0a\x81\x80\x80\x80\x10", 6) + std::string(10, '\x08'), "a"),
            ErrorCode::kCorrupt);
}

TEST(Example, numbers_of_more_than_ten_bytes_are_corrupt_when_read) {
  const std::string list = message_field(1, std::string(11, '\x80') + '\x01');
  const std::string message = example_message({{"a", message_field(3, list)}});
  const auto feature = find_feature(bytes(message), "a");
  ASSERT_TRUE(feature);
  Integers out(feature->values());
  EXPECT_EQ(read_integers(*feature, out).error().code, ErrorCode::kCorrupt);
}

TEST(Example, any_number_of_steps_takes_no_memory) {
  std::string steps;
  for (int i = 0; i <= 1 << 20; ++i) steps += std::string("\x0a\0", 2);
  EXPECT_EQ(must_find(sequence_example_message({}, {{"a", steps}}), "a").steps, (1u << 20) + 1);
}

TEST(Example, the_list_of_features_is_asked_for_before_it_grows) {
  const std::string message = example_message(
      {{"image", bytes_feature({"JPEG"})}, {"label", integer_feature({3})}, {"label", integer_feature({4})}});
  std::uint64_t asked = 0;
  ASSERT_TRUE(list_features(bytes(message), [&](std::uint64_t more) -> Status {
    asked += more;
    return {};
  }));
  EXPECT_GE(asked, 2 * sizeof(NamedFeature) + 10);
  const auto refuse = [](std::uint64_t) -> Status { return fail(ErrorCode::kNoMemory, "no"); };
  EXPECT_EQ(list_features(bytes(message), refuse).error().code, ErrorCode::kNoMemory);
}

TEST(Example, a_reader_that_is_called_back_stops_in_the_middle_of_a_record) {
  std::string texts;
  for (int i = 0; i < 10'000; ++i) texts += std::string("\x0a\0", 2);
  const std::string message = example_message({{"a", message_field(1, texts)}});
  Interruption interruption;
  interruption.request();
  const Interruption::Scope scope(&interruption);
  EXPECT_EQ(code_of(message, "a"), ErrorCode::kStopped);
}

TEST(Example, too_many_names_are_refused) {
  NamedMessages features;
  for (int i = 0; i <= 1 << 16; ++i) features.emplace_back(std::to_string(i), "");
  EXPECT_EQ(list_features(bytes(example_message(features))).error().code, ErrorCode::kTooLarge);
}

TEST(Example, cuts_never_yield_values_that_were_not_there) {
  for (const std::string name : {"example.tfrecord", "sequence.tfrecord"})
    for (const std::string& record : golden_records(name))
      for (std::size_t size = 0; size < record.size(); ++size) {
        const std::string cut = record.substr(0, size);  // a copy, so that ASan sees its end
        const auto features = list_features(bytes(cut));
        if (!features) continue;
        for (const auto& feature : *features)
          EXPECT_EQ(values_as_json(feature.feature), values_as_json(must_find(record, feature.name)));
      }
}

}  // namespace
}  // namespace penstock
