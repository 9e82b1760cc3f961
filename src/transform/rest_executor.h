// Runs what comes after decoding, for many samples at once.
//
// Why a seam: a device is fast only where it gets a whole batch. All random draws, frames and weights are in the plans
// (Program::plan_image), and arguments that do not change from sample to sample in the program, so an executor needs
// no draws, no header and no order of samples. Results must have the same bits whichever executor made them.
#pragma once

#include <span>
#include <vector>

#include "transform/program.h"

namespace penstock {

// One sample, planned and decoded. Everything is borrowed for the call.
struct DecodedSample {
  const ProgramPlan* plan = nullptr;  // a whole one (Program::is_whole)
  View pixels;                        // what Program::decode() gave for it
  MutableBytes slot;                  // where the result belongs
};

class RestExecutor {
 public:
  virtual ~RestExecutor() = default;

  // Runs the steps of `program` on each sample and writes the result to its slot, which is of type and shape `spec`.
  // Returns one status per sample: a sample that fails does not keep the others from being made. One thread at a time
  // may call it, unless an implementation says otherwise.
  virtual std::vector<Status> run(const Program& program, const ArraySpec& spec,
                                  std::span<const DecodedSample> samples) = 0;
};

// Runs one sample after the other on the calling thread. This is what every other executor is measured against.
class CpuRestExecutor final : public RestExecutor {
 public:
  // The workspace is borrowed and must outlive the executor. The pixels of the samples must not be in its buffers,
  // except in the one that Program::decode() wrote last.
  explicit CpuRestExecutor(Workspace& workspace) : workspace_(workspace) {}

  std::vector<Status> run(const Program& program, const ArraySpec& spec,
                          std::span<const DecodedSample> samples) override;

 private:
  Workspace& workspace_;
};

}  // namespace penstock
