// The few attributes of OME-XML that say how the pages of an OME-TIFF make up its axes.
//
// This is a scan over tags and attributes, not an XML parser: it keeps nothing but numbers, resolves no
// entities, follows no references and refuses documents with a DOCTYPE. Time and memory are linear in
// the text, whatever it says.
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
  std::uint64_t images = 0;     // Pixels elements; the others describe the first
  bool in_order = true;         // pages stand in the file as `order` says
  bool several_files = false;   // the planes are those of several files
};

bool is_ome_xml(std::string_view text);

// Nothing where the text has no Pixels, as in files that only name another file with the metadata. The text
// may be cut off at its end.
Result<std::optional<OmePixels>> read_ome_pixels(std::string_view text, const std::string& uri);

}  // namespace penstock
