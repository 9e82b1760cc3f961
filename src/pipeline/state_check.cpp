#include "pipeline/state_check.h"

#include <fmt/format.h>

namespace penstock {
namespace {

constexpr std::uint64_t kMaxBucketRun = std::uint64_t{1} << 40;

std::unexpected<Error> differs(std::string message) {
  return fail(ErrorCode::kInvalidArgument, std::move(message));
}

}  // namespace

Status check_state(const LoaderState& saved, const LoaderState& own) {
  if (saved.fingerprint != own.fingerprint)
    return differs("the state belongs to other data (keys or sizes differ)");
  if (saved.content != 0 && own.content != 0 && saved.content != own.content)
    return differs("the state belongs to other data (keys and sizes are the same, the content differs)");
  if (saved.seed != own.seed)
    return differs(fmt::format("the state has seed {}, the loader {}", saved.seed, own.seed));
  if (saved.order != own.order)
    return differs("the state belongs to another order (shuffle, sampler, weights or epoch_size differ)");
  if (saved.position > 0 && saved.list != own.list)
    return differs("the state belongs to another list of the sampler");
  if (saved.position > own.epoch_size) return differs("the state is past the end of the epoch");
  if ((saved.bucket_run == 0) != (own.bucket_run == 0) || saved.bucket_run > kMaxBucketRun)
    return differs("the state belongs to another order (bucket_by differs)");
  return {};
}

}  // namespace penstock
