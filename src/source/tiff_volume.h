// A multi-page TIFF, or several TIFF files one after another, as one array (z, y, x), or (z, y, x, channel)
// where pixels have several samples.
//
// Chunks are the strips or tiles of the pages, each read by its place in the file. Uncompressed strips
// that stand one after another are cut anew, into stretches of about 256 KiB of a page, since many
// writers make them one row high, or as high as the page.
//
// Elements are as they are stored: colours are not converted, and the pages of a file with several
// axes (OME-TIFF, ImageJ's hyperstacks) follow each other along z in the order of the file.
#pragma once

#include "source/chunked_array.h"

namespace penstock {

// `keys` in the order of z; all their pages must agree in size, type and layout. All directories are
// read at once; files that change later are kChanged when they are read. A strip or tile of no bytes
// is all zeros.
Result<ChunkedArrayPtr> open_tiff_volume(std::shared_ptr<const Store> store, const std::string& uri,
                                         std::vector<std::string> keys);

}  // namespace penstock
