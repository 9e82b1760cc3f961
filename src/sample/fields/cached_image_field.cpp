#include "sample/fields/cached_image_field.h"

#include "source/extent.h"
#include "transform/write_slot.h"

namespace penstock {
namespace {

constexpr int kMaxSide = 1 << 24;  // width or height of an image

// Returns nullopt if the entry is damaged: the program does not make such pixels from an image of this size.
std::optional<Program::FixedPart> part_of_entry(const Program& program, const SampleCache::Value& entry) {
  const int width = entry.head.picture_width, height = entry.head.picture_height;
  if (width < 1 || height < 1 || width > kMaxSide || height > kMaxSide) return std::nullopt;
  const auto part = program.plan_fixed_part(width, height);
  if (!part || entry.spec() != part->spec) return std::nullopt;
  return *part;
}

}  // namespace

bool CachedImageField::applies(const FieldSetup& setup, std::size_t field) {
  return setup.plan.fields[field].is_picture() && setup.cache != nullptr && setup.cache->keeps_pixels(field);
}

CachedImageField::CachedImageField(const FieldSetup& setup, std::size_t field)
    : ImageField(setup, field),
      allocate_(cached_value_allocator(setup.context.scratch)) {}

Result<View> CachedImageField::load(const SampleTask& task) {
  const auto extent = setup_.bytes.extent(read_of(task));
  if (!extent) return std::unexpected(extent.error());
  const SampleCache::Subject subject = setup_.cache->subject(field_, *extent);
  StageClock& clock = setup_.context.clock;
  if (auto entry = setup_.cache->find(subject, allocate_, clock.cache(), ahead_)) {
    entry_ = entry->held;
    clock.mark(Stage::kRead, entry->bytes.size());
    const auto part = part_of_entry(field().program, *entry);
    setup_.origin.where = where_of(*extent);
    if (part) return field().program.run_from_fixed(*part, entry->bytes.data(), setup_.context);
    setup_.cache->withdraw(subject);
  }
  return decode_and_cache(task, *extent, subject);
}

Result<View> CachedImageField::decode_and_cache(const SampleTask& task, const Extent& extent,
                                                const SampleCache::Subject& subject) {
  const Program& program = field().program;
  const SampleCache& cache = *setup_.cache;
  const Clock::time_point began = Clock::now();
  const auto found = setup_.bytes.read(read_of(task), extent);
  if (!found) return std::unexpected(found.error());
  if (!cache.has_room()) return decode(found->bytes);
  const auto part = program.plan_fixed_part(found->bytes, setup_.decoder);
  if (!part) return std::unexpected(part.error());
  const double share = program.share_decoded(*part, setup_.context.draws);
  if (!cache.wants_pixels(share, part->spec.bytes() + sizeof(EntryHead))) return decode(found->bytes);
  View view;
  const auto fill = [&](MutableBytes bytes, EntryHead& head) -> Status {
    const auto made = program.run_fixed_part(found->bytes, setup_.decoder, setup_.context);
    if (!made) return std::unexpected(made.error());
    copy_view(*made, bytes.data(), view_of_array(bytes.data(), part->spec));
    describe_array(head, part->spec);
    head.picture_width = part->width;
    head.picture_height = part->height;
    head.cost_ns = cost_since(began);
    view = *made;
    return {};
  };
  const auto added = cache.add(subject, setup_.origin.version, part->spec.bytes(), fill, allocate_);
  if (added && view.data != nullptr) {
    PENSTOCK_CHECK(program.run_rest(view, setup_.context));
    return view;
  }
  // The whole image was not cached. If decoding it failed, a crop of it may still be undamaged, or fit into memory.
  return decode(found->bytes);
}

}  // namespace penstock
