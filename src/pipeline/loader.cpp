// Opens a loader: checks the options, divides the budget and connects the stages.
#include "base/text/byte_units.h"
#include "penstock/loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/machine.h"
#include "pipeline/cache_setup.h"
#include "plan/field_plan.h"
#include "pipeline/loader_parts.h"
#include "pipeline/order_plan.h"
#include "pipeline/pipeline_loader.h"
#include "sample/sample_shape.h"
#include "pipeline/scheduler/scheduler.h"
#include "plan/chunk_pieces.h"
#include "source/sample_draws.h"

namespace penstock {
namespace {

constexpr std::uint64_t kMaxBatchSize = 1 << 24;
constexpr std::uint64_t kMaxOpenObjects = 64;  // per worker
constexpr std::uint64_t kMaxShuffleWindow = 1 << 24;
constexpr std::uint64_t kBytesPerPlannedChunk = 256;
constexpr std::uint64_t kBatchesWithTheUser = 2;
constexpr std::uint64_t kBatchesBesideChunks = kBatchesWithTheUser + 3;
constexpr std::uint64_t kMaxBatchesBesideChunks = kBatchesWithTheUser + 64;
constexpr std::uint64_t kFewChunks = 16;
constexpr std::uint64_t kPartForBatches = 16;  // batches beyond kBatchesBesideChunks take at most 1/16 of the memory
constexpr std::uint64_t kMinBatchesPlanned = 8;  // uses of chunks are planned at least this many batches ahead
constexpr std::uint64_t kMinChunkScratch = kMiB / 2;
constexpr std::uint64_t kCopyScratch = 64 << 10;        // per worker, if chunks only have to be copied
constexpr std::uint64_t kMaxSampleScratch = 32 * kMiB;  // per worker
constexpr int kMaxDoublings = 24;                       // steps of the search for the memory that suffices

std::unexpected<Error> bad_loader_option(std::string message) {
  return fail(ErrorCode::kInvalidArgument, std::move(message));
}

Status check_options(const LoaderOptions& options) {
  if (options.batch_size == 0) return bad_loader_option("batch_size must be at least 1");
  if (options.batch_size > kMaxBatchSize)
    return bad_loader_option(fmt::format("batch_size {}: at most {}", options.batch_size, kMaxBatchSize));
  PENSTOCK_CHECK(check_ranks(options.rank, options.world_size));
  if (options.threads > 1024) return bad_loader_option(fmt::format("threads={}: at most 1024", options.threads));
  if (options.shuffle_window > kMaxShuffleWindow)
    return bad_loader_option(fmt::format("shuffle_window={}: at most {}", options.shuffle_window, kMaxShuffleWindow));
  if (!(options.max_skip >= 0 && options.max_skip <= 1))
    return bad_loader_option(fmt::format("max_skip={}: a share from 0 to 1", options.max_skip));
  return {};
}

std::int64_t wall_clock_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

double batch_mib(const LayoutField& field, const LoaderOptions& options) {
  return static_cast<double>(field.field.spec.bytes()) * static_cast<double>(options.batch_size) / kMiB;
}

// Returns the number of samples in a window of the order; samples of a window may share storage units.
std::uint64_t samples_together(const OrderSpec& order) {
  if (order.draws) return order.window_units * order.draws->per_visit();
  if (order.units && order.units->first_sample.size() > 1)
    return order.window_units * (order.samples / (order.units->first_sample.size() - 1) + 1);
  return order.window_units * order.unit_samples;
}

// How a loader uses the chunks of a source.
struct ChunkUse {
  std::uint64_t bytes = 0;          // size of the largest chunk, decoded; 0: the source has no chunks
  std::uint64_t scratch_bytes = 0;  // scratch to decode one, without its elements
  bool is_shared = false;           // samples share chunks
  bool is_only_copied = false;      // samples are made by copying elements, without any other step
  std::uint64_t sample_bytes = 0;   // size of the fields of a sample that need more steps
};

ChunkUse find_chunk_use(const SamplePlan& plan, const LoaderOptions& options) {
  const Source& source = *plan.source;
  ChunkUse use;
  use.is_shared = source.storage().shares_units;
  for (const auto& array : source.storage().arrays) {
    if (array->chunks() == 0) continue;
    const std::uint64_t bytes = array->chunk_bytes(0);
    use.bytes = std::max(use.bytes, bytes);
    // Scratch holds the encoded bytes, which may be a little longer than the elements, and the memory of codec
    // libraries. A cache on disk needs a buffer for the decoded chunk in addition.
    const std::uint64_t cached = options.cache ? bytes : 0;
    use.scratch_bytes = std::max(use.scratch_bytes, bytes + bytes / kPartOfChunk + array->decode_scratch_bytes() +
                                                        cached + kMinChunkScratch);
  }
  use.is_only_copied = true;
  for (const FieldPlan& field : plan.fields) {
    if (field.form == FieldForm::kIndex || field.is_key) continue;
    const bool is_chunked = field.source_field >= 0 && field.form == FieldForm::kChunks;
    const auto number = static_cast<int>(&field - plan.fields.data());
    const bool has_derived = std::ranges::any_of(
        plan.fields, [&](const FieldPlan& other) { return other.derive_from == number; });
    if (is_chunked && field.is_delivered && !has_derived && field.program.only_changes_view()) continue;
    use.is_only_copied = false;
    if (is_chunked)
      use.sample_bytes += source.array_layout(static_cast<std::size_t>(field.source_field))->spec.bytes() + 64;
  }
  return use;
}

// Returns the memory for decoded chunks and bytes read ahead. If samples share chunks, that is everything except a few
// batches and the scratch to make samples. If they do not, few chunks are in use at a time, and it is less. In any case
// one batch and one chunk fit.
std::uint64_t bytes_to_share(const Source& source, const ChunkUse& chunks, const BudgetRequest& request) {
  const std::uint64_t memory = request.budget_bytes, third = memory / 3;
  std::uint64_t wanted = third;
  if (chunks.bytes > 0 && chunks.is_shared) {
    const std::uint64_t batch = request.batch_bytes + request.variable_bytes;
    const auto beside = [&](std::uint64_t batches) {
      const std::uint64_t others = std::min(batches * batch, memory / 2) + request.sample_scratch_bytes +
                                   wanted_chunk_scratch(request);
      return memory - std::min(memory, others);
    };
    const std::uint64_t few = request.prefetch ? request.prefetch + kBatchesWithTheUser : kBatchesBesideChunks;
    const std::uint64_t many =
        request.prefetch ? few : std::clamp(memory / kPartForBatches / batch, few, kMaxBatchesBesideChunks);
    // If only a few chunks fit, one more chunk is worth more than a longer queue.
    wanted = beside(many);
    const std::uint64_t chunks_that_fit = beside(few) / chunks.bytes;
    if (chunks_that_fit <= kFewChunks) wanted = std::max(wanted, chunks_that_fit * chunks.bytes);
    wanted = std::max(third, wanted);
  } else if (chunks.bytes > 0 && source.storage().reads_ahead() == 0) {
    wanted = std::min(third, std::max(memory / 8, 2 * request.threads * chunks.bytes));
  }
  const std::uint64_t least = least_budget(request) + request.shared_bytes;
  return std::min(std::max(wanted, chunks.bytes), memory - std::min(memory, least));
}

// Fails if a chunk does not fit, because then every sample would fail.
Status check_chunks_fit(const SamplePlan& plan, const ChunkUse& chunks, const BudgetRequest& request) {
  const std::uint64_t needed = least_budget(request) + request.shared_bytes + chunks.bytes;
  if (chunks.bytes == 0 || needed <= request.budget_bytes) return {};
  return fail(ErrorCode::kNoMemory,
              fmt::format("memory budget of {:.0f} MiB is too small: one chunk takes {:.0f} MiB when it is "
                          "decoded, and one batch {:.1f} MiB; give memory= at least {} MiB",
                          static_cast<double>(request.budget_bytes) / kMiB,
                          static_cast<double>(chunks.bytes) / kMiB,
                          static_cast<double>(request.batch_bytes) / kMiB, needed / kMiB + 1),
              {plan.source->uri(), -1, -1, -1});
}

// Fails if the memory does not suffice for the notes that workers and the lookahead make about each chunk of a sample.
Status check_chunks_of_sample(const SamplePlan& plan, std::uint64_t memory, unsigned threads) {
  const Source& source = *plan.source;
  if (source.storage().arrays.empty() || source.size() == 0) return {};
  std::vector<ArrayBox> boxes;
  for (const std::size_t field : stored_fields(plan))
    if (source.fields()[field].form == FieldForm::kChunks) source.boxes(0, field, boxes);
  const std::uint64_t chunks = count_pieces(source.storage().arrays, boxes);
  const std::uint64_t most = memory / 4 / kBytesPerPlannedChunk / (threads + 1);
  if (chunks <= most) return {};
  return fail(ErrorCode::kNoMemory,
              fmt::format("one sample is made of {} chunks, and a memory budget of {:.0f} MiB can plan {}; "
                          "give more memory=, or select less",
                          chunks, static_cast<double>(memory) / kMiB, most),
              {source.uri(), -1, -1, -1});
}

// The users of a loader's memory=, among which it is divided. The cache's part is not included.
struct MemoryUse {
  const SamplePlan& plan;
  const LoaderOptions& options;
  const OrderSpec& order;
  unsigned threads = 1;
  std::uint64_t batch_bytes = 0, variable_bytes = 0;
};

struct MemoryPlan {
  BudgetPlan budget;
  StreamArea streams;
  std::optional<LookaheadPlan> lookahead;
};

// Plans the memory for compressed shards: for two epochs if that takes at most half of the memory, otherwise for one.
Result<StreamArea> plan_stream_area(const Source& source, const OrderSpec& order,
                                    const LoaderOptions& options, std::uint64_t memory) {
  StreamArea area;
  area.plan.prefetch = options.prefetch;
  if (!source.storage().is_forward_only()) return area;
  area.request = StreamRequest{order.shuffle == Shuffle::kWindow ? order.window_units : 0,
                               options.batch_size * options.world_size, options.prefetch, memory / 2};
  const auto plan = plan_streams(source, *area.request);
  if (!plan) return std::unexpected(plan.error());
  area.plan = *plan;
  area.bytes = 2 * plan->bytes() <= memory / 2 ? 2 * plan->bytes() : plan->bytes();
  return area;
}

Result<MemoryPlan> divide_memory(const MemoryUse& use, std::uint64_t memory) {
  const Source& source = *use.plan.source;
  auto streams = plan_stream_area(source, use.order, use.options, memory);
  if (!streams) return std::unexpected(std::move(streams).error());
  const ChunkUse chunks = find_chunk_use(use.plan, use.options);
  BudgetRequest request;
  request.budget_bytes = memory;
  request.batch_bytes = use.batch_bytes;
  request.variable_bytes = use.variable_bytes;
  request.shared_bytes = streams->bytes;
  request.chunk_scratch_bytes = chunks.scratch_bytes;
  request.threads = use.threads;
  request.prefetch = streams->plan.prefetch;
  if (chunks.bytes > 0 && chunks.is_only_copied) request.least_share_bytes = kCopyScratch;
  if (chunks.bytes > 0 && chunks.is_shared)
    request.sample_scratch_bytes =
        use.threads * (chunks.is_only_copied ? kCopyScratch
                                             : std::clamp(memory / 8 / use.threads, kMiB, kMaxSampleScratch));
  PENSTOCK_CHECK(check_chunks_fit(use.plan, chunks, request));
  const auto& cache = use.options.cache;
  const std::uint64_t samples = std::max(2 * samples_together(use.order), kMinBatchesPlanned * use.options.batch_size);
  auto lookahead =
      plan_lookahead(source, {samples, bytes_to_share(source, chunks, request), chunks.bytes,
                             cache && cache->options().disk_bytes > 0, use.options.batch_size, chunks.sample_bytes});
  if (lookahead) request.shared_bytes += lookahead->bytes();
  const auto budget = divide_budget(request);
  if (!budget) return std::unexpected(budget.error());
  if (lookahead) lookahead->loan_bytes = budget->chunk_pot_bytes;
  return MemoryPlan{*budget, *streams, lookahead};
}

// Whether this memory suffices for this many epochs at one time.
bool carries(const MemoryUse& use, std::uint64_t memory, std::size_t epochs) {
  const auto plan = divide_memory(use, memory);
  if (!plan || plan->budget.batch_area_bytes / use.batch_bytes < epochs) return false;
  if (!plan->streams.request) return true;
  StreamRequest share = *plan->streams.request;
  share.max_bytes = plan->streams.bytes / epochs;
  return plan_streams(*use.plan.source, share).has_value();
}

// Searches the least memory that is enough, beginning at an amount that is known to be too little.
template <typename IsEnough>
std::uint64_t least_memory(std::uint64_t too_little, const IsEnough& is_enough) {
  std::uint64_t enough = too_little;
  for (int i = 0; i < kMaxDoublings && !is_enough(enough); ++i) {
    too_little = enough;
    enough *= 2;
  }
  while (enough - too_little > kMiB) {
    const std::uint64_t middle = too_little + (enough - too_little) / 2;
    (is_enough(middle) ? enough : too_little) = middle;
  }
  return enough;
}

// `cached` is the part of the budget that the cache takes; `charge` holds it.
Result<LoaderParts> plan_with(const SourcePtr& source, const LoaderOptions& options, std::uint64_t cached,
                              std::shared_ptr<const void> charge) {
  auto order = plan_order(*source, options);
  if (!order) return std::unexpected(std::move(order).error());
  auto plan = plan_fields(source, options);
  if (!plan) return std::unexpected(std::move(plan).error());
  plan->opened_at_ns = wall_clock_ns();

  const std::uint32_t local = std::max(1u, options.local_ranks);
  const std::uint64_t given =
      options.memory_bytes ? options.memory_bytes : default_memory_bytes(local) + cached;
  auto ledger = std::make_shared<Ledger>(given);
  if (!ledger->try_reserve(cached))
    return fail(
        ErrorCode::kNoMemory,
        fmt::format("memory budget of {} MiB is too small; give more, or a smaller cache", given / kMiB));
  const std::uint64_t memory = given - cached;  // for everything except the cache
  const unsigned threads = options.threads ? options.threads : std::max(1u, usable_cpus() / local);
  // Shards stay open between samples, but at most half of the open files that the process may have are used.
  plan->max_open_objects = std::clamp<std::uint64_t>(open_file_limit() / 2 / threads, 1, kMaxOpenObjects);
  auto streams = plan_stream_area(*source, *order, options, memory);
  if (!streams) return std::unexpected(std::move(streams).error());
  // The first epoch uses the blocks that are decompressed here to look at the first samples.
  const auto stream_area = std::make_shared<Area>(ledger, streams->bytes);
  std::unique_ptr<StreamBlocks> opened;
  if (streams->request) opened = std::make_unique<StreamBlocks>(*source, stream_area, streams->plan);
  PENSTOCK_CHECK(check_chunks_of_sample(*plan, memory, threads));
  const ProbeMemory probing{*ledger, memory - streams->bytes};
  std::unique_ptr<SampleCache> cache;
  if (options.cache) {
    auto made = set_up_cache(*plan, options, probing, threads, {opened.get()});
    if (!made) return std::unexpected(std::move(made).error());
    cache = std::move(*made);
  }
  auto shape = find_shape(*plan, options, probing, {opened.get()});
  if (!shape) return std::unexpected(std::move(shape).error());
  for (const LayoutField& field : shape->fields)  // checked before sizes are multiplied, which might overflow
    if (field.placement == Placement::kSlot && field.field.spec.bytes() > memory / options.batch_size)
      return fail(ErrorCode::kNoMemory,
                  fmt::format("memory budget of {:.1f} MiB is too small: one batch of {} samples takes "
                              "{:.1f} MiB; give memory= at "
                              "least {:.0f} MiB, or a smaller batch_size",
                              static_cast<double>(memory) / kMiB, options.batch_size,
                              batch_mib(field, options), std::ceil(batch_mib(field, options)) + threads + 1));
  PENSTOCK_CHECK(add_lengths(shape->fields, options, *plan));
  SlotLayout layout(std::move(shape->fields), options.batch_size);

  const std::uint64_t variable = shape->variable_bytes * options.batch_size;
  auto divided = divide_memory({*plan, options, *order, threads, layout.batch_bytes(), variable}, memory);
  if (!divided) return std::unexpected(std::move(divided).error());
  std::string tuning = fmt::format(
      "{} threads ({}), {} batches of {:.1f} MiB ahead ({}), memory {:.0f} MiB ({})", threads,
      options.threads ? "given" : fmt::format("{} usable cores / {} local ranks", usable_cpus(), local),
      divided->budget.prefetch, static_cast<double>(layout.batch_bytes() + variable) / kMiB,
      options.prefetch == divided->budget.prefetch ? "given" : "by memory",
      static_cast<double>(given) / kMiB, options.memory_bytes ? "given" : "a quarter of what is free");
  LoaderParts parts{std::move(*plan),   std::move(*order),    std::move(layout),   divided->budget, threads,
                    std::move(tuning),  std::move(ledger),    std::move(cache),    std::move(charge),
                    divided->streams,   stream_area,          std::move(opened),   divided->lookahead,
                    options,            variable,             cached};
  return parts;
}

}  // namespace

Status check_ranks(std::uint32_t rank, std::uint32_t world_size) {
  if (world_size == 0 || rank >= world_size)
    return bad_loader_option(fmt::format("rank {} of world_size {}", rank, world_size));
  return {};
}

Result<LoaderParts> plan_loader(const SourcePtr& source, const LoaderOptions& options) {
  const auto cache = std::static_pointer_cast<TieredCache>(options.cache);
  const std::uint64_t cached = cache ? cache->take_charge(std::max(1u, options.local_ranks)) : 0;
  std::shared_ptr<const void> charge;
  if (cached > 0) charge = {cache.get(), [cache](const void*) { cache->give_back_charge(); }};
  auto parts = plan_with(source, options, cached, std::move(charge));
  if (parts || cached == 0) return parts;
  Error error = std::move(parts).error();
  if (error.code == ErrorCode::kNoMemory)
    error.message +=
        fmt::format(" (all of this besides {} MiB of cache, which memory= is to hold too)", cached / kMiB);
  return std::unexpected(std::move(error));
}

std::uint64_t MemoryNeeds::bytes_for(std::size_t epochs) const {
  const MemoryUse use{plan, options, order, threads, batch_bytes, variable_bytes};
  return least_memory(given - cached, [&](std::uint64_t memory) { return carries(use, memory, epochs); }) + cached;
}

std::uint64_t MemoryNeeds::bytes_for_chunks(std::uint64_t bytes) const {
  const MemoryUse use{plan, options, order, threads, batch_bytes, variable_bytes};
  const auto is_enough = [&](std::uint64_t memory) {
    const auto divided = divide_memory(use, memory);
    return divided && divided->lookahead && divided->lookahead->decoded_chunk_bytes >= bytes;
  };
  return least_memory(given - cached, is_enough) + cached;
}

Result<std::unique_ptr<Loader>> Loader::open(SourcePtr source, const LoaderOptions& options) {
  PENSTOCK_CHECK(check_options(options));
  auto parts = plan_loader(source, options);
  if (!parts) return std::unexpected(std::move(parts).error());
  return make_pipeline_loader(std::move(source), std::move(*parts));
}

bool Loader::is_worker_thread() { return Scheduler::is_own_thread(); }

Result<std::optional<Batch>> Epoch::next() {
  Batch batch;
  while (true) {
    const auto got = next(batch, std::chrono::milliseconds(1000));
    if (!got) return std::unexpected(got.error());
    if (*got == Next::kEnd) return std::nullopt;
    if (*got == Next::kBatch) return batch;
  }
}

}  // namespace penstock
