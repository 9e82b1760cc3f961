#include "volume_description.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "base/text/public_uri.h"
#include "format.h"
#include "sizes.h"
#include "source/path_pattern.h"
#include "source/patches/open_volume.h"

namespace penstock::cli {
namespace {

// The stored size of all strips or tiles, which is known without reading them.
std::uint64_t stored_bytes(const ChunkedArray& volume) {
  std::uint64_t bytes = 0;
  for (std::uint64_t chunk = 0; chunk < volume.chunks(); ++chunk)
    if (const auto place = volume.location(chunk); place && !place->is_missing) bytes += place->read.range.length;
  return bytes;
}

// Suggests a patch size: the whole axes of pages, and at most 64 along Y and X.
Shape example_size(const ChunkedArray& volume) {
  Shape size = volume.spec().shape;
  const std::size_t y = volume.axes().find('Y');
  for (std::size_t d = y; d < size.size() && d < y + 2; ++d) size[d] = std::min<std::int64_t>(size[d], 64);
  return size;
}

}  // namespace

bool is_tiff_file(const std::string& uri) { return is_tiff_name(uri) && !is_pattern(uri); }

Result<ChunkedArrayPtr> open_tiff_file(const std::string& uri) {
  auto volume = open_volume(uri, VolumeUse::kMask, {});
  if (!volume) return std::unexpected(std::move(volume).error());
  return std::move(volume->array);
}

void print_volume(const ChunkedArray& volume, bool as_json) {
  const ArraySpec& spec = volume.spec();
  const auto stored = static_cast<double>(stored_bytes(volume)), decoded = static_cast<double>(spec.bytes());
  if (as_json) {
    const nlohmann::ordered_json json = {{"uri", without_secrets(volume.uri())},
                                         {"kind", "TIFF volume"},
                                         {"shape", spec.shape},
                                         {"axes", volume.axes()},
                                         {"dtype", name_of(spec.dtype)},
                                         {"chunk_shape", volume.chunk_shape()},
                                         {"chunks", volume.chunks()},
                                         {"compression", volume.compression()},
                                         {"stored_bytes", static_cast<std::uint64_t>(stored)},
                                         {"decoded_bytes", spec.bytes()}};
    fmt::print("{}\n", json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    return;
  }
  fmt::print("{}\n\n", without_secrets(volume.uri()));
  fmt::print("  kind       TIFF volume\n");
  fmt::print("  shape      {} {}\n", fmt::join(spec.shape, "x"), name_of(spec.dtype));
  fmt::print("  axes       {}\n", volume.axes());
  fmt::print("  chunks     {} of {}, {}\n", with_commas(volume.chunks()), fmt::join(volume.chunk_shape(), "x"),
             volume.compression());
  fmt::print("  stored     {}\n", format_bytes(stored));
  fmt::print("  decoded    {}\n", format_bytes(decoded));
  fmt::print("  samples    are patches: give their size, as in --patch {}\n",
             fmt::join(example_size(volume), ","));
}

}  // namespace penstock::cli
