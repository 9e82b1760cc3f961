#include "pack/sample_values.h"

#include <fmt/format.h>

#include <array>
#include <new>

#include "decode/image/image_formats.h"
#include "decode/jpeg/jpeg_restarts.h"
#include "pack/image_encoder.h"
#include "pack/formats/tar_names.h"
#include "source/array_layout.h"
#include "store/store.h"

namespace penstock {
namespace {

using Way = FieldWork::Way;

std::string_view extension_of(std::string_view path) {
  const auto dot = path.rfind('.'), slash = path.rfind('/');
  const bool has_dot = dot != std::string_view::npos && (slash == std::string_view::npos || dot > slash);
  return has_dot ? path.substr(dot + 1) : std::string_view();
}

// The endings of the format that the bytes have; where they are of none, the file's own name tells.
std::vector<std::string_view> endings_of(ConstBytes encoded, const Extent& extent) {
  if (const ImageFormat* const format = image_format_of(encoded)) return format->endings;
  const std::string_view own = extension_of(extent.object);
  if (!extent.shared_object && is_image_ending(own)) return {own};
  return {"jpg"};
}

// The ending of a member of a tar, or the bare format for others.
std::string ending_of_picture(const PackDescription& description, std::uint32_t field,
                              const std::vector<std::string_view>& of_format) {
  const PackedField& packed = description.fields[field];
  if (description.format != "tar") return std::string(of_format.front());
  return image_ending(packed.stored_as, packed.kind, packed.name, of_format);
}

// The bytes with restart markers, or the given ones where they are no JPEG that can be rewritten.
Result<std::vector<std::byte>> rewritten(ConstBytes encoded, Scratch& scratch) {
  const auto memory = restart_rewriting_bytes(encoded);
  if (memory) {
    PENSTOCK_CHECK(scratch.charge(*memory));
    auto changed = rewrite_with_restarts(encoded);
    if (changed || changed.error().code == ErrorCode::kStopped || changed.error().code == ErrorCode::kNoMemory)
      return changed;
  }
  // Damage stays as it is, for the reader to find.
  return std::vector<std::byte>();
}

}  // namespace

SampleValues::SampleValues(const Source& source, const PackedFields& fields, const FieldPlans& plans,
                           ScratchBudget& budget, const SharedReads& shared)
    : source_(source),
      fields_(fields),
      plans_(plans),
      shared_(shared),
      scratch_(budget),
      clock_(counters_) {
  if (!plans.copied_fields.empty()) {
    bytes_ = std::make_unique<SampleBytes>(plans.copied, scratch_, clock_, origin_, nullptr);
    bytes_->turn_to(shared);
  }
  for (const FieldPlans::Made& made : plans.made)
    makers_.push_back(std::make_unique<SampleWorker>(made.plan, budget, counters_, shared));
}

Status SampleValues::visit(std::uint64_t sample, const Take& take) {
  clock_.start();
  origin_.where = {source_.uri(), -1, -1, -1};
  Status status;
  try {
    if (bytes_) {
      status = visit_copied(sample, take);
      bytes_->end_sample();
      scratch_.end_sample();  // before a maker needs memory of the same budget
    }
    if (status) status = visit_made(sample, take);
    if (status) status = visit_index(sample, take);  // a label comes behind its image
  } catch (const std::bad_alloc&) {
    status = fail(ErrorCode::kNoMemory, "the system has no memory left");
  }
  if (status) return {};
  Where& where = status.error().where;
  if (where.uri.empty()) where = origin_.where;
  where.sample = static_cast<std::int64_t>(sample);
  return status;
}

Status SampleValues::visit_index(std::uint64_t sample, const Take& take) {
  for (std::uint32_t i = 0; i < fields_.works.size(); ++i) {
    if (fields_.works[i].way != Way::kIndexed) continue;
    const IndexValue value = source_.value(sample, fields_.works[i].source_field);
    ArraySpec spec;
    ConstBytes bytes;
    bool is_text = false;
    if (const auto* text = std::get_if<std::string>(&value)) {
      bytes = as_bytes(text->data(), text->size());
      is_text = true;
    } else if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) {
      spec = {DType::kInt64, {static_cast<std::int64_t>(list->size())}};
      bytes = as_bytes(list->data(), list->size() * sizeof(std::int64_t));
    } else if (const auto* integer = std::get_if<std::int64_t>(&value)) {
      spec = {DType::kInt64, {}};
      bytes = as_bytes(integer, sizeof *integer);
    } else if (const auto* single = std::get_if<float>(&value)) {
      spec = {DType::kFloat32, {}};
      bytes = as_bytes(single, sizeof *single);
    } else {
      spec = {DType::kFloat64, {}};
      bytes = as_bytes(&std::get<double>(value), sizeof(double));
    }
    PENSTOCK_CHECK(take({i, is_text ? nullptr : &spec, {}, bytes.size(),
                         [bytes](PackBuffer& out) { return out.append(bytes); }}));
  }
  return {};
}

