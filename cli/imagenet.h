// The usual ImageNet pipelines, as torchvision's reference scripts have them.
#pragma once

#include <vector>

#include "penstock/transform.h"

namespace penstock::cli {

// RandomResizedCrop with scale 0.25 to 1, flip, Normalize.
std::vector<Transform> imagenet_train(int size, bool antialias);
// The shorter side to 256/224 of the size, the centre of it, Normalize.
std::vector<Transform> imagenet_eval(int size, bool antialias);

}  // namespace penstock::cli
