#include "pipeline/budget.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/byte_units.h"

namespace penstock {
namespace {

constexpr std::uint64_t kMinVariableBytes = 1 * kMiB;
constexpr std::uint64_t kMaxShareBytes = 32 * kMiB;  // larger images are rare; they use the pot
// Scratch to decode chunks on all threads: at most one part in kChunkPart of the memory. In addition one chunk may take
// kUnusualChunk times the usual scratch, but at most one part in kUnusualPart of the memory.
constexpr std::uint64_t kChunkPart = 8;
constexpr std::uint64_t kUnusualChunk = 2;
constexpr std::uint64_t kUnusualPart = 32;
constexpr std::uint64_t kMinBatchesAhead = 4;
constexpr std::uint64_t kMaxBatchesAhead = 64;
constexpr std::uint64_t kSmallQueueBytes = 64 * kMiB;  // a queue of this size is cheap, so its depth is not reduced
constexpr std::uint64_t kBatchesInUse = 2;  // the batch that the user has, and the one that is handed over next

std::uint64_t variable_area(const BudgetRequest& request) {
  // The next batch to be delivered may use half of this area. variable_bytes is an estimate from one sample, so a half
  // must exceed it.
  return request.variable_bytes ? std::max(request.variable_bytes * 5 / 2, kMinVariableBytes) : 0;
}

}  // namespace

std::uint64_t least_budget(const BudgetRequest& request) {
  return request.batch_bytes + variable_area(request) + request.threads * request.least_share_bytes +
         request.chunk_scratch_bytes;
}

std::uint64_t wanted_chunk_scratch(const BudgetRequest& request) {
  const std::uint64_t one = request.chunk_scratch_bytes;
  const std::uint64_t unusual = std::min(kUnusualChunk * one, request.budget_bytes / kUnusualPart);
  return std::min(request.threads * one + unusual, std::max(one, request.budget_bytes / kChunkPart));
}

Result<BudgetPlan> divide_budget(const BudgetRequest& request) {
  const std::uint64_t threads = request.threads;
  const std::uint64_t shared = std::min(request.shared_bytes + request.in_flight_bytes, request.budget_bytes);
  const std::uint64_t budget = request.budget_bytes - shared;
  const std::uint64_t variable = variable_area(request);
  const std::uint64_t needed = least_budget(request);
  if (budget < needed || needed < request.batch_bytes)
    return fail(
        ErrorCode::kNoMemory,
        fmt::format("memory budget of {:.1f} MiB is too small: one batch takes {:.1f} MiB and {} "
                    "threads need {} MiB to decode; give memory= at least {} MiB",
                    static_cast<double>(request.budget_bytes) / kMiB,
                    static_cast<double>(request.batch_bytes + variable) / kMiB, threads,
                    (threads * request.least_share_bytes + request.chunk_scratch_bytes) / kMiB,
                    (needed + shared) / kMiB + 1));
  BudgetPlan plan;
  plan.in_flight_bytes = request.in_flight_bytes;
  // Either all workers can decode the largest chunk at the same time, or one worker can while the others decode smaller
  // or better compressed ones. The rest is a pot for one chunk that takes more than usual. While nobody needs the pot,
  // decoded chunks use it.
  const std::uint64_t one_chunk = request.chunk_scratch_bytes;
  const std::uint64_t for_chunks = std::min(wanted_chunk_scratch(request), budget - needed + one_chunk);
  const bool is_little = threads * one_chunk <= std::min(for_chunks, request.budget_bytes / kChunkPart);
  plan.chunk_share_bytes = is_little ? one_chunk : (for_chunks - one_chunk) / threads;
  plan.chunk_pot_bytes = for_chunks - plan.chunk_share_bytes * threads;
  const std::uint64_t rest = budget - for_chunks;
  const std::uint64_t wanted_scratch =
      std::max(request.sample_scratch_bytes ? request.sample_scratch_bytes : rest / 4,
               threads * request.least_share_bytes);
  const std::uint64_t scratch = std::min(wanted_scratch, rest - request.batch_bytes - variable);
  plan.batch_area_bytes = rest - scratch;
  if (variable > 0) {
    // Divided as a batch is. The size of variable values is an estimate, so they get at least a quarter.
    const double share =
        std::max(0.25, static_cast<double>(variable) / static_cast<double>(variable + request.batch_bytes));
    plan.variable_area_bytes =
        std::clamp(static_cast<std::uint64_t>(share * static_cast<double>(plan.batch_area_bytes)), variable,
                   plan.batch_area_bytes - request.batch_bytes);
    plan.batch_area_bytes -= plan.variable_area_bytes;
  }
  plan.scratch_share_bytes = std::clamp(scratch / (2 * threads), request.least_share_bytes, kMaxShareBytes);
  plan.scratch_pot_bytes = scratch - std::min(scratch, plan.scratch_share_bytes * threads);
  const std::uint64_t fit = plan.batch_area_bytes / request.batch_bytes;
  const std::uint64_t wanted =
      request.prefetch ? request.prefetch
                       : std::clamp(kSmallQueueBytes / (request.batch_bytes + request.variable_bytes),
                                    kMinBatchesAhead, kMaxBatchesAhead);
  plan.prefetch = std::max<std::uint64_t>(1, std::min(wanted, fit > kBatchesInUse ? fit - kBatchesInUse : 1));
  return plan;
}

}  // namespace penstock
