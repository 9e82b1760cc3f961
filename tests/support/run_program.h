// Runs the transforms of one field outside a loader.
#pragma once

#include <string>
#include <vector>

#include "transform/program.h"

namespace penstock {

struct Tensor {
  ArraySpec spec;
  std::vector<std::byte> bytes;

  template <typename T>
  const T* as() const {
    return reinterpret_cast<const T*>(bytes.data());
  }
};

struct RunOptions {
  FieldKind kind = FieldKind::kImage;
  Layout layout = Layout::kNhwc;
  std::optional<DType> dtype;
  std::uint64_t seed = 0, epoch = 0, position = 0;
  bool in_two_parts = false;  // as if the first part came from a cache
};

// An encoded image through its transforms to batch elements.
Result<Tensor> run_on_image(const std::vector<std::byte>& encoded, const std::vector<Transform>& steps,
                            const RunOptions& options = {});

// An array through its transforms.
Result<Tensor> run_on_array(const ArraySpec& spec, const void* data, const std::vector<Transform>& steps,
                            RunOptions options = {});

// A golden file made by tests/golden/make_golden.py.
std::vector<std::byte> golden_bytes(const std::string& name);
Tensor golden_array(const std::string& name);

}  // namespace penstock
