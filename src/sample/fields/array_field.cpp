#include "sample/fields/array_field.h"

#include <array>

#include "base/limits.h"
#include "decode/npy.h"
#include "decode/text.h"
#include "sample/fields/measure_read.h"

namespace penstock {
namespace {

Result<View> view_of_npy(ConstBytes file) {
  const auto header = parse_npy_header(file, Limits{});
  if (!header) return std::unexpected(header.error());
  PENSTOCK_CHECK(check_npy_size(*header, file.size()));
  View view = view_of_array(file.data() + header->data_offset, header->array, header->fortran_order);
  view.swap_bytes = header->big_endian;
  return view;
}

bool needs_no_work(const FieldPlan& field, const ArrayLayout* layout) {
  return field.kind == FieldKind::kArray && field.form <= FieldForm::kElements && layout != nullptr &&
         !layout->swap_bytes && !layout->fortran_order && field.program.keeps(layout->spec.dtype);
}

}  // namespace

bool ArrayField::applies(const FieldSetup& setup, std::size_t field) {
  const FieldKind kind = setup.plan.fields[field].kind;
  return kind == FieldKind::kArray || kind == FieldKind::kInteger;
}

ArrayField::ArrayField(const FieldSetup& setup, std::size_t field)
    : setup_(setup),
      field_(field),
      layout_(setup.plan.source->array_layout(static_cast<std::size_t>(setup.plan.fields[field].source_field))),
      may_be_in_place_(needs_no_work(setup.plan.fields[field], layout_)) {}

Status ArrayField::make(const SampleTask& task) {
  if (may_be_in_place_) {
    const auto in_place = read_in_place(task);
    if (!in_place) return std::unexpected(in_place.error());
    if (*in_place) return {};
  }
  const auto found = setup_.bytes.read(read_of(task));
  if (!found) return std::unexpected(found.error());
  auto view = decode(*found);
  setup_.context.clock.mark(Stage::kDecode, found->bytes.size());
  if (!view) return std::unexpected(std::move(view).error());
  PENSTOCK_CHECK(field().program.run(*view, setup_.context));
  setup_.context.clock.mark(Stage::kTransform, 0, 1);
  return setup_.flow.take(field_, *view);
}

// Reads bare elements of a shard, or a file with its header, in one call. If the header is not the expected one, the
// caller reads the file again and parses it.
Result<bool> ArrayField::read_in_place(const SampleTask& task) {
  const Delivery& delivery = setup_.flow.delivery();
  const auto slot = delivery.direct_slot(field_, delivery.target());
  if (!slot || slot->spec != layout_->spec) return false;
  const auto extent = setup_.bytes.extent(read_of(task));
  if (!extent) return std::unexpected(extent.error());
  const bool is_bare = layout_->header.empty();
  if (extent->shared_object != is_bare) return false;
  if (is_bare && extent->length != slot->bytes.size()) return false;
  header_.resize(layout_->header.size());
  const std::array<MutableBytes, 2> parts = {MutableBytes(header_), slot->bytes};
  const auto read = setup_.bytes.read_into(read_of(task), *extent, parts);
  if (!read) return read;
  if (!*read || header_ != layout_->header) return false;
  setup_.context.clock.mark(Stage::kRead, slot->bytes.size());
  return true;
}

Result<View> ArrayField::decode(const RecordValue& found) {
  if (found.elements) {
    if (field().form != FieldForm::kElements) return view_of_array(found.bytes.data(), *found.elements);
    View view = view_of_array(found.bytes.data(), layout_->spec, layout_->fortran_order);
    view.swap_bytes = layout_->swap_bytes;
    return view;
  }
  if (field().kind == FieldKind::kArray) return view_of_npy(found.bytes);
  const auto integer = parse_integer(found.bytes);
  if (!integer) return std::unexpected(integer.error());
  integer_ = *integer;
  return view_of_array(reinterpret_cast<const std::byte*>(&integer_), {DType::kInt64, {}});
}

Status ArrayField::measure(const SampleTask& task, UnitCost& cost) {
  const auto found = measure_read(setup_, read_of(task), cost);
  if (!found) return std::unexpected(found.error());
  cost.decoded_bytes += static_cast<double>(found->bytes.size());
  return {};
}

}  // namespace penstock
