// The layout of a batch: where each field of each sample is stored. A field whose samples all have one shape
// has a slot per sample in the batch's block of memory; other fields have one text or one array ("part") per
// sample.
#pragma once

#include <cstddef>
#include <vector>

#include "base/bytes.h"
#include "penstock/loader.h"

namespace penstock {

enum class Placement : std::uint8_t {
  kSlot,
  kText,
  kPart,  // one array per sample, delivered as a list, or as one array if the batch has a single sample
  kPad,   // one array per sample, which are padded into one array when the batch is complete
};

struct LayoutField {
  BatchField field;  // its spec is that of one sample; kPart and kPad have -1 for each axis
  Placement placement = Placement::kSlot;
  int lengths = -1;  // kPad: index of the field that receives the sample's shape before padding; -1: none
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
  // Size of the block, and of the slots of one sample.
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
