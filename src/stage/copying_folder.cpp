#include "stage/copying_folder.h"

#include <unistd.h>

#include "stage/staged_root.h"
#include "stage/staged_store.h"
#include "store/key_path.h"
#include "store/store_of_uri.h"

namespace penstock {

Result<std::shared_ptr<CopyingFolder>> CopyingFolder::open(const std::string& folder, const StageOptions& options,
                                                       std::shared_ptr<const StageCalls> calls) {
  if (folder.empty()) return fail(ErrorCode::kInvalidArgument, "the folder to stage to is an empty string");
  auto core = StageCore::open(absolute_key(folder), options, std::move(calls));
  if (!core) return std::unexpected(std::move(core).error());
  return std::make_shared<CopyingFolder>(*std::move(core), std::max(options.threads, 1U));
}

CopyingFolder::CopyingFolder(std::shared_ptr<StageCore> core, unsigned threads)
    : core_(std::move(core)),
      process_(getpid()) {
  const MutexLock lock(mutex_);
  for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([core = core_] { core->work(); });
  threads_.emplace_back([core = core_] { core->finish_objects(); });
}

CopyingFolder::~CopyingFolder() { close(); }

void CopyingFolder::close() {
  const MutexLock lock(mutex_);
  // A forked child has no threads to wait for.
  const bool has_threads = process_ == getpid();
  if (has_threads && !threads_.empty()) core_->stop();
  for (std::thread& thread : threads_) {
    if (has_threads && thread.get_id() != std::this_thread::get_id())
      thread.join();
    else
      thread.detach();
  }
  threads_.clear();
}

std::shared_ptr<const Store> CopyingFolder::before(std::shared_ptr<const Store> store, const std::string& root) {
  core_->add_origin(root, store);
  return make_staged_store(std::move(store), core_, shared_from_this());
}

Result<std::shared_ptr<StagedFolder>> StagedFolder::open(const std::string& folder, const StageOptions& options) {
  auto stage = CopyingFolder::open(folder, options, std::make_shared<StageCalls>());
  if (!stage) return std::unexpected(std::move(stage).error());
  return *std::move(stage);
}

Result<SourcePtr> open_staged(const std::shared_ptr<StagedFolder>& stage, const std::vector<std::string>& uris,
                              const std::function<Result<SourcePtr>()>& open) {
  const StoreWrapScope scope([&](std::shared_ptr<const Store> store,
                                 const std::string& uri) -> Result<std::shared_ptr<const Store>> {
    const std::string root = staged_root(*store, uri, uris);
    return stage->before(std::move(store), root);
  });
  auto source = open();
  if (source) stage->copy(*source);
  return source;
}

}  // namespace penstock
