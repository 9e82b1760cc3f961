// A multi-page TIFF, or several TIFF files one after another, as one array (z, y, x), or (z, y, x, channel)
// where pixels have several samples. Where the metadata of ImageJ, OME or tifffile divides the pages into
// several axes, the array has these, as in (t, z, c, y, x).
//
// Chunks are the strips or tiles of the pages, each read by its place in the file. Uncompressed strips
// that stand one after another are cut anew, into stretches of about 256 KiB of a page, since many
// writers make them one row high, or as high as the page.
//
// Elements are as they are stored: colours are not converted.
#pragma once

#include "penstock/arrays.h"
#include "source/chunked_array.h"

namespace penstock {

// `keys` in the order of z; all their pages must agree in size, type and layout. All directories are
// read at once; files that change later are kChanged when they are read. A strip or tile of no bytes
// is all zeros. `axes` of the pages, without those of a page, replace what the metadata says. Metadata that
// contradicts the pages is an error. Several files with several axes each have an axis of files in front.
Result<ChunkedArrayPtr> open_tiff_volume(std::shared_ptr<const Store> store, const std::string& uri,
                                         std::vector<std::string> keys,
                                         const std::vector<PageAxis>& axes = {});

}  // namespace penstock
