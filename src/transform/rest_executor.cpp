#include "transform/rest_executor.h"

namespace penstock {

std::vector<Status> CpuRestExecutor::run(const Program& program, const ArraySpec& spec,
                                         std::span<const DecodedSample> samples) {
  std::vector<Status> statuses;
  for (const DecodedSample& sample : samples) {
    View value = sample.pixels;
    Status status = program.run_planned(*sample.plan, value, workspace_);
    if (status) status = program.store(value, spec, sample.slot);
    statuses.push_back(std::move(status));
  }
  return statuses;
}

}  // namespace penstock
