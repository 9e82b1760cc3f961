#include "pipeline/sample_worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include "decode/npy.h"

namespace penstock {
namespace {

constexpr std::size_t kMostOpenObjects = 64;

}  // namespace

SampleWorker::SampleWorker(const SamplePlan& plan, ScratchBudget& budget, WorkerCounters& counters)
    : plan_(plan),
      scratch_(budget),
      clock_(counters),
      context_(scratch_, clock_) {}

Status SampleWorker::fill(std::uint64_t epoch, std::uint64_t position, std::uint64_t sample,
                          const SlotLayout& layout, std::byte* block,
                          std::vector<std::vector<std::string>>& texts, std::uint64_t index) {
  context_.draws = Draws(plan_.seed, epoch, position);
  return make_sample(sample, {&layout, block, &texts, index, nullptr});
}

Result<std::vector<ArraySpec>> SampleWorker::measure(std::uint64_t sample) {
  std::vector<ArraySpec> specs(plan_.fields.size());
  context_.draws = Draws(plan_.seed, 0, 0);
  PENSTOCK_CHECK(make_sample(sample, {nullptr, nullptr, nullptr, 0, &specs}));
  return specs;
}

Status SampleWorker::make_sample(std::uint64_t sample, const Target& target) {
  clock_.start();
  Status status;
  try {
    for (std::size_t field = 0; field < plan_.fields.size() && status; ++field) {
      if (plan_.fields[field].derive_from >= 0) continue;  // made together with what it derives from
      where_ = {};
      View value;
      status = make_field(field, sample, target, value);
    }
  } catch (const std::bad_alloc&) {  // from the standard library; our own memory comes from the ledger
    status = fail(ErrorCode::kNoMemory, "the system has no memory left");
  }
  object_.reset();
  context_.held.reset();
  context_.picture.reset();
  context_.keep_buffer = -1;
  scratch_.end_sample();
  if (!status) {
    // Codecs and transforms do not know where their bytes came from.
    Where& where = status.error().where;
    if (where.uri.empty()) where.uri = where_.uri;
    if (where.offset < 0) where.offset = where_.offset;
    if (where.length < 0) where.length = where_.length;
    where.sample = static_cast<std::int64_t>(sample);
  }
  return status;
}

Status SampleWorker::make_field(std::size_t field, std::uint64_t sample, const Target& target, View& value) {
  const FieldPlan& plan = plan_.fields[field];
  if (plan.is_key) {
    if (target.texts != nullptr)
      (*target.texts)[static_cast<std::size_t>(plan_.delivered_as[field])][target.index] =
          plan_.source->key(sample);
    return {};
  }
  if (plan.kind == FieldKind::kInteger) {
    label_ = plan_.source->integer(sample, static_cast<std::size_t>(plan.source_field));
    value = view_of_array(reinterpret_cast<const std::byte*>(&label_), {DType::kInt64, {}});
    PENSTOCK_CHECK(plan.program.run(value, context_));
  } else if (plan.kind == FieldKind::kArray) {
    const auto in_place = read_in_place(field, sample, target);
    if (!in_place) return std::unexpected(in_place.error());
    if (*in_place) return {};
    auto loaded = load_array(plan, sample);
    if (!loaded) return std::unexpected(std::move(loaded).error());
    value = *loaded;
    PENSTOCK_CHECK(plan.program.run(value, context_));
  } else {
    auto loaded = load_image(plan, sample);
    if (!loaded) return std::unexpected(std::move(loaded).error());
    value = *loaded;
  }
  clock_.mark(Stage::kTransform, 0, plan.kind == FieldKind::kInteger ? 0 : 1);
  PENSTOCK_CHECK(deliver(field, value, target));
  return make_derived(field, value, target);
}

Status SampleWorker::make_derived(std::size_t parent, const View& value, const Target& target) {
  for (std::size_t field = parent + 1; field < plan_.fields.size(); ++field) {
    if (plan_.fields[field].derive_from != static_cast<int>(parent)) continue;
    context_.keep_buffer = value.buffer;
    const auto held = context_.held;  // a Map below may replace it
    View derived = value;
    PENSTOCK_CHECK(plan_.fields[field].program.run(derived, context_));
    clock_.mark(Stage::kTransform, 0, 0);
    PENSTOCK_CHECK(deliver(field, derived, target));
    context_.held = held;
    context_.keep_buffer = -1;
  }
  return {};
}

Status SampleWorker::deliver(std::size_t field, const View& value, const Target& target) {
  const FieldPlan& plan = plan_.fields[field];
  if (target.measured != nullptr) (*target.measured)[field] = plan.program.spec_of(value);
  if (target.layout == nullptr || !plan.is_delivered) return {};
  const auto slot_field = static_cast<std::size_t>(plan_.delivered_as[field]);
  const MutableBytes slot = target.layout->slot(target.block, slot_field, target.index);
  PENSTOCK_CHECK(plan.program.store(value, target.layout->fields()[slot_field].spec, slot));
  clock_.mark(Stage::kCollate, slot.size(), plan.kind == FieldKind::kInteger ? 0 : 1);
  return {};
}

Result<View> SampleWorker::load_image(const FieldPlan& field, std::uint64_t sample) {
  const Extent extent = plan_.source->extent(sample, static_cast<std::size_t>(field.source_field));
  auto object = open(extent);
  if (!object) return std::unexpected(std::move(object).error());
  const auto encoded = read_encoded(extent, **object);
  if (!encoded) return std::unexpected(encoded.error());
  clock_.mark(Stage::kRead, encoded->size());
  return field.program.run_image(*encoded, decoder_, context_);
}

Result<bool> SampleWorker::read_in_place(std::size_t field, std::uint64_t sample, const Target& target) {
  const FieldPlan& plan = plan_.fields[field];
  const auto source_field = static_cast<std::size_t>(plan.source_field);
  const ArrayLayout* layout = plan_.source->array_layout(source_field);
  if (target.layout == nullptr || layout == nullptr || layout->swap_bytes || layout->fortran_order)
    return false;
  if (!plan.is_delivered || !plan.program.keeps(layout->spec.dtype)) return false;
  for (const FieldPlan& other : plan_.fields)
    if (other.derive_from == static_cast<int>(field)) return false;
  const auto slot_field = static_cast<std::size_t>(plan_.delivered_as[field]);
  if (target.layout->fields()[slot_field].spec != layout->spec) return false;

  const Extent extent = plan_.source->extent(sample, source_field);
  const MutableBytes slot = target.layout->slot(target.block, slot_field, target.index);
  auto object = open(extent);
  if (!object) return std::unexpected(std::move(object).error());
  if (layout->header.empty()) {
    PENSTOCK_CHECK((*object)->read_at(extent.offset, slot));
    PENSTOCK_CHECK(check_unchanged(**object));
  } else {
    // Header and data in one call; where the header is not the usual one, the long way.
    if ((*object)->version().size != layout->header.size() + slot.size()) return false;
    header_.resize(layout->header.size());
    const std::array<MutableBytes, 2> parts = {MutableBytes(header_), slot};
    PENSTOCK_CHECK((*object)->read_at(0, parts));
    if (header_ != layout->header) return false;
  }
  clock_.mark(Stage::kRead, slot.size());
  return true;
}

Result<View> SampleWorker::load_array(const FieldPlan& field, std::uint64_t sample) {
  const auto source_field = static_cast<std::size_t>(field.source_field);
  const ArrayLayout* layout = plan_.source->array_layout(source_field);
  const Extent extent = plan_.source->extent(sample, source_field);
  auto object = open(extent);
  if (!object) return std::unexpected(std::move(object).error());
  const auto bytes = read_encoded(extent, **object);
  if (!bytes) return std::unexpected(bytes.error());
  clock_.mark(Stage::kRead, bytes->size());
  if (!extent.shared_object) {
    auto view = parse_npy(*bytes);
    clock_.mark(Stage::kDecode, bytes->size());
    return view;
  }
  View view = view_of_array(bytes->data(), layout->spec, layout->fortran_order);
  view.swap_bytes = layout->swap_bytes;
  view.buffer = kScratchEncoded;
  return view;
}

Result<View> SampleWorker::parse_npy(ConstBytes file) {
  const auto header = parse_npy_header(file, Limits{});
  if (!header) return std::unexpected(header.error());
  PENSTOCK_CHECK(check_npy_size(*header, file.size()));
  View view = view_of_array(file.data() + header->data_offset, header->array, header->fortran_order);
  view.swap_bytes = header->big_endian;
  view.buffer = kScratchEncoded;
  return view;
}

// Opens the object and makes sure that it is the one that was indexed. Where the index is an old
// one and the file was rewritten before this loader began, the index is to blame, not the file.
Result<Object*> SampleWorker::open(const Extent& extent) {
  where_ = {extent.object, static_cast<std::int64_t>(extent.offset), static_cast<std::int64_t>(extent.length),
            -1};
  if (extent.shared_object)
    if (const auto found = shared_objects_.find(extent.object); found != shared_objects_.end())
      return found->second.get();
  auto object = plan_.source->store().open(extent.object);
  if (!object) return std::unexpected(std::move(object).error());
  const ObjectVersion found = (*object)->version(), indexed{extent.object_bytes, extent.modified_ns};
  if (found != indexed) {
    if (!plan_.source->index_was_kept() || found.modified_ns >= plan_.opened_at_ns)
      return fail(ErrorCode::kChanged,
                  fmt::format("file changed while in use ({} bytes now, {} when it was indexed)", found.size,
                              indexed.size));
    plan_.source->forget_kept_index();
  }
  if (!extent.shared_object) {
    object_ = std::move(*object);
    return object_.get();
  }
  if (shared_objects_.size() >= kMostOpenObjects) shared_objects_.clear();
  return (shared_objects_[extent.object] = std::move(*object)).get();
}

// An object that stays open is looked at after each read.
Status SampleWorker::check_unchanged(const Object& object) const {
  const auto now = object.version_now();
  if (!now) return std::unexpected(now.error());
  if (*now == object.version()) return {};
  return fail(ErrorCode::kChanged,
              fmt::format("file changed while in use ({} bytes now, {} when it was opened)", now->size,
                          object.version().size));
}

Result<ConstBytes> SampleWorker::read_encoded(const Extent& extent, Object& object) {
  // A whole file is as long as it is now: open() has accepted it.
  const std::uint64_t length = extent.shared_object ? extent.length : object.version().size;
  where_.length = static_cast<std::int64_t>(length);
  if (length > Limits{}.encoded_bytes)
    return fail(ErrorCode::kTooLarge,
                fmt::format("{} bytes in one sample, at most {} allowed", length, Limits{}.encoded_bytes));
  if (length == 0) return fail(ErrorCode::kTruncated, "empty file");
  const auto buffer = scratch_.get(kScratchEncoded, length);
  if (!buffer) return std::unexpected(buffer.error());
  PENSTOCK_CHECK(object.read_at(extent.offset, *buffer));
  if (extent.shared_object) PENSTOCK_CHECK(check_unchanged(object));
  return ConstBytes(*buffer);
}

}  // namespace penstock
