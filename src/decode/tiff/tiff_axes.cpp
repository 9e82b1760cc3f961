#include "decode/tiff/tiff_axes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/checked_math.h"
#include "base/text/lower_case.h"
#include "decode/tiff/ome_xml.h"

namespace penstock {
namespace {

constexpr std::uint64_t kMaxAxisEntries = std::uint64_t{1} << 31;  // along one axis
constexpr std::size_t kMaxShapeEntries = 16;

std::optional<std::uint64_t> whole_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value == 0 || value > kMaxAxisEntries)
    return std::nullopt;
  return value;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kSpace);
  return first == std::string_view::npos ? std::string_view()
                                         : text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

void drop_single_entries(std::vector<TiffAxis>& axes) {
  std::erase_if(axes, [](const TiffAxis& axis) { return axis.size == 1; });
}

// The value of a "key=value" line.
std::optional<std::string_view> line_value(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t equals = line.find('=');
    if (equals != std::string_view::npos && trimmed(line.substr(0, equals)) == key)
      return trimmed(line.substr(equals + 1));
  }
  return std::nullopt;
}

// In ImageJ's files, channels vary fastest, then slices, then frames, unless `order` says otherwise.
Result<TiffPageAxes> imagej_axes(const TiffDirectories& file, const std::string& uri) {
  TiffPageAxes out;
  out.told_by = "ImageJ's description";
  const auto size = [&](const char* key) -> Result<std::uint64_t> {
    const auto text = line_value(file.description, key);
    if (!text) return std::uint64_t{1};
    const auto value = whole_number(*text);
    if (value) return *value;
    return fail(ErrorCode::kCorrupt, fmt::format("{} has {}={}", out.told_by, key, text->substr(0, 40)),
                {uri, -1, -1, -1});
  };
  const auto frames = size("frames"), slices = size("slices");
  auto channels = size("channels");
  for (const auto& part : {frames, slices, channels})
    if (!part) return std::unexpected(part.error());
  // Some writers count the samples of RGB pixels as channels.
  if (*channels == file.layout.samples && *frames * *slices == file.pages) channels = 1;
  std::string order = lower_case(line_value(file.description, "order").value_or("czt"));
  std::string sorted = order;
  std::ranges::sort(sorted);
  if (sorted != "ctz") order = "czt";
  for (std::size_t i = order.size(); i-- > 0;)
    out.axes.push_back({static_cast<char>(order[i] - 'a' + 'A'),
                        order[i] == 'c'   ? *channels
                        : order[i] == 'z' ? *slices
                                          : *frames});
  drop_single_entries(out.axes);
  return out;
}

Result<TiffPageAxes> ome_axes(const TiffDirectories& file, const std::string& uri) {
  const auto pixels = read_ome_pixels(file.description, uri);
  if (!pixels) return std::unexpected(pixels.error());
  TiffPageAxes out;
  out.told_by = "the OME-XML";
  if (!*pixels) {
    if (file.pages > 1) out.problem = "its OME-XML says nothing about the pages (it may name another file)";
    return out;
  }
  const OmePixels& image = **pixels;
  const TiffLayout& layout = file.layout;
  if (image.x != layout.width || image.y != layout.height)
    return fail(ErrorCode::kCorrupt,
                fmt::format("the OME-XML says {} x {} pixels, the pages have {} x {}", image.y, image.x,
                            layout.height, layout.width),
                {uri, -1, -1, -1});
  const std::uint64_t channels = image.c % layout.samples == 0 ? image.c / layout.samples : image.c;
  for (std::size_t i = image.order.size(); i-- > 0;) {
    const char axis = image.order[i];
    out.axes.push_back({axis, axis == 'Z' ? image.z : axis == 'C' ? channels : image.t});
  }
  drop_single_entries(out.axes);
  out.several_files = image.several_files;
  if (image.images > 1) out.problem = fmt::format("its OME-XML describes {} images", image.images);
  if (!image.several_files && !image.in_order && layout.samples == 1)
    out.problem = "its OME-XML says that the pages are in another order than the axes";
  return out;
}

// tifffile writes {"shape": [30, 2, 512, 512], "axes": "ZCYX"}. Only these two values are read.
std::optional<std::string_view> json_value(std::string_view text, std::string_view key, char open, char close) {
  const std::size_t found = text.find(fmt::format("\"{}\"", key));
  if (found == std::string_view::npos) return std::nullopt;
  text.remove_prefix(found + key.size() + 2);
  text = trimmed(text);
  if (!text.starts_with(':')) return std::nullopt;
  text = trimmed(text.substr(1));
  if (!text.starts_with(open)) return std::nullopt;
  const std::size_t end = text.find(close, 1);
  if (end == std::string_view::npos) return std::nullopt;
  return text.substr(1, end - 1);
}

TiffPageAxes shaped_axes(const TiffDirectories& file) {
  TiffPageAxes out;
  out.told_by = "tifffile's description";
  auto list = json_value(file.description, "shape", '[', ']');
  std::vector<std::uint64_t> shape;
  while (list && !list->empty()) {
    const std::size_t comma = std::min(list->find(','), list->size());
    const auto extent = whole_number(trimmed(list->substr(0, comma)));
    if (!extent || shape.size() == kMaxShapeEntries) return out;
    shape.push_back(*extent);
    list->remove_prefix(std::min(comma + 1, list->size()));
  }
  const std::string letters(json_value(file.description, "axes", '"', '"').value_or(""));
  const bool has_letters = letters.size() == shape.size();
  const TiffLayout& layout = file.layout;
  const std::vector<std::uint64_t> page = {layout.height, layout.width, layout.samples};
  std::size_t page_axes = 0;
  for (const std::size_t axes : {std::size_t{3}, std::size_t{2}})
    if (page_axes == 0 && shape.size() >= axes && (axes == 3 || layout.samples == 1) &&
        std::equal(shape.end() - static_cast<std::ptrdiff_t>(axes), shape.end(), page.begin()))
      page_axes = axes;
  if (page_axes == 0) return out;  // the shape does not divide into pages, so the file says nothing about page axes
  for (std::size_t i = 0; i + page_axes < shape.size(); ++i)
    out.axes.push_back({has_letters ? letters[i] : 'Q', shape[i]});
  if (out.axes.size() == 1) {
    if (!has_letters) out.axes.front().name = 'Z';
    drop_single_entries(out.axes);
  }
  return out;
}

}  // namespace

std::uint64_t TiffPageAxes::pages() const {
  std::uint64_t pages = 1;
  for (const TiffAxis& axis : axes) pages = checked_multiply(pages, axis.size).value_or(UINT64_MAX);
  return pages;
}

std::string TiffPageAxes::describe() const {
  std::vector<std::string> parts;
  for (const TiffAxis& axis : axes) parts.push_back(fmt::format("{} {}", axis.name, axis.size));
  return fmt::format("{}", fmt::join(parts, " x "));
}

Result<TiffPageAxes> read_tiff_axes(const TiffDirectories& file, const std::string& uri) {
  const std::string& text = file.description;
  if (text.starts_with("ImageJ=") || text.starts_with("SCIFIO=")) return imagej_axes(file, uri);
  if (is_ome_xml(text)) return ome_axes(file, uri);
  if (text.starts_with('{')) return shaped_axes(file);
  return TiffPageAxes{};
}

}  // namespace penstock
