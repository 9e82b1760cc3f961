// Separable resampling with Pillow's filters: nearest, bilinear, bicubic, Lanczos.
//
// With antialias, a filter is widened by the factor of shrinking, as in Pillow and torchvision. Without, it
// interpolates between the nearest pixels, as in OpenCV. Results are within one level of Pillow's.
#pragma once

#include <vector>

#include "base/memory/scratch.h"
#include "transform/geometry/frame.h"
#include "transform/view.h"

namespace penstock {

// The inputs of each output along one axis, and their weights.
struct AxisPlan {
  int taps = 0;                // inputs per output
  std::vector<int> first;      // first input of each output
  std::vector<float> weights;  // `taps` per output; zero if an output needs fewer, or the input ends

  int begin = 0, end = 0;   // only inputs in [begin, end) are read
  bool overshoots = false;  // negative weights: results may lie outside the range of the inputs

  void reverse();  // reverses the order of outputs
  void rebase();   // makes the numbers of inputs count from `begin`
};

// Plans outputs [window_begin, window_begin + window_size) of `full_size`, from the part of the input that starts at
// `box_begin` and is `box_size` long. Inputs outside [0, input_size) do not exist.
void plan_axis(AxisPlan& plan, double box_begin, double box_size, int input_size, int full_size,
               int window_begin, int window_size, Interpolation filter, bool antialias);

// Returns a plan that changes nothing.
AxisPlan plan_identity(int size);

// `input` has four items or one per pixel (uint8 or float32), or three of uint8, and positive strides; `columns` and
// `rows` count from its first pixel. The result is packed in `output`, which has space for rows x columns x items (four
// items if the input has three). `row_buffer` has space for one row of the needed input as float, and columns.taps
// pixels more. Each output is summed in the same order whichever other outputs are computed, so windows of one resize
// agree to the last bit.
View resample(const View& input, const AxisPlan& columns, const AxisPlan& rows, std::byte* output,
              float* row_buffer);

}  // namespace penstock
