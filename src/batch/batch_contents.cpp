#include "batch/batch_contents.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/checked_math.h"

#include "transform/write_slot.h"

namespace penstock {
namespace {

// The smallest shape that holds all parts that are not left out.
Shape enclosing_shape(const std::vector<Part>& parts, const std::vector<bool>& left_out, std::size_t rank) {
  Shape shape(rank, 0);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!left_out.empty() && left_out[i]) continue;
    for (std::size_t axis = 0; axis < rank; ++axis)
      shape[axis] = std::max(shape[axis], parts[i].spec.shape[axis]);
  }
  return shape;
}

std::uint64_t bytes_of(const std::vector<Part>& parts) {
  std::uint64_t sum = 0;
  for (const Part& part : parts)
    if (part.memory.size() > 0) sum += part.spec.bytes() + kBytesPerPart;
  return sum;
}

void fill_with(double value, std::byte* out, const ArraySpec& spec) {
  View everywhere = view_of_array(reinterpret_cast<const std::byte*>(&value), spec);
  everywhere.dtype = DType::kFloat64;
  everywhere.stride.fill(0);
  copy_view(everywhere, out, view_of_array(out, spec));
}

}  // namespace

void BatchContents::prepare(const SlotLayout& layout, std::uint64_t samples) {
  texts.resize(layout.size());
  parts.resize(layout.size());
  padded.resize(layout.size());
  padded_shapes.resize(layout.size());
  for (std::size_t field = 0; field < layout.size(); ++field) {
    if (layout.placement(field) == Placement::kText) texts[field].resize(samples);
    if (layout.placement(field) == Placement::kPart || layout.placement(field) == Placement::kPad)
      parts[field].resize(samples);
  }
}

std::uint64_t compact(const SlotLayout& layout, BatchContents& contents, std::byte* block,
                      const std::vector<bool>& left_out) {
  std::uint64_t kept = 0;
  for (std::uint64_t i = 0; i < left_out.size(); ++i) {
    if (left_out[i]) continue;
    if (kept != i)
      for (std::size_t field = 0; field < layout.size(); ++field) {
        const MutableBytes slot = layout.slot(block, field, i);
        if (layout.placement(field) == Placement::kText)
          contents.texts[field][kept] = std::move(contents.texts[field][i]);
        else if (layout.placement(field) == Placement::kPart)
          contents.parts[field][kept] = std::move(contents.parts[field][i]);
        else if (!slot.empty())
          std::memcpy(layout.slot(block, field, kept).data(), slot.data(), slot.size());
      }
    ++kept;
  }
  for (std::size_t field = 0; field < layout.size(); ++field) {
    if (layout.placement(field) == Placement::kText) contents.texts[field].resize(kept);
    if (layout.placement(field) == Placement::kPart) contents.parts[field].resize(kept);
  }
  return kept;
}

VariableMemory::Answer pad_parts(const SlotLayout& layout, BatchContents& contents, VariableMemory& memory,
                               const std::vector<bool>& left_out, double pad_value) {
  for (std::size_t field = 0; field < layout.size(); ++field) {
    std::vector<Part>& parts = contents.parts[field];
    if (layout.placement(field) != Placement::kPad || contents.padded[field].size() > 0) continue;
    const DType dtype = layout.field(field).spec.dtype;
    const Shape shape = enclosing_shape(parts, left_out, layout.field(field).spec.shape.size());
    const auto kept = static_cast<std::uint64_t>(parts.size()) -
                      static_cast<std::uint64_t>(std::ranges::count(left_out, true));
    const ArraySpec each{dtype, shape};
    // Extents come from files, and an array without elements can claim huge ones at no cost.
    std::optional<std::uint64_t> product = size_of(dtype) * kept;
    for (const std::int64_t extent : shape)
      if (product) product = checked_multiply(*product, static_cast<std::uint64_t>(extent));
    if (!product || *product > memory.max_bytes_per_batch()) return VariableMemory::Answer::kNever;
    const std::uint64_t bytes = std::max<std::uint64_t>(*product, 1);
    if (const auto answer = memory.take(contents.variable, bytes); answer != VariableMemory::Answer::kYes)
      return answer;
    MemoryBlock block = MemoryBlock::allocate(bytes, memory.of_arrays());
    if (block.size() == 0) {
      memory.give_back(contents.variable, bytes);
      return VariableMemory::Answer::kNever;
    }
    std::byte* at = block.data();
    const bool is_filled = pad_value == 0 && memory.of_arrays()->gives_zeros();
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (!left_out.empty() && left_out[i]) continue;
      const View from = view_of_array(parts[i].memory.data(), parts[i].spec);
      View to = view_of_array(at, each);
      if (!is_filled && parts[i].spec.shape != shape) fill_with(pad_value, at, each);
      to.shape = from.shape;
      copy_view(from, at, to);
      at += each.bytes();
    }
    const std::uint64_t freed = bytes_of(parts);
    parts.clear();
    memory.give_back(contents.variable, freed);
    contents.padded[field] = std::move(block);
    contents.padded_shapes[field] = shape;
  }
  return VariableMemory::Answer::kYes;
}

}  // namespace penstock
