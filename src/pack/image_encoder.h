// Encodes pixels as JPEG or PNG. Pure functions of their arguments: the same pixels give the same bytes on every thread.
#pragma once

#include "pack/pack_buffer.h"
#include "penstock/pack.h"
#include "transform/view.h"

namespace penstock {

// The view is an image of uint8 with one or three channels; its strides may be anything. JPEG has 4:2:0 colours and
// optimised tables. Fails with kUnsupported for other views, and with kStopped once this thread is interrupted.
Status encode_jpeg(const View& image, int quality, PackBuffer& out);
// As above; loses nothing.
Status encode_png(const View& image, PackBuffer& out);

}  // namespace penstock
