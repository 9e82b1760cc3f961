#include "statistics/field_statistics.h"

#include <fmt/format.h>

#include <algorithm>

namespace penstock {
namespace {

constexpr double kByte = 255;

nlohmann::ordered_json to_json(const NumberSummary& summary, double divisor) {
  if (summary.count == 0)
    return {{"count", 0}, {"mean", nullptr}, {"std", nullptr}, {"min", nullptr}, {"max", nullptr}};
  const NumberSummary shown = divided(summary, divisor);
  return {{"count", shown.count},
          {"mean", shown.mean},
          {"std", shown.deviation()},
          {"min", shown.min},
          {"max", shown.max}};
}

// Returns the number of code points, as Python counts them. The text has been checked to be UTF-8.
std::size_t characters_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace

double shown_divisor(FieldKind kind) { return kind == FieldKind::kImage ? kByte : 1; }

NumberSummary divided(NumberSummary summary, double divisor) {
  summary.mean /= divisor;
  summary.squares /= divisor * divisor;
  summary.min /= divisor;
  summary.max /= divisor;
  return summary;
}

NormalizeValues normalize_values(const ChannelStatistics& statistics) {
  NormalizeValues values;
  for (const NumberSummary& channel : statistics.channels()) {
    const NumberSummary seen = divided(channel, statistics.is_bytes() ? kByte : 1);
    values.mean.push_back(seen.mean);
    values.std.push_back(seen.deviation());
    values.has_constant = values.has_constant || !(seen.deviation() > 0);
    values.is_empty = values.is_empty || seen.count == 0;
  }
  return values;
}

FieldStatistics::FieldStatistics(const FieldInfo& field) : field_(field) {
  if (field.kind == FieldKind::kInteger || field.kind == FieldKind::kMask)
    contents_ = ValueCounts();
  else if (field.kind >= FieldKind::kText)
    contents_ = TextLengths();
}

void FieldStatistics::add(const SeenField& seen) {
  if (auto* channels = std::get_if<ChannelStatistics>(&contents_))
    channels->add(*seen.view);
  else if (auto* counts = std::get_if<ValueCounts>(&contents_))
    counts->add(*seen.view);
  else
    std::get<TextLengths>(contents_)
        .lengths.add(static_cast<double>(field_.kind == FieldKind::kText ? characters_of(seen.text)
                                                                         : seen.text.size()));
}

void FieldStatistics::add(const FieldStatistics& other) {
  if (auto* channels = std::get_if<ChannelStatistics>(&contents_))
    channels->add(std::get<ChannelStatistics>(other.contents_));
  else if (auto* counts = std::get_if<ValueCounts>(&contents_))
    counts->add(std::get<ValueCounts>(other.contents_));
  else
    std::get<TextLengths>(contents_).lengths.add(std::get<TextLengths>(other.contents_).lengths);
}

std::uint64_t FieldStatistics::samples() const {
  if (const auto* channels = std::get_if<ChannelStatistics>(&contents_))
    return channels->samples() + channels->complex_samples();
  if (const auto* counts = std::get_if<ValueCounts>(&contents_)) return counts->samples();
  return std::get<TextLengths>(contents_).lengths.count;
}

nlohmann::ordered_json FieldStatistics::to_json(const std::vector<std::string>& classes) const {
  nlohmann::ordered_json json = {
      {"name", field_.name}, {"kind", name_of(field_.kind)}, {"samples", samples()}};
  if (const auto* channels = std::get_if<ChannelStatistics>(&contents_)) {
    json["nan"] = channels->not_a_number();
    json["infinite"] = channels->infinite();
    json["complex_samples"] = channels->complex_samples();
    json["per_channel"] = channels->is_by_channel();
    json["channels"] = nlohmann::ordered_json::array();
    for (const NumberSummary& channel : channels->channels())
      json["channels"].push_back(penstock::to_json(channel, shown_divisor(field_.kind)));
    const double divided_by = shown_divisor(field_.kind);
    json["normalize_divides_by"] = channels->is_bytes() ? kByte / divided_by : 1;
    const NormalizeValues values = normalize_values(*channels);
    json["normalize"] = nullptr;
    if (!values.is_empty && !values.has_constant && !values.mean.empty())
      json["normalize"] = {{"mean", values.mean}, {"std", values.std}};
  } else if (const auto* counts = std::get_if<ValueCounts>(&contents_)) {
    json["values"] = penstock::to_json(counts->moments(), 1);
    json["counts"] = nullptr;
    if (!counts->are_too_many()) {
      json["counts"] = nlohmann::ordered_json::object();
      for (const auto& [value, times] : counts->counts()) json["counts"][fmt::format("{}", value)] = times;
    }
    if (field_.is_class) json["classes"] = classes;
  } else {
    json["unit"] = field_.kind == FieldKind::kText ? "characters" : "bytes";
    json["lengths"] = penstock::to_json(std::get<TextLengths>(contents_).lengths, 1);
  }
  return json;
}

}  // namespace penstock
