// One epoch that a loader has started. The mutex of its LoaderCore guards everything that is not const.
#pragma once

#include <memory>
#include <optional>

#include "base/guarded.h"
#include "base/stats.h"
#include "penstock/result.h"
#include "penstock/stats.h"
#include "pipeline/engine.h"

namespace penstock {

class LoaderCore;
using LoaderCoreMutex = ClassMutex<LoaderCore>;

struct EpochRecord {
  EpochRecord(EpochTask task_, std::shared_ptr<Engine> engine_, std::shared_ptr<RunningEpoch> run_,
              Clock::time_point began_)
      : task(std::move(task_)),
        run(std::move(run_)),
        began(began_),
        engine(std::move(engine_)) {
    stats.epoch = task.epoch;
  }

  const EpochTask task;
  const std::shared_ptr<RunningEpoch> run;
  const Clock::time_point began;
  std::shared_ptr<Engine> engine PENSTOCK_GUARDED_BY(LoaderCoreMutex::held);  // nullptr when the epoch is over
  // Counts the epochs that this loader started.
  std::uint64_t number PENSTOCK_GUARDED_BY(LoaderCoreMutex::held) = 0;
  std::uint64_t delivered PENSTOCK_GUARDED_BY(LoaderCoreMutex::held) = 0;  // batches
  // Without the times of workers, which the scheduler has.
  EpochStats stats PENSTOCK_GUARDED_BY(LoaderCoreMutex::held);
  StageStats deliver PENSTOCK_GUARDED_BY(LoaderCoreMutex::held);
  bool is_over PENSTOCK_GUARDED_BY(LoaderCoreMutex::held) = false;
  // The error that next() returns from now on.
  std::optional<Error> ended_by PENSTOCK_GUARDED_BY(LoaderCoreMutex::held);
};

}  // namespace penstock
