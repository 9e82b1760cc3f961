#include "field_description.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "format.h"

namespace penstock::cli {
namespace {

constexpr std::size_t kListed = 20;  // values that are listed

std::string plural(std::uint64_t count, const char* one) {
  return count == 1 ? fmt::format("1 {}", one) : fmt::format("{} {}s", with_commas(count), one);
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
  const std::vector<NumberSummary> channels = statistics.channels();
  if (std::ranges::all_of(channels, [](const NumberSummary& channel) { return channel.count == 0; }))
    return text + "\n";
  text += fmt::format("\n    {:<8}{:>12}{:>12}{:>12}{:>12}\n", statistics.is_by_channel() ? "channel" : "",
                      "mean", "std", "min", "max");
  for (std::size_t i = 0; i < channels.size(); ++i) {
    const NumberSummary seen = divided(channels[i], is_image ? shown_divisor(FieldKind::kImage) : 1);
    text += fmt::format("    {:<8}{}{}{}{}\n", statistics.is_by_channel() ? fmt::format("{}", i) : "all",
                        number(seen.mean), number(seen.deviation()), number(seen.min), number(seen.max));
  }
  const NormalizeValues line = normalize_values(statistics);
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

}  // namespace

std::string describe(const FieldStatistics& statistics, const std::vector<std::string>& classes) {
  const FieldInfo& field = statistics.field();
  const std::string head = fmt::format("  {} ({}): ", field.name, name_of(field.kind));
  if (const auto* channels = std::get_if<ChannelStatistics>(&statistics.contents()))
    return head + describe_channels(*channels, field.kind == FieldKind::kImage);
  if (const auto* counts = std::get_if<ValueCounts>(&statistics.contents()))
    return head + describe_counts(*counts, field.kind == FieldKind::kMask ? "pixel" : "sample",
                                  field.is_class ? classes : std::vector<std::string>());
  const NumberSummary& lengths = std::get<FieldStatistics::TextLengths>(statistics.contents()).lengths;
  if (lengths.count == 0) return head + "0 samples\n";
  return head + fmt::format("{}, {} to {} {}, mean {:.1f}, std {:.1f}\n", plural(lengths.count, "sample"),
                            with_commas(lengths.min), with_commas(lengths.max),
                            field.kind == FieldKind::kText ? "characters" : "bytes", lengths.mean,
                            lengths.deviation());
}

}  // namespace penstock::cli
