#include "zarr_option.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/lower_case.h"

namespace penstock::cli {
namespace {

template <typename Number>
std::optional<Number> number_in(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

// Something like 2019, 2019-03 or 2019-03-01T12:00; whether it is a day of a calendar, the library says.
bool looks_like_date(std::string_view text) {
  if (text.size() < 4 || !number_in<unsigned>(text.substr(0, 4))) return false;
  return text.size() == 4 || (text[4] == '-' && text.size() > 5);
}

// A year alone could be a coordinate as well.
bool counts_time(std::string_view dimension) {
  const std::string name = lower_case(dimension);
  return name.contains("time") || name.contains("date");
}

std::optional<Selection> by_entries(std::string_view text) {
  std::vector<std::optional<std::int64_t>> numbers;
  for (bool is_last = false; !is_last;) {
    const auto colon = text.find(':');
    is_last = colon == std::string_view::npos;
    const std::string_view part = text.substr(0, colon);
    numbers.push_back(number_in<std::int64_t>(part));
    if (!part.empty() && !numbers.back()) return std::nullopt;
    if (!is_last) text.remove_prefix(colon + 1);
  }
  if (numbers.size() > 3 || (numbers.size() == 1 && !numbers.front())) return std::nullopt;
  IndexRange range{numbers.front(), std::nullopt, 1};
  if (numbers.size() == 1 && *range.first != -1) range.end = *range.first + 1;
  if (numbers.size() > 1) range.end = numbers[1];
  if (numbers.size() > 2) range.step = numbers[2].value_or(1);
  return range;
}

// Times have colons of their own, so every one is tried as the one between the ends.
std::optional<Selection> by_values(std::string_view dimension, std::string_view text) {
  const auto pair = [&](std::string_view from, std::string_view to) -> std::optional<Selection> {
    if (from.empty() && to.empty()) return std::nullopt;
    const auto is_date = [](std::string_view end) { return end.empty() || looks_like_date(end); };
    const auto low = number_in<double>(from), high = number_in<double>(to);
    const bool are_numbers = (from.empty() || low) && (to.empty() || high);
    if (are_numbers && !(counts_time(dimension) && is_date(from) && is_date(to))) {
      constexpr double kFar = std::numeric_limits<double>::infinity();
      return CoordinateRange{low.value_or(-kFar), high.value_or(kFar)};
    }
    if (!is_date(from) || !is_date(to)) return std::nullopt;
    return DateRange{std::string(from), std::string(to)};
  };
  for (auto colon = text.find(':'); colon != std::string_view::npos; colon = text.find(':', colon + 1))
    if (auto found = pair(text.substr(0, colon), text.substr(colon + 1))) return found;
  return pair(text, text);
}

CLI::Validator selection() {
  return {[](std::string& text) {
            const auto parsed = parse_selection(text);
            return parsed ? std::string() : parsed.error().message;
          },
          ""};
}

}  // namespace

void add_zarr_option(CLI::App& app, ZarrOption& option) {
  app.add_option("--variables", option.variables,
                 "Of a Zarr group, as in t2m,msl; default: all with the sample dimension")
      ->type_name("NAMES")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--sample-dim", option.sample_dim,
                 "Of Zarr: what counts samples, by name or number; default: the first")
      ->type_name("DIM");
  app.add_option(
         "--select", option.select,
         "Of Zarr: lat=30:60, time=2019-01:2019-06 (both ends included) or time=[0:100]; again for more")
      ->type_name("DIM=RANGE")
      ->allow_extra_args(false)
      ->check(selection());
}

Result<NamedSelection> parse_selection(const std::string& text) {
  const auto equals = text.find('=');
  if (equals != std::string::npos && equals > 0) {
    const std::string dimension = text.substr(0, equals);
    std::string_view range = std::string_view(text).substr(equals + 1);
    const bool is_entries = range.starts_with('[') && range.ends_with(']');
    if (is_entries) range = range.substr(1, range.size() - 2);
    if (auto found = is_entries ? by_entries(range) : by_values(dimension, range))
      return NamedSelection{dimension, *std::move(found)};
  }
  return fail(
      ErrorCode::kInvalidArgument,
      fmt::format("\"{}\" selects nothing: wants lat=30:60, time=2019-01:2019-06 or time=[0:100]", text));
}

Result<ZarrOptions> to_options(const ZarrOption& option) {
  ZarrOptions options;
  options.variables = option.variables;
  if (const auto axis = number_in<int>(option.sample_dim))
    options.sample_dim = *axis;
  else if (!option.sample_dim.empty())
    options.sample_dim = option.sample_dim;
  for (const std::string& text : option.select) {
    auto parsed = parse_selection(text);
    if (!parsed) return std::unexpected(std::move(parsed).error());
    options.select.emplace_back(std::move(parsed->dimension), std::move(parsed->selection));
  }
  return options;
}

}  // namespace penstock::cli
