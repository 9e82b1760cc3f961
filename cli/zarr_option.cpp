#include "zarr_option.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "checks.h"

namespace penstock::cli {
namespace {

template <typename Number>
std::optional<Number> number_in(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

// Recognises 2019, 2019-03 and 2019-03-01T12:00:00.5. The library checks whether the date exists.
bool looks_like_date(std::string_view text) {
  constexpr std::string_view kPattern = "0000-00-00T00:00:00";
  constexpr std::size_t kEnds[] = {4, 7, 10, 13, 16, 19};
  const auto is_digit = [](char letter) { return letter >= '0' && letter <= '9'; };
  const std::string_view whole = text.substr(0, kPattern.size()), rest = text.substr(whole.size());
  for (std::size_t i = 0; i < whole.size(); ++i)
    if (kPattern[i] == '0' ? !is_digit(whole[i]) : whole[i] != kPattern[i]) return false;
  if (rest.empty()) return std::ranges::find(kEnds, whole.size()) != std::end(kEnds);
  return rest.size() > 1 && rest.front() == '.' && std::ranges::all_of(rest.substr(1), is_digit);
}

bool is_label(std::string_view text) { return number_in<double>(text) || looks_like_date(text); }

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (bool is_last = false; !is_last;) {
    const auto end = text.find(separator);
    is_last = end == std::string_view::npos;
    parts.push_back(text.substr(0, end));
    if (!is_last) text.remove_prefix(end + 1);
  }
  return parts;
}

// Times contain colons, too, so each colon is tried as the one between the two ends.
std::optional<CoordinateRange> read_range(std::string_view text) {
  const auto end_of = [](std::string_view end) -> std::optional<CoordinateLabel> {
    if (end.empty()) return std::nullopt;
    return TypedCoordinate{std::string(end)};
  };
  for (auto colon = text.find(':'); colon != std::string_view::npos; colon = text.find(':', colon + 1)) {
    const std::string_view from = text.substr(0, colon), to = text.substr(colon + 1);
    if ((!from.empty() || !to.empty()) && (from.empty() || is_label(from)) && (to.empty() || is_label(to)))
      return CoordinateRange{end_of(from), end_of(to), 1};
  }
  return std::nullopt;
}

std::optional<Selection> read_selection(std::string_view text) {
  if (is_label(text)) return CoordinateLabel(TypedCoordinate{std::string(text)});
  if (auto range = read_range(text)) return *std::move(range);
  if (const auto colon = text.rfind(':'); colon != std::string_view::npos) {
    const auto step = number_in<std::int64_t>(text.substr(colon + 1));
    auto range = read_range(text.substr(0, colon));
    if (!step || !range) return std::nullopt;
    range->step = *step;
    return *std::move(range);
  }
  std::vector<CoordinateLabel> labels;
  for (const std::string_view part : split(text, ',')) {
    if (!is_label(part)) return std::nullopt;
    labels.push_back(TypedCoordinate{std::string(part)});
  }
  return labels;
}

std::optional<Positions> read_positions(std::string_view text) {
  if (const auto one = number_in<std::int64_t>(text)) return *one;
  if (!text.contains(':')) {
    std::vector<std::int64_t> list;
    for (const std::string_view part : split(text, ',')) {
      const auto number = number_in<std::int64_t>(part);
      if (!number) return std::nullopt;
      list.push_back(*number);
    }
    return list;
  }
  std::vector<std::optional<std::int64_t>> numbers;
  for (const std::string_view part : split(text, ':')) {
    numbers.push_back(number_in<std::int64_t>(part));
    if (!part.empty() && !numbers.back()) return std::nullopt;
  }
  if (numbers.size() > 3) return std::nullopt;
  numbers.resize(3);
  return IndexRange{numbers[0], numbers[1], numbers[2].value_or(1)};
}

struct NamedText {
  std::string dimension;
  std::string_view text;
};
std::optional<NamedText> split_name(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0) return std::nullopt;
  return NamedText{text.substr(0, equals), std::string_view(text).substr(equals + 1)};
}

template <typename Parse>
CLI::Validator parsed_by(Parse parse) {
  return {[parse](std::string& text) {
            const auto parsed = parse(text);
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
  app.add_option("--select", option.select,
                 "Of Zarr, by coordinate: lat=30:60, time=2019-01:2019-06 (both ends included), level=500,850; "
                 "again for more")
      ->type_name("DIM=VALUES")
      ->allow_extra_args(false)
      ->check(parsed_by(parse_selection));
  app.add_option("--isel", option.isel, "Of Zarr, by position: time=0:100, time=::6, level=0,3; again for more")
      ->type_name("DIM=POSITIONS")
      ->allow_extra_args(false)
      ->check(parsed_by(parse_positions));
  app.add_option("--window", option.window, "Of Zarr: steps of history and horizon that make a sample, as in 2,3")
      ->type_name("HISTORY,HORIZON")
      ->delimiter(',')
      ->expected(2)
      ->check(whole_number(0, 100'000));
  app.add_option("--gaps", option.gaps, "Of Zarr: allow makes samples of windows over gaps in time, too")
      ->type_name("MODE")
      ->check(one_of({"skip", "allow"}));
}

Result<NamedSelection> parse_selection(const std::string& text) {
  if (const auto named = split_name(text))
    if (auto selection = read_selection(named->text))
      return NamedSelection{named->dimension, *std::move(selection)};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("\"{}\" selects nothing: wants lat=30:60, time=2019-01:2019-06 or level=500,850; "
                          "--isel time=0:100 selects by position",
                          text));
}

Result<NamedPositions> parse_positions(const std::string& text) {
  if (const auto named = split_name(text))
    if (auto positions = read_positions(named->text))
      return NamedPositions{named->dimension, *std::move(positions)};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("\"{}\" selects nothing: wants time=0:100, time=::6, level=3 or level=0,3", text));
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
  for (const std::string& text : option.isel) {
    auto parsed = parse_positions(text);
    if (!parsed) return std::unexpected(std::move(parsed).error());
    options.isel.emplace_back(std::move(parsed->dimension), std::move(parsed->positions));
  }
  if (!option.window.empty()) {
    for (std::int64_t step = 1 - option.window[0]; step <= 0; ++step) options.history.push_back(step);
    for (std::int64_t step = 1; step <= option.window[1]; ++step) options.horizon.push_back(step);
    if (options.history.empty() && options.horizon.empty())
      return fail(ErrorCode::kInvalidArgument, "--window 0,0 has no steps");
  }
  if (option.gaps == "allow") options.gaps = ZarrOptions::Gaps::kAllow;
  return options;
}

}  // namespace penstock::cli
