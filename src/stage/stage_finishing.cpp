// What the finisher of a staged folder does: it gives files that lack no byte their names.
#include <fcntl.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <thread>

#include "stage/stage_core.h"

namespace penstock {
namespace {

constexpr std::size_t kFinishedAtOnce = 256, kSyncedOneByOne = 4;
constexpr auto kBetweenTurns = std::chrono::milliseconds(10);  // where another process is finishing an object

}  // namespace

void StageCore::finish_later(const ObjectPtr& object) {
  if (!object->asks_to_finish()) return;
  const MutexLock lock(mutex_);
  filled_.push_back(object);
  finisher_wakes_.notify_one();
}

void StageCore::finish_objects() {
  const MutexLock lock(mutex_);
  while (true) {
    while (filled_.empty() && !is_stopping_) finisher_wakes_.wait(mutex_);
    if (is_stopping_) return;
    const std::size_t count = std::min(filled_.size(), kFinishedAtOnce);
    std::vector<ObjectPtr> batch(filled_.begin(), filled_.begin() + static_cast<std::ptrdiff_t>(count));
    filled_.erase(filled_.begin(), filled_.begin() + static_cast<std::ptrdiff_t>(count));
    finishing_ += count;
    {
      const MutexUnlock unlocked(mutex_);
      finish_batch(std::move(batch));
    }
    finishing_ -= count;
    changed_.notify_all();
  }
}

void StageCore::finish_batch(std::vector<ObjectPtr> batch) {
  std::vector<ObjectPtr> whole, mine, busy;
  for (ObjectPtr& object : batch) {
    if (object->look_whether_whole())
      whole.push_back(std::move(object));
    else if (object->begin_finish())
      mine.push_back(std::move(object));
    else
      busy.push_back(std::move(object));
  }
  const auto done = make_whole(mine);
  for (const ObjectPtr& object : mine) object->end_finish(done.has_value());
  for (const ObjectPtr& object : mine)
    if (!done) give_up(object, done.error());
  if (done) std::ranges::move(mine, std::back_inserter(whole));
  if (!busy.empty()) std::this_thread::sleep_for(kBetweenTurns);
  const MutexLock lock(mutex_);
  for (const ObjectPtr& object : whole) {
    ++objects_whole_;
    std::erase(active_, object);
    note_whole(object);
  }
  std::ranges::move(busy, std::back_inserter(filled_));
}

Status StageCore::make_whole(const std::vector<ObjectPtr>& batch) {
  const bool one_by_one = batch.size() <= kSyncedOneByOne;
  const auto sync_all = [&]() -> Status {
    const Descriptor folder(::open(context_.folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder.get() < 0 || context_.calls->syncfs(folder.get()) != 0) return stage_failure("sync", context_.folder);
    return {};
  };
  if (batch.empty()) return {};
  if (context_.sync && !one_by_one) PENSTOCK_CHECK(sync_all());
  std::vector<StagedRecord> records;
  std::vector<ObjectPtr> to_name;
  std::set<std::string> folders;
  for (const ObjectPtr& object : batch) {
    if (context_.sync && one_by_one) PENSTOCK_CHECK(object->sync_data());
    auto record = object->record();
    if (!record) return std::unexpected(std::move(record).error());
    if (!*record) continue;  // another process was faster
    folders.insert(std::filesystem::path(context_.path_of(object->origin().name)).parent_path());
    records.push_back(*std::move(*record));
    to_name.push_back(object);
  }
  PENSTOCK_CHECK(context_.manifest->append(records, context_.sync));
  for (const ObjectPtr& object : to_name) PENSTOCK_CHECK(object->name_file());
  if (!context_.sync) return {};
  if (!one_by_one) return sync_all();
  for (const std::string& folder : folders) PENSTOCK_CHECK(sync_folder(*context_.calls, folder));
  return {};
}

}  // namespace penstock
