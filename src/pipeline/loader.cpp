// Opens a loader: checks the options, divides the budget, joins the stages.
#include "base/byte_units.h"
#include "penstock/loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/machine.h"
#include "pipeline/cache_setup.h"
#include "pipeline/field_plan.h"
#include "pipeline/loader_parts.h"
#include "pipeline/order_plan.h"
#include "pipeline/pipeline_loader.h"
#include "pipeline/sample_shape.h"
#include "pipeline/scheduler.h"
#include "plan/chunk_pieces.h"

namespace penstock {
namespace {

constexpr std::uint64_t kLargestBatch = 1 << 24;
constexpr std::uint64_t kMostOpenObjects = 64;  // by each worker
constexpr std::uint64_t kLargestWindow = 1 << 24;
constexpr std::uint64_t kBytesOfPlannedChunk = 256;
constexpr std::uint64_t kBatchesBesideChunks = 5;  // two with the user, three under way
constexpr int kMostDoublings = 24;                 // of the memory, to find how much is enough

std::unexpected<Error> bad_loader_option(std::string message) {
  return fail(ErrorCode::kInvalidArgument, std::move(message));
}

Status check_options(const LoaderOptions& options) {
  if (options.batch_size == 0) return bad_loader_option("batch_size must be at least 1");
  if (options.batch_size > kLargestBatch)
    return bad_loader_option(fmt::format("batch_size {}: at most {}", options.batch_size, kLargestBatch));
  PENSTOCK_CHECK(check_ranks(options.rank, options.world_size));
  if (options.threads > 1024) return bad_loader_option(fmt::format("threads={}: at most 1024", options.threads));
  if (options.shuffle_window > kLargestWindow)
    return bad_loader_option(fmt::format("shuffle_window={}: at most {}", options.shuffle_window, kLargestWindow));
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

// Samples of which some share a storage unit: a window of the order.
std::uint64_t samples_together(const OrderSpec& order) {
  if (order.draws) return order.window_units * order.draws->per_visit();
  if (order.units && order.units->first_sample.size() > 1)
    return order.window_units * (order.samples / (order.units->first_sample.size() - 1) + 1);
  return order.window_units * order.unit_samples;
}

// For chunks and what is read ahead. Where samples share chunks: all but a few batches and some scratch.
// Where they do not, few chunks are in use at a time. In any case one batch fits beside it.
std::uint64_t bytes_to_share(const SamplePlan& plan, const BudgetRequest& request) {
  const Source& source = *plan.source;
  const std::uint64_t memory = request.budget_bytes, third = memory / 3;
  const std::uint64_t chunk = request.chunk_bytes;
  std::uint64_t wanted = third;
  if (chunk > 0 && source.shares_units()) {
    const std::uint64_t others =
        kBatchesBesideChunks * (request.batch_bytes + request.variable_bytes) + memory / 8;
    wanted = std::max(third, memory - std::min(memory, others));
  } else if (chunk > 0 && source.store().reads_ahead() == 0) {
    wanted = std::min(third, std::max(memory / 8, 2 * request.threads * chunk));
  }
  const std::uint64_t least = least_budget(request) + request.shared_bytes;
  return std::min(wanted, memory - std::min(memory, least));
}

std::uint64_t largest_chunk(const Source& source) {
  std::uint64_t bytes = 0;
  for (const auto& array : source.chunked_arrays())
    if (array->chunks() > 0) bytes = std::max(bytes, std::uint64_t{array->chunk_bytes(0)});
  return bytes;
}

// With too little for a chunk, every sample would fail.
Status check_chunks_fit(const SamplePlan& plan, const BudgetRequest& request) {
  const std::uint64_t needed = least_budget(request) + request.shared_bytes;
  if (request.chunk_bytes == 0 || needed <= request.budget_bytes) return {};
  return fail(ErrorCode::kNoMemory,
              fmt::format("memory budget of {:.0f} MiB is too small: one chunk takes {:.0f} MiB when it is "
                          "decoded, and one batch {:.1f} MiB; give memory= at least {} MiB",
                          static_cast<double>(request.budget_bytes) / kMiB,
                          static_cast<double>(request.chunk_bytes) / kMiB,
                          static_cast<double>(request.batch_bytes) / kMiB, needed / kMiB + 1),
              {plan.source->uri(), -1, -1, -1});
}

// What is noted of each chunk of a sample, by the workers and while looking ahead.
Status check_chunks_of_sample(const SamplePlan& plan, std::uint64_t memory, unsigned threads) {
  const Source& source = *plan.source;
  if (source.chunked_arrays().empty() || source.size() == 0) return {};
  std::vector<ArrayBox> boxes;
  for (const std::size_t field : stored_fields(plan))
    if (source.fields()[field].form == FieldForm::kChunks) source.boxes(0, field, boxes);
  const std::uint64_t chunks = count_pieces(source.chunked_arrays(), boxes);
  const std::uint64_t most = memory / 4 / kBytesOfPlannedChunk / (threads + 1);
  if (chunks <= most) return {};
  return fail(ErrorCode::kNoMemory,
              fmt::format("one sample is made of {} chunks, and a memory budget of {:.0f} MiB can plan {}; "
                          "give more memory=, or select less",
                          chunks, static_cast<double>(memory) / kMiB, most),
              {source.uri(), -1, -1, -1});
}

// All of memory= that is not the cache's, and what it is for.
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
  std::optional<UpcomingPlan> upcoming;
};

// Compressed shards: for two epochs where that is no more than half of the memory, else for one.
Result<StreamArea> plan_stream_area(const Source& source, const OrderSpec& order,
                                    const LoaderOptions& options, std::uint64_t memory) {
  StreamArea area;
  area.plan.prefetch = options.prefetch;
  if (!source.is_forward_only()) return area;
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
  BudgetRequest request{memory,         use.batch_bytes,       use.variable_bytes,    streams->bytes,
                        largest_chunk(source), use.threads, streams->plan.prefetch};
  PENSTOCK_CHECK(check_chunks_fit(use.plan, request));
  const auto& cache = use.options.cache;
  const auto upcoming =
      plan_upcoming(source, {2 * samples_together(use.order), bytes_to_share(use.plan, request),
                             cache && cache->options().disk_bytes > 0});
  if (upcoming) request.shared_bytes += upcoming->bytes();
  const auto budget = divide_budget(request);
  if (!budget) return std::unexpected(budget.error());
  return MemoryPlan{*budget, *streams, upcoming};
}

// So many epochs can be under way at one time.
bool carries(const MemoryUse& use, std::uint64_t memory, std::size_t epochs) {
  const auto plan = divide_memory(use, memory);
  if (!plan || plan->budget.batch_area_bytes / use.batch_bytes < epochs) return false;
  if (!plan->streams.request) return true;
  StreamRequest share = *plan->streams.request;
  share.most_bytes = plan->streams.bytes / epochs;
  return plan_streams(*use.plan.source, share).has_value();
}

std::uint64_t memory_that_carries(const MemoryUse& use, std::uint64_t memory, std::size_t epochs) {
  std::uint64_t too_little = memory, enough = memory;
  for (int i = 0; i < kMostDoublings && !carries(use, enough, epochs); ++i) {
    too_little = enough;
    enough *= 2;
  }
  while (enough - too_little > kMiB) {
    const std::uint64_t middle = too_little + (enough - too_little) / 2;
    (carries(use, middle, epochs) ? enough : too_little) = middle;
  }
  return enough;
}

// `cached`: bytes of the budget that are the cache's, held by `charge`.
Result<LoaderParts> plan_with(const SourcePtr& source, const LoaderOptions& options, std::uint64_t cached,
                              std::shared_ptr<const void> charge) {
  auto order = plan_order(*source, options);
  if (!order) return std::unexpected(std::move(order).error());
  auto plan = plan_fields(source, options);
  if (!plan) return std::unexpected(std::move(plan).error());
  plan->opened_at_ns = wall_clock_ns();

  const std::uint32_t local = std::max(1u, options.local_ranks);
  const std::uint64_t given = options.memory_bytes
                                  ? options.memory_bytes
                                  : std::max(free_memory_bytes() / 4 / local, 64 * kMiB) + cached;
  auto ledger = std::make_shared<Ledger>(given);
  if (!ledger->try_reserve(cached))
    return fail(
        ErrorCode::kNoMemory,
        fmt::format("memory budget of {} MiB is too small; give more, or a smaller cache", given / kMiB));
  const std::uint64_t memory = given - cached;  // for all but the cache
  const unsigned threads = options.threads ? options.threads : std::max(1u, usable_cpus() / local);
  // Shards stay open, but half of what the process may have open is left to others.
  plan->most_open_objects = std::clamp<std::uint64_t>(open_file_limit() / 2 / threads, 1, kMostOpenObjects);
  auto streams = plan_stream_area(*source, *order, options, memory);
  if (!streams) return std::unexpected(std::move(streams).error());
  // What is decompressed to look at the first samples serves the first epoch too.
  const auto stream_area = std::make_shared<Area>(ledger, streams->bytes);
  std::unique_ptr<StreamBlocks> opened;
  if (streams->request) opened = std::make_unique<StreamBlocks>(*source, stream_area, streams->plan);
  PENSTOCK_CHECK(check_chunks_of_sample(*plan, memory, threads));
  std::unique_ptr<SampleCache> cache;
  if (options.cache) {
    auto made = set_up_cache(*plan, options, memory, threads, {opened.get()});
    if (!made) return std::unexpected(std::move(made).error());
    cache = std::move(*made);
  }
  auto shape = find_shape(*plan, options, memory, {opened.get()});
  if (!shape) return std::unexpected(std::move(shape).error());
  for (const LayoutField& field : shape->fields)  // before any size is multiplied out: it might wrap around
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
                    divided->streams,   stream_area,          std::move(opened),   divided->upcoming,
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
  return memory_that_carries(use, given - cached, epochs) + cached;
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
