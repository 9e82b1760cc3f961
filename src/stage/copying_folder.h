// The StagedFolder that users have: the core with its threads.
//
// Thread-safe. The last owner ends the threads; where that is one of these threads, which lets go of a source, it is
// not waited for.
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include "base/guarded.h"
#include "penstock/stage.h"
#include "stage/stage_core.h"

namespace penstock {

class CopyingFolder final : public StagedFolder, public std::enable_shared_from_this<CopyingFolder> {
 public:
  static Result<std::shared_ptr<CopyingFolder>> open(const std::string& folder, const StageOptions& options,
                                                   std::shared_ptr<const StageCalls> calls);
  explicit CopyingFolder(std::shared_ptr<StageCore> core, unsigned threads);
  CopyingFolder(const CopyingFolder&) = delete;
  ~CopyingFolder() override;

  StagingStats stats() const override { return core_->stats(); }
  void close() override PENSTOCK_EXCLUDES(mutex_);
  std::shared_ptr<const Store> before(std::shared_ptr<const Store> store, const std::string& root) override;
  void copy(const SourcePtr& source) override { core_->copy(walk_source(source), true); }

  StageCore& core() { return *core_; }

 private:
  const std::shared_ptr<StageCore> core_;
  const int process_;
  Mutex mutex_;
  std::vector<std::thread> threads_ PENSTOCK_GUARDED_BY(mutex_);
};

// stage() by these system calls.
Result<StageReport> stage_by(std::shared_ptr<const StageCalls> calls, const std::string& source,
                             const std::string& folder, const StageOptions& options);

}  // namespace penstock
