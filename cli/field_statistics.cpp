#include "field_statistics.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "format.h"

namespace penstock::cli {
namespace {

constexpr std::size_t kListed = 20;  // values
constexpr double kByte = 255;

std::string plural(std::uint64_t count, const char* one) {
  return count == 1 ? fmt::format("1 {}", one) : fmt::format("{} {}s", with_commas(count), one);
}

// Images are shown as Normalize sees them, from 0 to 1; arrays as they are.
Moments scaled(Moments moments, double by) {
  moments.mean /= by;
  moments.squares /= by * by;
  moments.min /= by;
  moments.max /= by;
  return moments;
}

struct NormalizeLine {
  std::vector<double> mean, std;
  bool has_constant = false;  // nothing to divide by
  bool is_empty = false;
};

NormalizeLine normalize_of(const ChannelStatistics& statistics) {
  NormalizeLine line;
  for (const Moments& channel : statistics.channels()) {
    const Moments seen = scaled(channel, statistics.is_bytes() ? kByte : 1);
    line.mean.push_back(seen.mean);
    line.std.push_back(seen.deviation());
    line.has_constant = line.has_constant || !(seen.deviation() > 0);
    line.is_empty = line.is_empty || seen.count == 0;
  }
  return line;
}

std::string as_tuple(const std::vector<double>& numbers) {
  std::string text;
  for (const double number : numbers) text += fmt::format("{}{:.6g}", text.empty() ? "" : ", ", number);
  return numbers.size() == 1 ? fmt::format("({},)", text) : fmt::format("({})", text);
}

std::string number(double value) { return fmt::format("{:>12.6g}", value); }

std::string describe_channels(const ChannelStatistics& statistics, bool is_image) {
  std::string text = plural(statistics.samples(), "sample");
  if (is_image) text += ", values / 255";
  if (statistics.not_a_number() > 0)
    text += fmt::format(", {} NaN left out", with_commas(statistics.not_a_number()));
  if (statistics.infinite() > 0)
    text += fmt::format(", {} infinite left out", with_commas(statistics.infinite()));
  if (statistics.complex_samples() > 0)
    text += fmt::format(", {} of complex numbers left out", plural(statistics.complex_samples(), "sample"));
  const std::vector<Moments> channels = statistics.channels();
  if (std::ranges::all_of(channels, [](const Moments& channel) { return channel.count == 0; }))
    return text + "\n";
  text += fmt::format("\n    {:<8}{:>12}{:>12}{:>12}{:>12}\n", statistics.is_by_channel() ? "channel" : "",
                      "mean", "std", "min", "max");
  for (std::size_t i = 0; i < channels.size(); ++i) {
    const Moments seen = scaled(channels[i], is_image ? kByte : 1);
    text += fmt::format("    {:<8}{}{}{}{}\n", statistics.is_by_channel() ? fmt::format("{}", i) : "all",
                        number(seen.mean), number(seen.deviation()), number(seen.min), number(seen.max));
  }
  const NormalizeLine line = normalize_of(statistics);
  if (line.is_empty) return text;
  return text + (line.has_constant ? "    no Normalize: a channel has the same value everywhere\n"
                                   : fmt::format("    ps.Normalize(mean={}, std={})\n", as_tuple(line.mean),
                                                 as_tuple(line.std)));
}

std::string describe_counts(const ValueCounts& counts, const char* unit,
                            const std::vector<std::string>& classes) {
  std::string text = plural(counts.samples(), "sample");
  if (counts.are_too_many())
    return fmt::format("{}, too many values to count: from {:.0f} to {:.0f}, mean {:.6g}\n", text,
                       counts.moments().min, counts.moments().max, counts.moments().mean);
  if (counts.counts().empty()) return text + "\n";
  const auto by_count = [](const auto& entry) { return entry.second; };
  const auto [rarest, commonest] = std::ranges::minmax_element(counts.counts(), {}, by_count);
  if (counts.counts().size() == 1) return text + fmt::format(", always {}\n", counts.counts().begin()->first);
  text += fmt::format(", {} from {} to {}", plural(counts.counts().size(), "value"),
                      counts.counts().begin()->first, counts.counts().rbegin()->first);
  text += rarest->second == commonest->second
              ? fmt::format(", {} each\n", plural(rarest->second, unit))
              : fmt::format("; rarest {} ({}), most frequent {} ({})\n", rarest->first,
                            with_commas(rarest->second), commonest->first, with_commas(commonest->second));
  std::size_t listed = 0;
  for (const auto& [value, times] : counts.counts()) {
    if (++listed > kListed) break;
    const bool is_named = value >= 0 && static_cast<std::size_t>(value) < classes.size();
    text +=
        fmt::format("    {:<8}{:>12} {:>7}{}\n", value, with_commas(times),
                    format_percent(static_cast<double>(times) / static_cast<double>(counts.moments().count)),
                    is_named ? "   " + classes[static_cast<std::size_t>(value)] : "");
  }
  if (counts.counts().size() > kListed)
    text +=
        fmt::format("    and {} (--json has all)\n", plural(counts.counts().size() - kListed, "more value"));
  return text;
}

nlohmann::ordered_json moments_json(const Moments& moments, double by) {
  if (moments.count == 0)
    return {{"count", 0}, {"mean", nullptr}, {"std", nullptr}, {"min", nullptr}, {"max", nullptr}};
  const Moments seen = scaled(moments, by);
  return {{"count", seen.count},
          {"mean", seen.mean},
          {"std", seen.deviation()},
          {"min", seen.min},
          {"max", seen.max}};
}

// Code points, as Python counts them; text is known to be UTF-8 here.
std::size_t characters_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace

FieldStatistics::FieldStatistics(const FieldInfo& field) : field_(field) {
  if (field.kind == FieldKind::kInteger || field.kind == FieldKind::kMask)
    statistics_ = ValueCounts();
  else if (field.kind >= FieldKind::kText)
    statistics_ = TextLengths();
}

void FieldStatistics::add(const SampleWorker::Seen& seen) {
  if (auto* channels = std::get_if<ChannelStatistics>(&statistics_))
    channels->add(*seen.view);
  else if (auto* counts = std::get_if<ValueCounts>(&statistics_))
    counts->add(*seen.view);
  else
    std::get<TextLengths>(statistics_)
        .lengths.add(static_cast<double>(field_.kind == FieldKind::kText ? characters_of(seen.text)
                                                                         : seen.text.size()));
}

void FieldStatistics::add(const FieldStatistics& other) {
  if (auto* channels = std::get_if<ChannelStatistics>(&statistics_))
    channels->add(std::get<ChannelStatistics>(other.statistics_));
  else if (auto* counts = std::get_if<ValueCounts>(&statistics_))
    counts->add(std::get<ValueCounts>(other.statistics_));
  else
    std::get<TextLengths>(statistics_).lengths.add(std::get<TextLengths>(other.statistics_).lengths);
}

std::uint64_t FieldStatistics::samples() const {
  if (const auto* channels = std::get_if<ChannelStatistics>(&statistics_))
    return channels->samples() + channels->complex_samples();
  if (const auto* counts = std::get_if<ValueCounts>(&statistics_)) return counts->samples();
  return std::get<TextLengths>(statistics_).lengths.count;
}

std::string FieldStatistics::describe(const std::vector<std::string>& classes) const {
  const std::string head = fmt::format("  {} ({}): ", field_.name, name_of(field_.kind));
  if (const auto* channels = std::get_if<ChannelStatistics>(&statistics_))
    return head + describe_channels(*channels, field_.kind == FieldKind::kImage);
  if (const auto* counts = std::get_if<ValueCounts>(&statistics_))
    return head + describe_counts(*counts, field_.kind == FieldKind::kMask ? "pixel" : "sample",
                                  field_.is_class ? classes : std::vector<std::string>());
  const Moments& lengths = std::get<TextLengths>(statistics_).lengths;
  if (lengths.count == 0) return head + "0 samples\n";
  return head + fmt::format("{}, {} to {} {}, mean {:.1f}, std {:.1f}\n", plural(lengths.count, "sample"),
                            with_commas(lengths.min), with_commas(lengths.max),
                            field_.kind == FieldKind::kText ? "characters" : "bytes", lengths.mean,
                            lengths.deviation());
}

nlohmann::ordered_json FieldStatistics::to_json(const std::vector<std::string>& classes) const {
  nlohmann::ordered_json json = {
      {"name", field_.name}, {"kind", name_of(field_.kind)}, {"samples", samples()}};
  if (const auto* channels = std::get_if<ChannelStatistics>(&statistics_)) {
    json["nan"] = channels->not_a_number();
    json["infinite"] = channels->infinite();
    json["complex_samples"] = channels->complex_samples();
    json["per_channel"] = channels->is_by_channel();
    json["channels"] = nlohmann::ordered_json::array();
    for (const Moments& channel : channels->channels())
      json["channels"].push_back(moments_json(channel, field_.kind == FieldKind::kImage ? kByte : 1));
    const NormalizeLine line = normalize_of(*channels);
    json["normalize"] = nullptr;
    if (!line.is_empty && !line.has_constant && !line.mean.empty())
      json["normalize"] = {{"mean", line.mean}, {"std", line.std}};
  } else if (const auto* counts = std::get_if<ValueCounts>(&statistics_)) {
    json["values"] = moments_json(counts->moments(), 1);
    json["counts"] = nullptr;
    if (!counts->are_too_many()) {
      json["counts"] = nlohmann::ordered_json::object();
      for (const auto& [value, times] : counts->counts()) json["counts"][fmt::format("{}", value)] = times;
    }
    if (field_.is_class) json["classes"] = classes;
  } else {
    json["unit"] = field_.kind == FieldKind::kText ? "characters" : "bytes";
    json["lengths"] = moments_json(std::get<TextLengths>(statistics_).lengths, 1);
  }
  return json;
}

}  // namespace penstock::cli
