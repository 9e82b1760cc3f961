#include "batch/slot_layout.h"

#include <algorithm>

namespace penstock {
namespace {

constexpr std::size_t kAlignment = 128;  // no two fields share a cache line or a vector register

}  // namespace

SlotLayout::SlotLayout(std::vector<LayoutField> fields, std::uint64_t batch_size)
    : fields_(std::move(fields)) {
  for (const LayoutField& field : fields_) {
    const std::size_t bytes = field.placement == Placement::kSlot ? field.field.spec.bytes() : 0;
    has_variable_ = has_variable_ || field.placement != Placement::kSlot;
    has_padding_ = has_padding_ || field.placement == Placement::kPad;
    bytes_.push_back(bytes);
    offset_.push_back(batch_bytes_);
    sample_bytes_ += bytes;
    batch_bytes_ += (bytes * batch_size + kAlignment - 1) / kAlignment * kAlignment;
  }
  batch_bytes_ = std::max(batch_bytes_, kAlignment);
}

}  // namespace penstock
