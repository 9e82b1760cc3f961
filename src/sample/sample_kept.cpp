// The part of a SampleWorker that uses the cache: what was kept of a sample is not read and decoded again.
#include <algorithm>
#include <cstring>
#include <span>

#include "sample/sample_worker.h"
#include "source/extent.h"
#include "transform/write_slot.h"

namespace penstock {
namespace {

constexpr int kMaxSide = 1 << 24;  // of a picture

void describe_array(EntryHead& head, const ArraySpec& spec) {
  head.has_spec = 1;
  head.dtype = spec.dtype;
  head.rank = static_cast<std::uint8_t>(spec.shape.size());
  std::ranges::copy(spec.shape, head.shape.begin());
}

// Nothing: these are no pixels that the program makes of such a picture.
std::optional<Program::FixedPart> kept_part(const Program& program, const SampleCache::Value& kept) {
  const int width = kept.head.picture_width, height = kept.head.picture_height;
  if (width < 1 || height < 1 || width > kMaxSide || height > kMaxSide) return std::nullopt;
  const auto part = program.plan_fixed_part(width, height);
  if (!part || kept.spec() != part->spec) return std::nullopt;
  return *part;
}

}  // namespace

std::optional<SampleCache::Value> SampleWorker::find_cached(const SampleCache::Subject& subject) {
  auto kept = shared_.cache->find(
      subject, cached_value_allocator_, clock_.cache(), shared_.lookahead ? shared_.lookahead->ahead() : nullptr);
  if (!kept) return kept;
  held_ = kept->held;
  clock_.mark(Stage::kRead, kept->bytes.size());
  return kept;
}

Result<RecordValue> SampleWorker::find_bytes(const FieldPlan& field, std::uint64_t sample) {
  if (shared_.cache == nullptr || shared_.cache->keeps_pixels(number_of(field)))
    return read_bytes(field, sample);
  const auto extent = plan_.source->extent(sample, static_cast<std::size_t>(field.source_field));
  if (!extent) return std::unexpected(extent.error());
  const SampleCache::Subject subject = shared_.cache->subject(number_of(field), *extent);
  if (const auto kept = find_cached(subject)) {
    where_ = where_of(*extent);
    return RecordValue{kept->bytes, kept->spec()};
  }
  const Clock::time_point began = Clock::now();
  auto value = read_bytes(field, sample);
  if (!value || (value->elements && value->elements->shape.size() > EntryHead{}.shape.size())) return value;
  const auto keep = [&](MutableBytes bytes, EntryHead& head) -> Status {
    std::ranges::copy(value->bytes, bytes.begin());
    if (value->elements) describe_array(head, *value->elements);
    head.cost_ns = cost_since(began);
    return {};
  };
  // Whether it could be kept or not, it is here.
  (void)shared_.cache->add(subject, reader_.version(), value->bytes.size(), keep, cached_value_allocator_);
  return value;
}

Result<View> SampleWorker::load_image(const FieldPlan& field, std::uint64_t sample) {
  if (shared_.cache != nullptr && shared_.cache->keeps_pixels(number_of(field))) {
    const auto extent = plan_.source->extent(sample, static_cast<std::size_t>(field.source_field));
    if (!extent) return std::unexpected(extent.error());
    const SampleCache::Subject subject = shared_.cache->subject(number_of(field), *extent);
    const auto kept = find_cached(subject);
    if (kept) {
      const auto part = kept_part(field.program, *kept);
      where_ = where_of(*extent);
      if (part) return field.program.run_from_fixed(*part, kept->bytes.data(), context_);
      shared_.cache->withdraw(subject);
    }
    return decode_and_keep(field, sample, subject);
  }
  const auto found = find_bytes(field, sample);
  if (!found) return std::unexpected(found.error());
  return field.program.run_image(found->bytes, decoder_, context_);
}

Result<View> SampleWorker::decode_and_keep(const FieldPlan& field, std::uint64_t sample,
                                           const SampleCache::Subject& subject) {
  const Clock::time_point began = Clock::now();
  const auto found = read_bytes(field, sample);
  if (!found) return std::unexpected(found.error());
  if (!shared_.cache->has_room()) return field.program.run_image(found->bytes, decoder_, context_);
  const auto part = field.program.plan_fixed_part(found->bytes, decoder_);
  if (!part) return std::unexpected(part.error());
  const double share = field.program.share_decoded(*part, context_.draws);
  if (!shared_.cache->wants_pixels(share, part->spec.bytes() + sizeof(EntryHead)))
    return field.program.run_image(found->bytes, decoder_, context_);
  View view;
  const auto keep = [&](MutableBytes bytes, EntryHead& head) -> Status {
    const auto made = field.program.run_fixed_part(found->bytes, decoder_, context_);
    if (!made) return std::unexpected(made.error());
    copy_view(*made, bytes.data(), view_of_array(bytes.data(), part->spec));
    describe_array(head, part->spec);
    head.picture_width = part->width;
    head.picture_height = part->height;
    head.cost_ns = cost_since(began);
    view = *made;
    return {};
  };
  const auto added = shared_.cache->add(subject, reader_.version(), part->spec.bytes(), keep, cached_value_allocator_);
  if (added && view.data != nullptr) {
    PENSTOCK_CHECK(field.program.run_rest(view, context_));
    return view;
  }
  // What is cut out of a picture may be sound where the whole is not, or fit where the whole does not.
  return field.program.run_image(found->bytes, decoder_, context_);
}

Result<UnitCost> SampleWorker::measure_unit(std::uint64_t sample) {
  if (chunks_) return chunks_->measure_first(sample, stored_fields(plan_));
  UnitCost cost;
  Status status;
  for (const FieldPlan& field : plan_.fields) {
    if (field.source_field < 0 || field.form == FieldForm::kIndex) continue;
    // Views of one stored field are read once, and share its entry where their first steps are alike.
    const std::span before(plan_.fields.data(), number_of(field));
    const auto is_view = [&](const FieldPlan& other) { return other.source_field == field.source_field; };
    const bool is_read = std::ranges::any_of(before, is_view);
    if (std::ranges::any_of(before, [&](const FieldPlan& other) {
          return is_view(other) && other.program.fixed_fingerprint() == field.program.fixed_fingerprint();
        }))
      continue;
    const Clock::time_point began = Clock::now();
    const auto found = read_bytes(field, sample);
    if (!found) {
      status = std::unexpected(found.error());
      break;
    }
    const Clock::time_point read = Clock::now();
    std::uint64_t decoded_bytes = found->bytes.size();
    if (field.is_picture()) {
      const auto part = field.program.plan_fixed_part(found->bytes, decoder_);
      if (part) decoded_bytes = part->spec.bytes();
      if (const auto made = field.program.run_fixed_part(found->bytes, decoder_, context_); !made || !part) {
        status = std::unexpected(made ? part.error() : made.error());
        break;
      }
    }
    cost.read_seconds += is_read ? 0 : seconds_between(began, read);
    cost.decode_seconds += seconds_between(read, Clock::now());
    cost.encoded_bytes += is_read ? 0 : static_cast<double>(found->bytes.size());
    cost.decoded_bytes += static_cast<double>(decoded_bytes);
  }
  end_sample();
  if (!status) return std::unexpected(status.error());
  return cost;
}

}  // namespace penstock
