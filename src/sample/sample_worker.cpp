#include "sample/sample_worker.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include "cache/shared/mapping_guard.h"
#include "decode/npy.h"
#include "decode/text.h"
#include "source/extent.h"

namespace penstock {
namespace {

constexpr std::uint64_t kBytesPerText = 32;  // besides its characters
constexpr std::uint64_t kJsonCheckFactor = 16;   // times the text, for the names of its keys

bool is_text(FieldKind kind) { return kind >= FieldKind::kText; }

Result<View> view_of_npy(ConstBytes file) {
  const auto header = parse_npy_header(file, Limits{});
  if (!header) return std::unexpected(header.error());
  PENSTOCK_CHECK(check_npy_size(*header, file.size()));
  View view = view_of_array(file.data() + header->data_offset, header->array, header->fortran_order);
  view.swap_bytes = header->big_endian;
  return view;
}

// A Map made one thing of the first sample and another of this one.
Status other_kind(const FieldPlan& field, FieldKind wanted, FieldKind found) {
  return fail(ErrorCode::kShapeMismatch,
              fmt::format("Map returned {} for field \"{}\", where the batch has {}", name_of(found),
                          field.name, name_of(wanted)));
}

Status check_text(FieldKind kind, ConstBytes text) {
  if (kind == FieldKind::kText) return check_utf8(text);
  if (kind == FieldKind::kJson) return check_json(text);
  return {};
}

}  // namespace

SampleWorker::SampleWorker(const SamplePlan& plan, ScratchBudget& budget, WorkerCounters& counters,
                           const SharedReads& shared)
    : plan_(plan),
      scratch_(budget),
      clock_(counters),
      context_(scratch_, clock_),
      shared_(shared),
      reader_({*plan.source, stored_fields(plan), plan.opened_at_ns, plan.max_open_objects}, scratch_,
              clock_, shared),
      cached_value_allocator_(cached_value_allocator(scratch_)),
      put_aside_(plan.joint_maps.empty() ? 0 : plan.fields.size()) {
  for (std::size_t field = 0; field < plan.fields.size(); ++field)
    if (plan.fields[field].source_field >= 0 && plan.fields[field].form == FieldForm::kChunks)
      chunked_fields_.push_back(field);
  if (!chunked_fields_.empty())
    chunks_ = std::make_unique<ChunkAssembler>(*plan.source, budget, clock_, shared);
  if (chunks_) chunks_->open_others_by([this](const SampleUse& use) { return open_other(use); });
}

void SampleWorker::read_through(const SharedReads& shared) {
  shared_ = shared;
  reader_.read_through(shared);
  if (chunks_) chunks_->read_through(shared);
}

Result<bool> SampleWorker::fill(std::uint64_t epoch, std::uint64_t position, std::uint64_t sample,
                                const BatchTarget& batch, std::uint64_t index) {
  context_.draws = Draws(plan_.seed, epoch, position);
  const Target target{&batch, index, nullptr, nullptr};
  batch_ = &batch;
  epoch_ = epoch;
  room_taken_ = 0;
  is_too_early_ = is_batch_too_large_ = false;
  if (shared_.lookahead != nullptr) shared_.lookahead->extend();
  Status made = make_sample(position, sample, target);
  batch_ = nullptr;
  if (made) return true;
  drop_parts(target);
  if (is_too_early_) return false;
  return std::unexpected(std::move(made).error());
}

Result<std::vector<SampleWorker::Measured>> SampleWorker::measure(std::uint64_t sample) {
  std::vector<Measured> measured(plan_.fields.size());
  context_.draws = Draws(plan_.seed, 0, 0);
  PENSTOCK_CHECK(make_sample(0, sample, {nullptr, 0, &measured, nullptr}));
  return measured;
}

Status SampleWorker::look_at(std::uint64_t sample, const Look& look) {
  context_.draws = Draws(plan_.seed, 0, 0);
  if (shared_.lookahead != nullptr) shared_.lookahead->extend();
  return make_sample(sample, sample, {nullptr, 0, nullptr, &look});
}

Status SampleWorker::make_sample(std::uint64_t position, std::uint64_t sample, const Target& target) {
  clock_.start();
  if (chunks_) chunks_->begin_sample();
  Status status;
  const std::uint64_t lost = lost_mappings();
  try {
    status = make_fields(position, sample, target);
  } catch (const std::bad_alloc&) {  // from the standard library; our own memory comes from the ledger
    status = fail(ErrorCode::kNoMemory, "the system has no memory left");
  }
  if (lost != lost_mappings() && shared_.cache != nullptr)
    status = fail(ErrorCode::kChanged, "the memory of the cache was cut short while the sample was made from it");
  if (shared_.lookahead != nullptr)
    shared_.lookahead->finish(position, chunks_ ? chunks_->chunks() : std::span<const ChunkId>{});
  end_sample();
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

void SampleWorker::end_sample() {
  reader_.end_sample();
  if (own_ && own_->memory) own_.reset();  // others in the making want the memory
  held_.reset();
  record_ = {};
  context_.held.reset();
  context_.picture.reset();
  context_.keep_buffer = -1;
  for (PutAside& waiting : put_aside_) waiting = {};
  scratch_.end_sample();
}

Status SampleWorker::make_fields(std::uint64_t position, std::uint64_t sample, const Target& target) {
  where_ = {plan_.source->uri(), -1, -1, -1};
  if (chunks_) PENSTOCK_CHECK(make_chunked(position, sample, target));
  for (std::size_t field = 0; field < plan_.fields.size(); ++field) {
    const FieldPlan& plan = plan_.fields[field];
    // Made together with what it derives from, or just now.
    if (plan.derive_from >= 0 || (plan.source_field >= 0 && plan.form == FieldForm::kChunks)) continue;
    where_ = {plan_.source->uri(), -1, -1, -1};
    PENSTOCK_CHECK(make_field(field, sample, target));
  }
  if (plan_.joint_maps.empty()) return {};
  where_ = {plan_.source->uri(), -1, -1, -1};
  return run_joint_maps(target);
}

Status SampleWorker::make_field(std::size_t field, std::uint64_t sample, const Target& target) {
  const FieldPlan& plan = plan_.fields[field];
  context_.draws.select_view(plan.view);
  if (plan.is_key) return hand_on_text(field, plan_.source->key(sample), target);
  if (is_text(plan.kind)) {
    if (plan.form == FieldForm::kIndex)
      return hand_on_text(
          field,
          std::get<std::string>(plan_.source->value(sample, static_cast<std::size_t>(plan.source_field))),
          target);
    const auto found = find_bytes(plan, sample);
    if (!found) return std::unexpected(found.error());
    if (plan.kind == FieldKind::kJson) PENSTOCK_CHECK(scratch_.charge(found->bytes.size() * kJsonCheckFactor));
    if (auto status = check_text(plan.kind, found->bytes); !status) {
      // Where a value stands within a record is not known; the record is.
      if (plan.form == FieldForm::kRecord) status.error().where.offset = -1;
      return place_error(std::move(status).error());
    }
    return hand_on_text(field, {reinterpret_cast<const char*>(found->bytes.data()), found->bytes.size()},
                        target);
  }
  if (plan.kind == FieldKind::kArray && plan.form <= FieldForm::kElements) {
    const auto in_place = read_in_place(field, sample, target);
    if (!in_place) return std::unexpected(in_place.error());
    if (*in_place) return {};
  }
  auto value = load(field, sample);
  if (!value) return std::unexpected(std::move(value).error());
  clock_.mark(Stage::kTransform, 0, plan.form == FieldForm::kIndex ? 0 : 1);
  return hand_on(field, 0, *value, target);
}

Status SampleWorker::hand_on(std::size_t field, std::size_t part, const View& value, const Target& target) {
  if (part < plan_.fields[field].joint_maps.size()) return put_aside(field, value);
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
    PENSTOCK_CHECK(hand_on(field, 0, derived, target));
    context_.held = held;
    context_.keep_buffer = -1;
  }
  return {};
}

// ---- where values come from

Result<View> SampleWorker::load(std::size_t field, std::uint64_t sample) {
  const FieldPlan& plan = plan_.fields[field];
  Result<View> view;
  if (plan.form == FieldForm::kIndex) {
    const IndexValue value = plan_.source->value(sample, static_cast<std::size_t>(plan.source_field));
    if (const auto* integer = std::get_if<std::int64_t>(&value)) {
      integer_ = *integer;
      view = view_of_array(reinterpret_cast<const std::byte*>(&integer_), {DType::kInt64, {}});
    } else if (const auto* several = std::get_if<std::vector<std::int64_t>>(&value)) {
      integers_ = *several;
      view = view_of_array(reinterpret_cast<const std::byte*>(integers_.data()),
                           {DType::kInt64, {static_cast<std::int64_t>(integers_.size())}});
    } else if (const auto* short_real = std::get_if<float>(&value)) {
      short_real_ = *short_real;
      view = view_of_array(reinterpret_cast<const std::byte*>(&short_real_), {DType::kFloat32, {}});
    } else {
      real_ = std::get<double>(value);
      view = view_of_array(reinterpret_cast<const std::byte*>(&real_), {DType::kFloat64, {}});
    }
  } else {
    if (plan.is_picture()) return load_image(plan, sample);
    const auto found = find_bytes(plan, sample);
    if (!found) return std::unexpected(found.error());
    view = decode(plan, *found);
    clock_.mark(Stage::kDecode, found->bytes.size());
  }
  if (view) PENSTOCK_CHECK(plan.program.run(*view, context_));
  return view;
}

Result<View> SampleWorker::decode(const FieldPlan& field, const RecordValue& found) {
  if (found.elements) {
    View view = view_of_array(found.bytes.data(), *found.elements);
    if (field.form == FieldForm::kElements) {
      const ArrayLayout* layout = plan_.source->array_layout(static_cast<std::size_t>(field.source_field));
      view = view_of_array(found.bytes.data(), layout->spec, layout->fortran_order);
      view.swap_bytes = layout->swap_bytes;
    }
    return view;
  }
  if (field.kind == FieldKind::kArray) return view_of_npy(found.bytes);
  const auto integer = parse_integer(found.bytes);
  if (!integer) return std::unexpected(integer.error());
  integer_ = *integer;
  return view_of_array(reinterpret_cast<const std::byte*>(&integer_), {DType::kInt64, {}});
}

// An error whose offset counts from the beginning of what was read.
std::unexpected<Error> SampleWorker::place_error(Error error) const {
  if (error.where.offset >= 0) error.where.offset += where_.offset;
  return std::unexpected(std::move(error));
}

// The bytes of a field as they are stored: a file, a part of a record, elements.
Result<RecordValue> SampleWorker::read_bytes(const FieldPlan& field, std::uint64_t sample) {
  const auto source_field = static_cast<std::size_t>(field.source_field);
  const auto extent = plan_.source->extent(sample, source_field);
  if (!extent) return std::unexpected(extent.error());
  const auto bytes = reader_.read(*extent, sample);
  where_ = reader_.where();
  if (!bytes) return std::unexpected(bytes.error());
  if (field.form == FieldForm::kElements) {
    const ArraySpec& spec = plan_.source->array_layout(source_field)->spec;
    if (bytes->size() != spec.bytes())
      return fail(ErrorCode::kShapeMismatch, fmt::format("{} bytes, where {} {} takes {}", bytes->size(),
                                                         name_of(spec.dtype), spec.shape, spec.bytes()));
    return RecordValue{*bytes, spec};
  }
  if (field.form != FieldForm::kRecord) return RecordValue{*bytes, std::nullopt};
  // Several fields of one record: it is opened, and its checksums verified, once.
  const ConstBytes opened = record_.bytes;
  if (opened.empty() || record_is_of_ != reader_.reads() || opened.data() < bytes->data() ||
      opened.data() > bytes->data() + bytes->size()) {
    record_ = {};
    auto record = plan_.source->open_record(
        sample, *bytes, [this](std::uint64_t more) { return scratch_.charge(more); });
    if (!record) return place_error(std::move(record).error());
    record_ = std::move(*record);
    record_is_of_ = reader_.reads();
  }
  auto value = plan_.source->find_in_record(
      sample, source_field, record_, [this](std::size_t size) -> Result<MutableBytes> {
        const auto room = scratch_.get(kScratchRecord, std::max<std::size_t>(size, 1));
        if (!room) return std::unexpected(room.error());
        return room->first(size);
      });
  if (!value) return place_error(std::move(value).error());
  return value;
}

Result<bool> SampleWorker::read_in_place(std::size_t field, std::uint64_t sample, const Target& target) {
  const FieldPlan& plan = plan_.fields[field];
  const auto source_field = static_cast<std::size_t>(plan.source_field);
  const ArrayLayout* layout = plan_.source->array_layout(source_field);
  if (target.batch == nullptr || layout == nullptr || layout->swap_bytes || layout->fortran_order)
    return false;
  if (shared_.lookahead != nullptr && shared_.lookahead->ahead() != nullptr) return false;
  if (shared_.cache != nullptr) return false;
  if (!plan.is_delivered || !plan.program.keeps(layout->spec.dtype)) return false;
  for (const FieldPlan& other : plan_.fields)
    if (other.derive_from == static_cast<int>(field)) return false;
  const SlotLayout& slots = target.batch->layout;
  const auto slot_field = static_cast<std::size_t>(plan_.delivered_as[field]);
  if (slots.placement(slot_field) != Placement::kSlot || slots.field(slot_field).spec != layout->spec)
    return false;

  const auto extent = plan_.source->extent(sample, source_field);
  if (!extent) return std::unexpected(extent.error());
  const MutableBytes slot = slots.slot(target.batch->contents.block.data(), slot_field, target.index);
  // Bare elements of a shard, or a file with its header, in one call; where the header is not the usual
  // one, the long way.
  const bool is_bare = layout->header.empty();
  if (extent->block >= 0 || extent->shared_object != is_bare) return false;
  if (is_bare && extent->length != slot.size()) return false;
  header_.resize(layout->header.size());
  const std::array<MutableBytes, 2> parts = {MutableBytes(header_), slot};
  const auto read = reader_.read_into(*extent, parts);
  where_ = reader_.where();
  if (!read) return read;
  if (!*read || header_ != layout->header) return false;
  clock_.mark(Stage::kRead, slot.size());
  return true;
}

// ---- where values go

Status SampleWorker::deliver(std::size_t field, const View& value, const Target& target) {
  const FieldPlan& plan = plan_.fields[field];
  const FieldKind kind = is_text(plan.kind) ? FieldKind::kArray : plan.kind;
  if (target.measured != nullptr) (*target.measured)[field] = {kind, plan.program.spec_of(value)};
  if (target.look != nullptr) (*target.look)({field, &value, {}});
  if (target.batch == nullptr || !plan.is_delivered) return {};
  const SlotLayout& layout = target.batch->layout;
  const auto slot_field = static_cast<std::size_t>(plan_.delivered_as[field]);
  if (layout.placement(slot_field) == Placement::kText)
    return other_kind(plan, layout.field(slot_field).kind, kind);
  if (layout.placement(slot_field) != Placement::kSlot) return keep_part(field, value, target);
  const MutableBytes slot = layout.slot(target.batch->contents.block.data(), slot_field, target.index);
  PENSTOCK_CHECK(plan.program.store(value, layout.field(slot_field).spec, slot));
  clock_.mark(Stage::kCollate, slot.size(), plan.form == FieldForm::kIndex ? 0 : 1);
  return {};
}

Status SampleWorker::deliver_text(std::size_t field, FieldKind kind, std::string_view text,
                                  const Target& target) {
  if (target.measured != nullptr) (*target.measured)[field] = {kind, {}};
  if (target.look != nullptr) (*target.look)({field, nullptr, text});
  if (target.batch == nullptr || !plan_.fields[field].is_delivered) return {};
  const auto place = static_cast<std::size_t>(plan_.delivered_as[field]);
  const FieldKind wanted = target.batch->layout.field(place).kind;
  if (kind != wanted) return other_kind(plan_.fields[field], wanted, kind);
  PENSTOCK_CHECK(take_room(*target.batch, text.size() + kBytesPerText));
  target.batch->contents.texts[place][target.index] = text;
  clock_.mark(Stage::kCollate, text.size(), 0);
  return {};
}

Status SampleWorker::keep_part(std::size_t field, const View& value, const Target& target) {
  const FieldPlan& plan = plan_.fields[field];
  const auto place = static_cast<std::size_t>(plan_.delivered_as[field]);
  const SlotLayout& layout = target.batch->layout;
  const ArraySpec& wanted = layout.field(place).spec;
  Part part{plan.program.spec_of(value), nullptr};
  if (part.spec.dtype != wanted.dtype || part.spec.shape.size() != wanted.shape.size())
    return fail(ErrorCode::kShapeMismatch,
                fmt::format("sample is {} {}, the batch has {} with {} axes", name_of(part.spec.dtype),
                            part.spec.shape, name_of(wanted.dtype), wanted.shape.size()));
  const std::uint64_t bytes = part.spec.bytes();
  PENSTOCK_CHECK(take_room(*target.batch, bytes + kBytesPerPart));
  part.data = std::make_unique_for_overwrite<std::byte[]>(bytes);
  PENSTOCK_CHECK(plan.program.store(value, part.spec, {part.data.get(), bytes}));
  if (const int lengths = layout.lengths_of(place); lengths >= 0) {
    const MutableBytes slot =
        layout.slot(target.batch->contents.block.data(), static_cast<std::size_t>(lengths), target.index);
    std::memcpy(slot.data(), part.spec.shape.data(), slot.size());
  }
  target.batch->contents.parts[place][target.index] = std::move(part);
  clock_.mark(Stage::kCollate, bytes, 1);
  return {};
}

Status SampleWorker::take_room(const BatchTarget& batch, std::uint64_t bytes) {
  switch (batch.room.take(batch.contents.room, bytes)) {
    case VariableMemory::Answer::kYes: room_taken_ += bytes; return {};
    case VariableMemory::Answer::kLater: is_too_early_ = true; return fail(ErrorCode::kNoMemory, "no room yet");
    case VariableMemory::Answer::kNever: break;
  }
  is_batch_too_large_ = true;
  return fail(ErrorCode::kNoMemory, batch.room.describe_too_large("a batch"));
}

void SampleWorker::drop_parts(const Target& target) {
  BatchContents& contents = target.batch->contents;
  for (auto& field : contents.texts)
    if (!field.empty()) field[target.index] = {};
  for (auto& field : contents.parts)
    if (!field.empty()) field[target.index] = {};
  target.batch->room.give_back(contents.room, room_taken_);
}

}  // namespace penstock
