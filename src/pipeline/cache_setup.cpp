#include "pipeline/cache_setup.h"

#include <fmt/format.h>

#include <algorithm>

#include "penstock/interruption.h"
#include "source/chunked_array.h"

namespace penstock {
namespace {

constexpr std::uint64_t kSmallEntry = 8 << 10;
constexpr std::uint64_t kEntryOverhead = 256;  // bytes of an entry in the table and in its head
constexpr std::uint64_t kSamplesMeasured = 3, kSamplesTried = 16;

std::uint64_t count_units(const Source& source) {
  std::uint64_t chunks = 0;
  for (const auto& array : source.storage().arrays) chunks += array->chunks();
  return chunks > 0 ? chunks : source.size();
}

std::uint64_t bytes_of(double bytes) { return static_cast<std::uint64_t>(std::max(64.0, bytes)); }

// Returns the number of entries to prepare for: as many as fit, but not more than will be needed by this loader and by
// others that share the cache.
std::uint64_t entries_for(std::uint64_t cache_bytes, std::uint64_t data, std::uint64_t entry_bytes) {
  const std::uint64_t wanted = std::max(2 * data, cache_bytes / kSmallEntry);
  return std::min(wanted, cache_bytes / (entry_bytes + kEntryOverhead)) + 64;
}

bool can_be_decoded(const SamplePlan& plan) {
  return !plan.source->storage().arrays.empty() ||
         std::ranges::any_of(plan.fields, &FieldPlan::has_lasting_pixels);
}

bool has_fast_decode(const SamplePlan& plan) {
  return std::ranges::any_of(plan.fields, [](const FieldPlan& field) { return !field.program.can_be_cut(); });
}

// Measures the mean of a few samples. Which samples are measured does not depend on timing, because processes that
// share a cache must arrive at the same sizes.
Result<UnitCost> measure(const SamplePlan& plan, const ProbeMemory& memory, unsigned threads,
                 const SharedReads& shared) {
  const Source& source = *plan.source;
  const std::size_t at_a_time = source.storage().reads_ahead();
  ScratchBudget budget(memory.ledger, memory.bytes, 0);
  WorkerCounters counters;
  SampleWorker worker(plan, budget, counters, shared);
  const std::uint64_t tries = std::min(source.size(), kSamplesTried);
  const std::uint64_t wanted = at_a_time > 0 ? 1 : kSamplesMeasured;
  UnitCost mean;
  double seen = 0;
  for (std::uint64_t i = 0; i < tries && seen < static_cast<double>(wanted); ++i) {
    const auto cost = worker.measure_unit(shared.streams ? i : i * source.size() / tries);
    if (!cost && cost.error().code == ErrorCode::kStopped) return cost;
    PENSTOCK_CHECK(check_interruption(source.uri()));
    if (!cost) continue;  // it will be reported when its turn comes
    mean.read_seconds += cost->read_seconds;
    mean.decode_seconds += cost->decode_seconds;
    mean.encoded_bytes += cost->encoded_bytes;
    mean.decoded_bytes += cost->decoded_bytes;
    ++seen;
  }
  const double share = seen > 0 ? 1 / seen : 0;
  // Several reads are in flight at one time, so a read costs a thread less time than it takes.
  const double overlap = at_a_time > 0 ? static_cast<double>(threads) / static_cast<double>(at_a_time) : 1;
  return UnitCost{mean.read_seconds * share * std::min(1.0, overlap), mean.decode_seconds * share,
                  mean.encoded_bytes * share, mean.decoded_bytes * share};
}

std::string describe(const SamplePlan& plan, CacheForm form) {
  std::string fields;
  for (const FieldPlan& field : plan.fields)
    if (field.source_field >= 0 && field.form != FieldForm::kIndex)
      fields += (fields.empty() ? "" : ", ") + field.name;
  return fmt::format("{} ({}): {}, {} samples", plan.source->uri(), fields,
                     form == CacheForm::kDecoded ? "decoded" : "as stored", plan.source->size());
}

}  // namespace

CacheForm better_form(const UnitCost& unit, std::uint64_t units, std::uint64_t cache_bytes) {
  const auto saved = [&](double bytes, double seconds) {
    const double all = bytes * static_cast<double>(units);
    return seconds * (all > 0 ? std::min(1.0, static_cast<double>(cache_bytes) / all) : 1);
  };
  const double encoded = saved(unit.encoded_bytes, unit.read_seconds);
  const double decoded = saved(unit.decoded_bytes, unit.read_seconds + unit.decode_seconds);
  return encoded > decoded ? CacheForm::kEncoded : CacheForm::kDecoded;
}

Result<std::unique_ptr<SampleCache>> set_up_cache(const SamplePlan& plan, const LoaderOptions& options,
                                                  const ProbeMemory& memory, unsigned threads,
                                                  const SharedReads& shared) {
  if (options.cache_form == CacheForm::kDecoded && has_fast_decode(plan))
    return fail(
        ErrorCode::kInvalidArgument,
        "cache_form=\"decoded\" caches whole images, and fast_decode makes other pixels from them; use only "
        "one of the two");
  const auto cache = std::static_pointer_cast<TieredCache>(options.cache);
  const CacheOptions& sizes = cache->options();
  const auto measured = measure(plan, memory, threads, shared);
  if (!measured) return std::unexpected(measured.error());
  const UnitCost& unit = *measured;
  const std::uint64_t units = count_units(*plan.source);
  CacheForm form = options.cache_form;
  const bool is_free = form == CacheForm::kAuto;
  if (is_free) form = better_form(unit, units, sizes.ram_bytes + sizes.disk_bytes);
  if (!can_be_decoded(plan)) form = CacheForm::kEncoded;

  const std::uint64_t fields = std::max<std::uint64_t>(1, stored_fields(plan).size());
  const std::uint64_t least = bytes_of(std::min(unit.encoded_bytes, unit.decoded_bytes)) / fields;
  const std::uint64_t most = bytes_of(std::max(unit.encoded_bytes, unit.decoded_bytes));
  const std::uint64_t identity = cache_identity(plan);
  PENSTOCK_CHECK(cache->prepare({identity, entries_for(sizes.ram_bytes, units * fields, least),
                                 entries_for(sizes.disk_bytes, units * fields, least), most,
                                 std::max(1u, options.local_ranks)}));
  // All loaders that share the entries must cache them in the same form.
  if (is_free && cache->agree(identity, static_cast<std::uint32_t>(form)) != static_cast<std::uint32_t>(form))
    form = form == CacheForm::kDecoded ? CacheForm::kEncoded : CacheForm::kDecoded;
  auto own = std::make_unique<SampleCache>(cache, plan, form);
  cache->note(describe(plan, form));
  return own;
}

}  // namespace penstock
