// Images that Streaming stored as Pillow holds them: width, height, mode and pixels, without a file format.
//
// They become files of a simple format without loss, so that decoding, cropping and resizing work as for other images.
#pragma once

#include "base/bytes.h"
#include "penstock/source.h"

namespace penstock {

// The modes 1, L, P, RGB and RGBA are read, all others fail with kUnsupported. Streaming does not store palettes, so the
// pixels of P are the numbers of its colours.
Result<ConstBytes> as_image_file(ConstBytes stored, const Source::Allocate& allocate);

}  // namespace penstock