Status SampleValues::visit_copied(std::uint64_t sample, const Take& take) {
  if (shared_.lookahead != nullptr && makers_.empty()) shared_.lookahead->extend();
  Status status;
  for (std::size_t number = 0; number < plans_.copied_fields.size() && status; ++number) {
    const std::uint32_t field = plans_.copied_fields[number];
    const FieldRead wanted{plans_.copied.fields[number], number, sample, sample};
    const auto extent = bytes_->extent(wanted);
    if (!extent) {
      if (!is_missing(sample, field, extent.error())) status = std::unexpected(extent.error());
      continue;
    }
    const auto found = bytes_->read(wanted, *extent);
    if (found)
      status = take_copied(field, *extent, *found, take);
    else if (!is_missing(sample, field, found.error()))
      status = std::unexpected(found.error());
  }
  if (shared_.lookahead != nullptr && makers_.empty()) shared_.lookahead->finish(sample, {});
  return status;
}

Status SampleValues::take_copied(std::uint32_t field, const Extent& extent, const RecordValue& found, const Take& take) {
  const FieldWork& work = fields_.works[field];
  PackedValue value{field, found.elements ? &*found.elements : nullptr, {}, found.bytes.size(),
                    [bytes = found.bytes](PackBuffer& out) { return out.append(bytes); }};
  if (!work.is_picture || found.elements) return take(value);
  const std::string ending = ending_of_picture(fields_.description, field, endings_of(found.bytes, extent));
  value.ending = ending;
  std::vector<std::byte> changed;
  if (work.adds_restarts && !measures_) {
    auto bytes = rewritten(found.bytes, scratch_);
    if (!bytes) return std::unexpected(std::move(bytes).error());
    changed = std::move(*bytes);
    if (!changed.empty()) {
      value.size_bytes = changed.size();
      value.append = [&changed](PackBuffer& out) { return out.append(changed); };
    }
  }
  return take(value);
}

Status SampleValues::visit_made(std::uint64_t sample, const Take& take) {
  for (std::size_t group = 0; group < makers_.size(); ++group) {
    const FieldPlans::Made& made = plans_.made[group];
    Status taken;
    const auto look = [&](const SeenField& seen) {
      // A Map may need fields that are not packed.
      if (taken && seen.field < made.plan.fields.size() && made.plan.fields[seen.field].is_delivered)
        taken = take_made(made.fields[static_cast<std::size_t>(made.plan.delivered_as[seen.field])], seen,
                          made.plan.fields[seen.field], take);
    };
    const Status status = makers_[group]->look_at(sample, look);
    if (!taken) return taken;
    if (status) continue;
    const bool is_alone = made.fields.size() == 1;
    if (!is_alone || !is_missing(sample, made.fields.front(), status.error())) return status;
  }
  return {};
}

Status SampleValues::take_made(std::uint32_t field, const SeenField& seen, const FieldPlan& plan, const Take& take) const {
  const FieldWork& work = fields_.works[field];
  if (seen.view == nullptr)
    return take({field, nullptr, {}, seen.text.size(), [&](PackBuffer& out) {
                   return out.append(as_bytes(seen.text.data(), seen.text.size()));
                 }});
  const View& view = *seen.view;
  const ArraySpec spec = plan.program.spec_of(view);
  if (work.encodes && !measures_) {
    const std::string_view format = work.encodes_png ? "png" : "jpg";
    const std::string ending =
        ending_of_picture(fields_.description, field, {format, work.encodes_png ? "png" : "jpeg"});
    return take({field, nullptr, ending, 0, [&](PackBuffer& out) {
                   return work.encodes_png ? encode_png(view, out) : encode_jpeg(view, fields_.jpeg_quality, out);
                 }});
  }
  return take({field, &spec, {}, spec.bytes(), [&](PackBuffer& out) -> Status {
                 const auto room = out.append(spec.bytes());
                 if (!room) return std::unexpected(room.error());
                 return plan.program.store(view, spec, *room);
               }});
}

bool SampleValues::is_missing(std::uint64_t sample, std::uint32_t field, const Error& error) const {
  const std::size_t number = fields_.works[field].source_field;
  if (error.code != ErrorCode::kNotFound || source_.fields()[number].is_everywhere) return false;
  // kNotFound also means that an object has disappeared, which is not the same as a missing field.
  const auto extent = source_.extent(sample, number);
  return !extent ? extent.error().code == ErrorCode::kNotFound : extent->store->stat(extent->object).has_value();
}

}  // namespace penstock
