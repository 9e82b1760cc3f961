// Reads the attributes of OME-XML that say which axes the pages of an OME-TIFF form.
//
// This is a scan over tags and attributes, not an XML parser: it keeps only numbers, resolves no entities,
// follows no references and refuses documents with a DOCTYPE. Its time and memory are linear in the size of
// any text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "penstock/result.h"

namespace penstock {

struct OmePixels {
  std::string order;  // of the page axes, the fastest first: "ZCT" and the like
  std::uint64_t x = 0, y = 0, z = 1, c = 1, t = 1;
  std::uint64_t images = 0;     // number of Pixels elements; the other members describe the first
  bool in_order = true;         // the pages are in the order that `order` says
  bool several_files = false;   // the planes are spread over several files
};

bool is_ome_xml(std::string_view text);

// Returns nothing if the text has no Pixels element, as in files that only name another file with the
// metadata. The text may be truncated.
Result<std::optional<OmePixels>> read_ome_pixels(std::string_view text, const std::string& uri);

}  // namespace penstock
