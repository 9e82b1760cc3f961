#include "penstock/transform.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include "bind.h"
#include "errors.h"
#include "map_function.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace penstock::python {
namespace {

using Size = std::variant<int, std::pair<int, int>>;  // side, or (height, width)
using Numbers = std::variant<double, std::vector<double>>;
using Sides = std::variant<int, std::vector<int>>;

std::pair<int, int> square(const Size& size) {
  if (const int* side = std::get_if<int>(&size)) return {*side, *side};
  return std::get<std::pair<int, int>>(size);
}

Interpolation interpolation_named(const std::string& name) {
  if (name == "nearest") return Interpolation::kNearest;
  if (name == "bilinear") return Interpolation::kBilinear;
  if (name == "bicubic") return Interpolation::kBicubic;
  if (name == "lanczos") return Interpolation::kLanczos;
  raise({ErrorCode::kInvalidArgument,
         "interpolation=\"" + name + "\": wants \"nearest\", \"bilinear\", \"bicubic\" or \"lanczos\"",
         {},
         false});
}

std::vector<double> numbers(const Numbers& value) {
  if (const double* one = std::get_if<double>(&value)) return {*one};
  return std::get<std::vector<double>>(value);
}

ColorJitter::Range factor_range(const Numbers& value, double centre) {
  const std::vector<double> given = numbers(value);
  if (std::holds_alternative<double>(value)) {
    const double low = centre - given[0];
    return {centre > 0 ? std::max(0.0, low) : low, centre + given[0]};
  }
  if (given.size() != 2)
    raise({ErrorCode::kInvalidArgument, "ColorJitter: a factor is a number or (from, to)", {}, false});
  return {given[0], given[1]};
}

Pad pad_of(const Sides& sides, double fill) {
  if (const int* all = std::get_if<int>(&sides)) return {*all, *all, *all, *all, fill};
  const auto& list = std::get<std::vector<int>>(sides);
  if (list.size() == 2) return {list[0], list[1], list[0], list[1], fill};
  if (list.size() == 4) return {list[0], list[1], list[2], list[3], fill};
  raise({ErrorCode::kInvalidArgument,
         "Pad: one number, (left-right, top-bottom) or (left, top, right, bottom)",
         {},
         false});
}

}  // namespace

