// The usual ImageNet pipelines of torchvision's reference scripts.
#pragma once

#include <vector>

#include "penstock/transform.h"

namespace penstock::cli {

// RandomResizedCrop with scale 0.25 to 1, flip, Normalize.
std::vector<Transform> imagenet_train(int size, bool antialias);
// Resizes the shorter side to 256/224 of the size, then CenterCrop and Normalize.
std::vector<Transform> imagenet_eval(int size, bool antialias);

}  // namespace penstock::cli
