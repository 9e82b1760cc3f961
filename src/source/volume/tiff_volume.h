// A multi-page TIFF, or several TIFF files in sequence, as one array (z, y, x), or (z, y, x, channel) if pixels
// have several samples. If the metadata of ImageJ, OME or tifffile divides the pages into several axes, the array
// has these, as in (t, z, c, y, x).
//
// Chunks are the strips or tiles of the pages, each of which is read at its offset in the file. Uncompressed
// contiguous strips are divided differently, into stretches of about 256 KiB of a page, because many writers make
// strips that are one row or a whole page high.
//
// Elements are delivered as they are stored: colours are not converted.
#pragma once

#include "penstock/source.h"
#include "source/chunked_array.h"

namespace penstock {

// `keys` are in the order of z, and all their pages must agree in size, type and layout. All directories are read
// during the call; if a file changes later, reading fails with kChanged. A strip or tile without bytes is all
// zeros. `axes`, which excludes the axes within a page, replaces the axes of the metadata. Metadata that
// contradicts the pages is an error. Several files with several axes each get an additional first axis that counts
// files.
Result<ChunkedArrayPtr> open_tiff_volume(std::shared_ptr<const Store> store, const std::string& uri,
                                         std::vector<std::string> keys,
                                         const std::vector<PageAxis>& axes = {});

}  // namespace penstock
