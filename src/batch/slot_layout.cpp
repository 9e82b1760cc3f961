#include "batch/slot_layout.h"

#include <algorithm>
#include <cstring>

namespace penstock {
namespace {

constexpr std::size_t kAlignment = 128;  // no two fields share a cache line or a vector

}  // namespace

SlotLayout::SlotLayout(std::vector<BatchField> fields, std::uint64_t batch_size)
    : fields_(std::move(fields)) {
  for (const BatchField& field : fields_) {
    const bool text = !field.texts.empty();
    is_text_.push_back(text);
    const std::size_t bytes = text ? 0 : field.spec.bytes();
    bytes_.push_back(bytes);
    offset_.push_back(batch_bytes_);
    sample_bytes_ += bytes;
    batch_bytes_ += (bytes * batch_size + kAlignment - 1) / kAlignment * kAlignment;
  }
  batch_bytes_ = std::max(batch_bytes_, kAlignment);
}

std::uint64_t SlotLayout::compact(std::byte* block, std::vector<std::vector<std::string>>& texts,
                                  const std::vector<bool>& left_out) const {
  std::uint64_t kept = 0;
  for (std::uint64_t i = 0; i < left_out.size(); ++i) {
    if (left_out[i]) continue;
    if (kept != i)
      for (std::size_t field = 0; field < fields_.size(); ++field) {
        if (is_text_[field])
          texts[field][kept] = std::move(texts[field][i]);
        else if (bytes_[field] > 0)
          std::memcpy(slot(block, field, kept).data(), slot(block, field, i).data(), bytes_[field]);
      }
    ++kept;
  }
  for (std::size_t field = 0; field < fields_.size(); ++field)
    if (is_text_[field]) texts[field].resize(kept);
  return kept;
}

}  // namespace penstock
