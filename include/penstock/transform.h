// What can be done to a sample between its bytes and its slot in the batch.
//
// These are plain descriptions; the engine compiles a list of them once. Geometry is torchvision's:
// the same crops for the same numbers, the same resampling filters, antialiased by default.
// Random draws are shared by the fields of a sample, so image and mask stay aligned. Only the second and
// later outputs of one stored field draw by themselves: two views of a picture differ.
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

// How an image is decoded; only as the first transform. Left out, it is Decode{}.
struct Decode {
  ColorMode mode = ColorMode::kRgb;
  bool exif_orientation = false;  // turn pictures upright
  bool fast_decode = false;       // JPEG at a half, quarter or eighth of its size where that is
                                  // still larger than the result: faster, not the same pixels
};

// width 0: the shorter side becomes `height`, the ratio stays.
struct Resize {
  int height = 0, width = 0;
  Interpolation interpolation = Interpolation::kBilinear;
  bool antialias = true;
};

struct CenterCrop {
  int height = 0, width = 0;
};

struct RandomCrop {
  int height = 0, width = 0;
};

struct RandomResizedCrop {
  int height = 0, width = 0;
  double scale_from = 0.08, scale_to = 1.0;
  double ratio_from = 3.0 / 4.0, ratio_to = 4.0 / 3.0;
  Interpolation interpolation = Interpolation::kBilinear;
  bool antialias = true;
};

struct RandomHorizontalFlip {
  double probability = 0.5;
};

struct RandomVerticalFlip {
  double probability = 0.5;
};

// Factors are drawn from [from, to]; the four steps run in random order.
struct ColorJitter {
  struct Range {
    double from = 1, to = 1;
  };
  Range brightness, contrast, saturation, hue{0, 0};
};

// (value / max_value - mean) / std for each channel. max_value defaults to 255 for uint8 input
// and to 1 for anything else. Makes float32.
struct Normalize {
  std::vector<double> mean, std;
  std::optional<double> max_value;
};

struct Cast {
  DType dtype = DType::kFloat32;
};

struct Pad {
  int left = 0, top = 0, right = 0, bottom = 0;
  double fill = 0;
};

// Flips each of the last three axes in space (not those that count channels) with this probability.
struct RandomFlip3D {
  double probability = 0.5;
};

// Turns the plane of an image (or the last two axes in space of an array) by 0, 90, 180 or 270 degrees.
struct RandomRot90 {};

// An integer label to a vector of zeros and a one.
struct OneHot {
  int classes = 0;
};

// An array that keeps its own memory; C order.
struct OwnedArray {
  ArraySpec spec;
  std::shared_ptr<const void> data;
};

// What a Map gets or returns for one field: a C-ordered array, or the characters of a text.
struct MapValue {
  enum class Kind : std::uint8_t { kArray, kText, kJson, kBytes };
  Kind kind = Kind::kArray;
  OwnedArray array;
  std::string text;
};

// Names the random numbers of one call: the same on any number of threads and ranks.
struct MapDraws {
  std::uint64_t seed = 0, epoch = 0, position = 0;
  std::uint32_t step = 0;
};

// The user's own function. Called from worker threads, with one value for each field and in that order; it
// returns as many.
struct Map {
  using Function = std::function<Result<std::vector<MapValue>>(std::vector<MapValue>, const MapDraws&)>;
  std::shared_ptr<const Function> function;
  // Empty: the function gets the field whose step this is. Otherwise it runs when the steps before it of all
  // these fields are done; fields that do not have it among their steps take it as their last.
  std::vector<std::string> fields{};

  // Of a function that makes one array of another.
  static Map of_array(std::function<Result<OwnedArray>(const ArraySpec& spec, const void* data)> function);
};

using Transform = std::variant<Decode, Resize, CenterCrop, RandomCrop, RandomResizedCrop,
                               RandomHorizontalFlip, RandomVerticalFlip, ColorJitter, Normalize, Cast, Pad,
                               RandomFlip3D, RandomRot90, OneHot, Map>;

// The transforms of one field. `derive_from` names another field whose result this one starts
// from, instead of a field of the source.
struct FieldTransform {
  std::string field;
  std::vector<Transform> steps;
  std::string derive_from;
};

}  // namespace penstock
