// Where in a batch each field of each sample stands: a slot in the batch's one block of memory where
// all samples have one shape, a text or a part of its own where they vary.
#pragma once

#include <cstddef>
#include <vector>

#include "base/bytes.h"
#include "penstock/loader.h"

namespace penstock {

enum class Placement : std::uint8_t {
  kSlot,
  kText,
  kPart,  // each sample by itself, delivered as a list, or as an array where it is a batch of its own
  kPad,   // each sample by itself, then all padded into one array
};

struct LayoutField {
  BatchField field;  // with the spec of one sample; kPart and kPad: -1 for each axis
  Placement placement = Placement::kSlot;
  int lengths = -1;  // kPad: the field that takes the sample's own shape
};

class SlotLayout {
 public:
  SlotLayout(std::vector<LayoutField> fields, std::uint64_t batch_size);

  std::size_t size() const { return fields_.size(); }
  const BatchField& field(std::size_t i) const { return fields_[i].field; }
  Placement placement(std::size_t i) const { return fields_[i].placement; }
  int lengths_of(std::size_t i) const { return fields_[i].lengths; }
  bool has_variable() const { return has_variable_; }
  bool has_padding() const { return has_padding_; }
  // Of the block; of the slots of one sample.
  std::size_t batch_bytes() const { return batch_bytes_; }
  std::size_t sample_bytes() const { return sample_bytes_; }

  MutableBytes slot(std::byte* block, std::size_t field, std::uint64_t index) const {
    return {block + offset_[field] + index * bytes_[field], bytes_[field]};
  }

 private:
  std::vector<LayoutField> fields_;
  std::vector<std::size_t> offset_, bytes_;
  std::size_t batch_bytes_ = 0, sample_bytes_ = 0;
  bool has_variable_ = false, has_padding_ = false;
};

}  // namespace penstock
