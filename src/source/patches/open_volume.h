// One volume, whatever it is stored as.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "penstock/arrays.h"
#include "source/chunked_array.h"
#include "source/value_coding.h"

namespace penstock {

struct Volume {
  ChunkedArrayPtr array;
  std::shared_ptr<const ValueCoding> coding;  // nullptr: values are as they are stored
  std::string axes;  // one letter per axis, C: channels, S: samples of a pixel; empty: not known

  DType dtype() const { return coding ? coding->dtype : array->spec().dtype; }
};

enum class VolumeUse : std::uint8_t { kImage, kLabel, kMask };

// A Zarr array, a .npy file or a TIFF stack (one file, or a pattern or folder of files with the planes in
// natural order of their names). The array keeps the store. Values of images are decoded as `options` says,
// those of labels only where they are scaled; masks are never decoded.
Result<Volume> open_volume(const std::string& uri, VolumeUse use, const PatchOptions& options);

// By its ending.
bool is_tiff_name(const std::string& path);

}  // namespace penstock
