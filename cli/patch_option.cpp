#include "patch_option.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "checks.h"

namespace penstock::cli {
namespace {

std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t comma = text.find(',');
    parts.push_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

bool is_page_axis(char letter) { return letter >= 'A' && letter <= 'Z' && letter != 'Y' && letter != 'X'; }

}  // namespace

void add_patch_option(CLI::App& app, PatchOption& option) {
  app.add_option("--patch", option.size,
                 "Patches of a volume (Zarr, .npy, TIFF): their size, as in 64,64,64, for its last axes")
      ->type_name("SIZE")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(whole_number(1, 1 << 30));
  app.add_option("--per-epoch", option.per_epoch,
                 "With --patch: that many random patches; default: a grid that covers the volume")
      ->type_name("N")
      ->check(whole_number(1, std::uint64_t{1} << 40));
  app.add_option("--labels", option.labels, "With --patch: a label volume of the same shape")->type_name("URI");
  app.add_option("--overlap", option.overlap, "With --patch: elements that neighbours of the grid share")
      ->type_name("N,N,N")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(whole_number(0, 1 << 30));
  app.add_option("--region", option.region, "With --patch: the part that patches lie in, as in 0:80,:,:")
      ->type_name("RANGES");
  app.add_option("--axes", option.axes,
                 "With --patch: how the pages of a TIFF are to be read, as in ZYX or Z=30,C=2")
      ->type_name("AXES");
}

Result<std::vector<AxisRange>> parse_region(const std::string& text) {
  std::vector<AxisRange> ranges;
  for (const std::string_view part : parts_of(text)) {
    const std::size_t colon = part.find(':');
    const std::string_view begin = part.substr(0, colon);
    const std::string_view end = colon == std::string_view::npos ? "" : part.substr(colon + 1);
    const auto from = number_in(begin), to = number_in(end);
    if (colon == std::string_view::npos || (!begin.empty() && !from) || (!end.empty() && !to))
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("--region {}: wants a range for each axis of a patch, as in 0:80,:,10:", text));
    AxisRange range;
    if (from) range.begin = *from;
    if (to) range.end = *to;
    ranges.push_back(range);
  }
  return ranges;
}

Result<std::vector<PageAxis>> parse_axes(const std::string& text) {
  std::vector<PageAxis> axes;
  bool is_good = true;
  if (text.find('=') == std::string::npos) {
    const std::string letters = text.ends_with("YXS") ? text.substr(0, text.size() - 1) : text;
    is_good = letters.size() > 2 && letters.ends_with("YX");
    for (std::size_t i = 0; is_good && i + 2 < letters.size(); ++i) axes.push_back({letters[i], 0});
  } else {
    for (const std::string_view part : parts_of(text)) {
      const auto size = part.size() > 2 && part[1] == '=' ? number_in(part.substr(2)) : std::nullopt;
      is_good = is_good && size && *size > 0;
      if (is_good) axes.push_back({part[0], *size});
    }
  }
  for (const PageAxis& axis : axes) is_good = is_good && is_page_axis(axis.name);
  if (is_good) return axes;
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("--axes {}: wants letters that end in YX, as in ZYX, or sizes of the axes before "
                          "these, as in Z=30,C=2",
                          text));
}

Result<PatchOptions> to_options(const PatchOption& option) {
  PatchOptions options;
  options.size = option.size;
  options.per_epoch = option.per_epoch;
  options.overlap = option.overlap;
  // A single number applies to all axes, as in Python.
  if (options.overlap.size() == 1) options.overlap.resize(option.size.size(), option.overlap.front());
  if (!option.labels.empty()) options.labels = {option.labels};
  if (!option.region.empty()) {
    auto region = parse_region(option.region);
    if (!region) return std::unexpected(std::move(region).error());
    options.region = std::move(*region);
  }
  if (!option.axes.empty()) {
    auto axes = parse_axes(option.axes);
    if (!axes) return std::unexpected(std::move(axes).error());
    options.axes = std::move(*axes);
  }
  return options;
}

}  // namespace penstock::cli
