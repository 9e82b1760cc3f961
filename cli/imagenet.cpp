#include "imagenet.h"

namespace penstock::cli {
namespace {

Normalize imagenet_normalize() { return {{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}, {}}; }

}  // namespace

std::vector<Transform> imagenet_train(int size, bool antialias) {
  RandomResizedCrop crop;
  crop.height = crop.width = size;
  crop.scale_from = 0.25;
  crop.antialias = antialias;
  return {crop, RandomHorizontalFlip{}, imagenet_normalize()};
}

std::vector<Transform> imagenet_eval(int size, bool antialias) {
  Resize resize;
  resize.height = (size * 256 + 112) / 224;
  resize.antialias = antialias;
  return {resize, CenterCrop{size, size}, imagenet_normalize()};
}

}  // namespace penstock::cli
