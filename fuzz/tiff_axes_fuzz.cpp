// The description of a TIFF page: ImageJ's lines, OME-XML, tifffile's JSON. The target tiff reaches them too, but
// only through a file that is right in everything else.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "decode/tiff/ome_xml.h"
#include "decode/tiff/tiff_axes.h"

namespace {

[[noreturn]] void broken(const char* promise) {
  std::fprintf(stderr, "broken promise: %s\n", promise);
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penstock;
  TiffDirectories file;
  file.layout.width = 10;
  file.layout.height = 12;
  file.layout.samples = size % 2 == 0 ? 1 : 3;
  file.pages = size % 7;
  file.description.assign(reinterpret_cast<const char*>(data), size);
  const auto axes = read_tiff_axes(file, "a.tif");
  if (!axes && axes.error().where.uri != "a.tif") broken("errors name the file");
  if (!axes) return 0;
  if (axes->axes.size() > 16) broken("there are few axes");
  for (const TiffAxis& axis : axes->axes)
    if (axis.size == 0 || axis.size > std::uint64_t{1} << 31) broken("sizes are bounded");
  axes->pages();
  axes->describe();
  return 0;
}
