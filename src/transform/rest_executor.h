// Runs the steps after decoding, for many samples at once.
//
// Why this is an interface: a device is fast only if it gets a whole batch. All random draws, frames and weights are in
// the plans (Program::plan_image), and the arguments that are the same for all samples are in the program. So an
// executor needs no draws, no headers and no order of samples. All executors must give the same bits.
#pragma once

#include <span>
#include <vector>

#include "transform/program.h"

namespace penstock {

// One sample, planned and decoded. Everything is borrowed for the call.
struct DecodedSample {
  const ProgramPlan* plan = nullptr;  // must be whole (Program::is_whole)
  View pixels;                        // the result of Program::decode()
  MutableBytes slot;                  // receives the result
};

class RestExecutor {
 public:
  virtual ~RestExecutor() = default;

  // Runs the steps of `program` on each sample and writes the result to its slot, which has type and shape `spec`.
  // Returns one status per sample: if a sample fails, the others are made nevertheless. Not thread-safe, unless an
  // implementation says otherwise.
  virtual std::vector<Status> run(const Program& program, const ArraySpec& spec,
                                  std::span<const DecodedSample> samples) = 0;
};

// Runs one sample after the other on the calling thread. It is the reference for all other executors.
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