void bind_transforms(nb::module_& m) {
  nb::class_<Decode>(
      m, "Decode",
      "How an image is decoded; only as the first transform.\n\n"
      "mode: \"RGB\" or \"L\" (grey). exif_orientation: turn pictures upright. fast_decode: decode JPEGs at "
      "a half,\n"
      "quarter or eighth of their size where the result is smaller still: faster, not the same pixels.")
      .def(
          "__init__",
          [](Decode* self, const std::string& mode, bool exif, bool fast) {
            if (mode != "RGB" && mode != "L")
              raise(
                  {ErrorCode::kInvalidArgument, "mode=\"" + mode + "\": wants \"RGB\" or \"L\"", {}, false});
            new (self) Decode{mode == "RGB" ? ColorMode::kRgb : ColorMode::kGrey, exif, fast};
          },
          "mode"_a = "RGB", nb::kw_only(), "exif_orientation"_a = false, "fast_decode"_a = false);

  nb::class_<Resize>(m, "Resize",
                     "Resizes to (height, width), or the shorter side to `size` keeping the ratio. "
                     "Antialiased like torchvision.")
      .def(
          "__init__",
          [](Resize* self, const Size& size, const std::string& interpolation, bool antialias) {
            const auto [height, width] =
                std::holds_alternative<int>(size) ? std::pair{std::get<int>(size), 0} : square(size);
            new (self) Resize{height, width, interpolation_named(interpolation), antialias};
          },
          "size"_a, "interpolation"_a = "bilinear", nb::kw_only(), "antialias"_a = true);

  nb::class_<CenterCrop>(m, "CenterCrop", "The middle of the image, `size` or (height, width).")
      .def(
          "__init__",
          [](CenterCrop* self, const Size& size) {
            const auto [height, width] = square(size);
            new (self) CenterCrop{height, width};
          },
          "size"_a);

  nb::class_<RandomCrop>(
      m, "RandomCrop",
      "A random part of the image, `size` or (height, width). Put Pad before it where images are small.")
      .def(
          "__init__",
          [](RandomCrop* self, const Size& size) {
            const auto [height, width] = square(size);
            new (self) RandomCrop{height, width};
          },
          "size"_a);

  nb::class_<RandomResizedCrop>(
      m, "RandomResizedCrop",
      "A random part (area by `scale`, shape by `ratio`), resized to `size`: torchvision's rule.")
      .def(
          "__init__",
          [](RandomResizedCrop* self, const Size& size, std::pair<double, double> scale,
             std::pair<double, double> ratio, const std::string& interpolation, bool antialias) {
            const auto [height, width] = square(size);
            new (self) RandomResizedCrop{height,
                                         width,
                                         scale.first,
                                         scale.second,
                                         ratio.first,
                                         ratio.second,
                                         interpolation_named(interpolation),
                                         antialias};
          },
          "size"_a, "scale"_a = std::pair{0.08, 1.0}, "ratio"_a = std::pair{3.0 / 4.0, 4.0 / 3.0},
          "interpolation"_a = "bilinear", nb::kw_only(), "antialias"_a = true);

  nb::class_<RandomHorizontalFlip>(m, "RandomHorizontalFlip", "Mirrors left and right with probability p.")
      .def(
          "__init__", [](RandomHorizontalFlip* self, double p) { new (self) RandomHorizontalFlip{p}; },
          "p"_a = 0.5);
  nb::class_<RandomVerticalFlip>(m, "RandomVerticalFlip", "Mirrors top and bottom with probability p.")
      .def(
          "__init__", [](RandomVerticalFlip* self, double p) { new (self) RandomVerticalFlip{p}; },
          "p"_a = 0.5);

  nb::class_<ColorJitter>(
      m, "ColorJitter",
      "Changes brightness, contrast, saturation and hue by random factors, in random order.\n\n"
      "A number x means a factor from 1-x to 1+x (hue: -x to x); a pair is (from, to).")
      .def(
          "__init__",
          [](ColorJitter* self, const Numbers& brightness, const Numbers& contrast, const Numbers& saturation,
             const Numbers& hue) {
            new (self) ColorJitter{factor_range(brightness, 1), factor_range(contrast, 1),
                                   factor_range(saturation, 1), factor_range(hue, 0)};
          },
          "brightness"_a = 0.0, "contrast"_a = 0.0, "saturation"_a = 0.0, "hue"_a = 0.0);

  nb::class_<Normalize>(m, "Normalize",
                        "(value / max_value - mean) / std for each channel; makes float32.\n\n"
                        "max_value is 255 for uint8 input and 1 for other types unless given, so "
                        "torchvision's means fit as they are. Channels are those of an image, of a stack (one "
                        "mean for each channel or each variable), the levels of a window, else the first or "
                        "last axis of an array, whichever has as many entries as there are means.")
      .def(
          "__init__",
          [](Normalize* self, const Numbers& mean, const Numbers& deviation,
             std::optional<double> max_value) {
            new (self) Normalize{numbers(mean), numbers(deviation), max_value};
          },
          "mean"_a, "std"_a, nb::kw_only(), "max_value"_a = nb::none());

  nb::class_<Cast>(
      m, "Cast",
      "Converts to another type: \"float32\", \"float16\", \"bfloat16\", \"uint8\", \"int64\", ... Whole-number "
      "types cut fractions off, and numbers beyond their range become its nearest end (300 is 255 as uint8).")
      .def(
          "__init__",
          [](Cast* self, const std::string& dtype) {
            const auto type = dtype_named(dtype);
            if (!type)
              raise({ErrorCode::kInvalidArgument, "dtype=\"" + dtype + "\" is not known", {}, false});
            new (self) Cast{*type};
          },
          "dtype"_a);

  nb::class_<Pad>(
      m, "Pad",
      "Adds a border of `fill`: one number, (left-right, top-bottom) or (left, top, right, bottom).")
      .def(
          "__init__",
          [](Pad* self, const Sides& padding, double fill) { new (self) Pad(pad_of(padding, fill)); },
          "padding"_a, "fill"_a = 0.0);

  nb::class_<RandomFlip3D>(m, "RandomFlip3D",
                           "Flips each of the last three axes of an array with probability p.")
      .def("__init__", [](RandomFlip3D* self, double p) { new (self) RandomFlip3D{p}; }, "p"_a = 0.5);
  nb::class_<RandomRot90>(m, "RandomRot90",
                          "Turns an image, or the last two axes of an array, by 0, 90, 180 or 270 degrees.")
      .def(nb::init<>());
  nb::class_<OneHot>(m, "OneHot", "An integer label to a float32 vector of zeros and a one.")
      .def("__init__", [](OneHot* self, int classes) { new (self) OneHot{classes}; }, "classes"_a);
  nb::class_<RandomErasing>(m, "RandomErasing",
                            "Gives a random rectangle of the image one value, with probability p: torchvision's rule.")
      .def(
          "__init__",
          [](RandomErasing* self, double p, std::pair<double, double> scale, std::pair<double, double> ratio,
             const Numbers& value) {
            new (self) RandomErasing{p, scale.first, scale.second, ratio.first, ratio.second, numbers(value)};
          },
          "p"_a = 0.5, "scale"_a = std::pair{0.02, 0.33}, "ratio"_a = std::pair{0.3, 3.3}, "value"_a = 0.0);
  bind_map(m);
}

}  // namespace penstock::python
