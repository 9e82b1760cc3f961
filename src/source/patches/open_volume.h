// A volume in any of the supported formats.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "penstock/source.h"
#include "source/chunked_array.h"
#include "source/value_coding.h"

namespace penstock {

struct Volume {
  ChunkedArrayPtr array;
  std::shared_ptr<const ValueCoding> coding;  // nullptr: values are delivered as they are stored
  std::string axes;  // one letter per axis, C: channels, S: samples of a pixel; empty: unknown

  DType dtype() const { return coding ? coding->dtype : array->spec().dtype; }
};

enum class VolumeUse : std::uint8_t { kImage, kLabel, kMask };

// Opens a Zarr array, a .npy file or a TIFF stack (one file, or a pattern or folder of files whose planes are in
// natural order of their names). The array owns its store. Values of images are decoded as `options` says, those
// of labels only if they are scaled, and those of masks never.
Result<Volume> open_volume(const std::string& uri, VolumeUse use, const PatchOptions& options);

// Whether the name has the ending of a TIFF file.
bool is_tiff_name(const std::string& path);

}  // namespace penstock
