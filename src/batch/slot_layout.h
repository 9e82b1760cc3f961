// Where in a batch's memory each field of each sample stands: one block, a region a field.
#pragma once

#include <cstddef>
#include <vector>

#include "base/bytes.h"
#include "penstock/loader.h"

namespace penstock {

class SlotLayout {
 public:
  // `fields` have the spec of one sample; text fields take no memory.
  SlotLayout(std::vector<BatchField> fields, std::uint64_t batch_size);

  const std::vector<BatchField>& fields() const { return fields_; }
  std::size_t batch_bytes() const { return batch_bytes_; }
  std::size_t sample_bytes() const { return sample_bytes_; }
  bool is_text(std::size_t field) const { return is_text_[field]; }

  MutableBytes slot(std::byte* block, std::size_t field, std::uint64_t index) const {
    return {block + offset_[field] + index * bytes_[field], bytes_[field]};
  }

  // Closes the gaps that samples left out leave; returns how many samples remain.
  std::uint64_t compact(std::byte* block, std::vector<std::vector<std::string>>& texts,
                        const std::vector<bool>& left_out) const;

 private:
  std::vector<BatchField> fields_;
  std::vector<std::size_t> offset_, bytes_;
  std::vector<bool> is_text_;
  std::size_t batch_bytes_ = 0, sample_bytes_ = 0;
};

}  // namespace penstock
