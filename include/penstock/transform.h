// Transforms describe what happens to a sample between decoding and the batch.
//
// A transform is a plain description, a value that owns its arguments and may be shared by threads. The
// loader checks and compiles the list of each field once, when it is opened, and fails with kInvalidArgument
// if an argument is not valid. While samples are made, a step that does not fit a value (a crop that is
// larger than the image) is an error of that sample, to which the loader's policy for bad samples applies.
//
// Geometry is that of torchvision: the same crops for the same numbers, and the same resampling filters, antialiased by
// default. Random draws depend only on (seed, epoch, position) and are shared by the fields of a sample, so that image
// and mask remain aligned. If one stored field has several outputs (views), each of them has its own draws, so the
// views differ.
//
//   options.transforms = {{"image", {RandomResizedCrop{224, 224}, RandomHorizontalFlip{},
//                                    Normalize{{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}, {}}}, ""}};
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "penstock/array.h"
#include "penstock/result.h"

namespace penstock {

enum class Interpolation : std::uint8_t { kNearest, kBilinear, kBicubic, kLanczos };
enum class ColorMode : std::uint8_t { kRgb, kGrey };

// Says how an image is decoded. It may only be the first transform; without it, Decode{} applies.
struct Decode {
  ColorMode mode = ColorMode::kRgb;
  bool exif_orientation = false;  // turn images upright
  // Decode a JPEG at a half, quarter or eighth of its size if that is still larger than the result. This is faster, but
  // the pixels differ.
  bool fast_decode = false;
};

// Resizes the image; a mask is resized by nearest neighbours. With width 0, the shorter side becomes `height`, and the
// ratio of the sides does not change.
struct Resize {
  int height = 0, width = 0;
  Interpolation interpolation = Interpolation::kBilinear;
  bool antialias = true;
};

// Cuts out the middle of the image.
struct CenterCrop {
  int height = 0, width = 0;
};

// Cuts out a random part of the image.
struct RandomCrop {
  int height = 0, width = 0;
};

// Cuts out a random part of the image, by torchvision's rule, and resizes it; a mask is resized by nearest neighbours.
struct RandomResizedCrop {
  int height = 0, width = 0;
  double scale_from = 0.08, scale_to = 1.0;                // share of the area
  double ratio_from = 3.0 / 4.0, ratio_to = 4.0 / 3.0;  // width over height
  Interpolation interpolation = Interpolation::kBilinear;
  bool antialias = true;
};

// Mirrors left and right.
struct RandomHorizontalFlip {
  double probability = 0.5;
};

// Mirrors top and bottom.
struct RandomVerticalFlip {
  double probability = 0.5;
};

// Changes the colours of an image of three uint8 channels. The factors are drawn from [from, to], and the
// four steps run in random order.
struct ColorJitter {
  struct Range {
    double from = 1, to = 1;
  };
  Range brightness, contrast, saturation, hue{0, 0};
};

// Makes float32: (value / max_value - mean) / std for each channel. max_value defaults to 255 for uint8 input
// and to 1 for anything else.
struct Normalize {
  std::vector<double> mean, std;
  std::optional<double> max_value;
};

// Converts to another type. A conversion to integers drops fractions and clamps to the range of the type.
struct Cast {
  DType dtype = DType::kFloat32;
};

// Adds a border of `fill`, in pixels per side.
struct Pad {
  int left = 0, top = 0, right = 0, bottom = 0;
  double fill = 0;
};

// Flips each of the last three spatial axes (axes that count channels are not spatial) with this probability.
struct RandomFlip3D {
  double probability = 0.5;
};

// Rotates the plane of an image (or the last two spatial axes of an array) by 0, 90, 180 or 270 degrees.
struct RandomRot90 {};

// Turns an integer label into a float32 vector of zeros with a single one.
struct OneHot {
  int classes = 0;
};

// Erases a random rectangle of the image, by torchvision's rule. Masks do not change.
struct RandomErasing {
  double probability = 0.5;
  double scale_from = 0.02, scale_to = 0.33;  // share of the area
  double ratio_from = 0.3, ratio_to = 3.3;    // height over width
  std::vector<double> value = {0};            // one for all channels, or one per channel
};

// A C-ordered array that owns its memory.
struct OwnedArray {
  ArraySpec spec;
  std::shared_ptr<const void> data;
};

// The value of one field that a Map receives or returns: an array, or the characters of a text.
struct MapValue {
  enum class Kind : std::uint8_t { kArray, kText, kJson, kBytes };
  Kind kind = Kind::kArray;
  OwnedArray array;
  std::string text;
};

// Identifies the random numbers of one call. It is the same on any number of threads and ranks.
struct MapDraws {
  std::uint64_t seed = 0, epoch = 0, position = 0;
  std::uint32_t step = 0;
};

// Calls the user's own function. Several worker threads call it at the same time, so it must be thread-safe. It
// receives one value per field, in the order of `fields`, and returns as many. An error that it returns is an error of
// the sample.
//
//   const Map invert = Map::of_array([](const ArraySpec& spec, const void* data) -> Result<OwnedArray> {
//     const auto* from = static_cast<const unsigned char*>(data);
//     auto to = std::make_shared<std::vector<unsigned char>>(spec.bytes());
//     for (std::size_t i = 0; i < to->size(); ++i) (*to)[i] = static_cast<unsigned char>(255 - from[i]);
//     return OwnedArray{spec, {to, to->data()}};
//   });
struct Map {
  using Function = std::function<Result<std::vector<MapValue>>(std::vector<MapValue>, const MapDraws&)>;
  std::shared_ptr<const Function> function;
  // Empty: the function receives the field whose step this is. Otherwise the function runs once all these fields have
  // run their steps before it; a field that does not list it among its steps has it as its last step.
  std::vector<std::string> fields{};

  // Returns a Map of a function that makes one array from another.
  static Map of_array(std::function<Result<OwnedArray>(const ArraySpec& spec, const void* data)> function);
};

// The position of a transform in this list is part of the key of its random draws, so new ones are added at the end.
using Transform = std::variant<Decode, Resize, CenterCrop, RandomCrop, RandomResizedCrop,
                               RandomHorizontalFlip, RandomVerticalFlip, ColorJitter, Normalize, Cast, Pad,
                               RandomFlip3D, RandomRot90, OneHot, Map, RandomErasing>;

// The transforms of one field. If `derive_from` is set, the field begins with the result of the field of that name and
// not with a field of the source.
struct FieldTransform {
  std::string field;
  std::vector<Transform> steps;
  std::string derive_from;
};

}  // namespace penstock
