// Stages a whole data set: finds its objects, checks that they fit, and copies them.
#include "penstock/stage.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/guarded.h"
#include "base/memory/opening_memory.h"
#include "penstock/interruption.h"
#include "source/path_pattern.h"
#include "source/patches/open_volume.h"
#include "source/source_formats.h"
#include "stage/copying_folder.h"
#include "stage/staged_root.h"
#include "stage/staged_store.h"
#include "store/key_path.h"
#include "store/store_of_uri.h"

namespace penstock {
namespace {

constexpr auto kBetweenShows = std::chrono::milliseconds(50);
constexpr std::size_t kVersionsAtOnce = 32;

std::string join_key(const std::string& folder, const std::string& name) {
  return folder.ends_with('/') ? folder + name : folder + "/" + name;
}

class ListWalk final : public ObjectWalk {
 public:
  explicit ListWalk(std::vector<FoundObject> objects) : objects_(std::move(objects)) {}
  std::optional<FoundObject> next() override {
    if (next_ == objects_.size()) return std::nullopt;
    return objects_[next_++];
  }

 private:
  const std::vector<FoundObject> objects_;
  std::size_t next_ = 0;
};

// Asks for the versions of objects, many at a time.
Status ask_versions(const Store& store, std::vector<FoundObject>& objects) {
  struct Answers {
    Mutex mutex;
    ConditionVariable changed;
    std::size_t in_flight PENSTOCK_GUARDED_BY(mutex) = 0;
    std::vector<Result<ObjectBytes>> of_object PENSTOCK_GUARDED_BY(mutex);
  };
  const auto answers = std::make_shared<Answers>();
  std::stop_source stop;
  MutexLock lock(answers->mutex);
  answers->of_object.resize(objects.size());
  const auto wait_for_fewer = [&](std::size_t most) PENSTOCK_REQUIRES(answers->mutex) {
    while (answers->in_flight > most) {
      answers->changed.wait_until(answers->mutex, ConditionVariable::Clock::now() + Interruption::kLookEvery);
      if (Interruption::is_requested()) stop.request_stop();
    }
  };
  for (std::size_t i = 0; i < objects.size() && !stop.stop_requested(); ++i) {
    wait_for_fewer(kVersionsAtOnce - 1);
    ++answers->in_flight;
    lock.unlock();
    store.start_read(version_read(objects[i].key), [](std::size_t) -> Result<MutableBytes> { return MutableBytes(); },
                     stop.get_token(), [answers, i](Result<ObjectBytes> answer) {
                       const MutexLock locked(answers->mutex);
                       answers->of_object[i] = std::move(answer);
                       --answers->in_flight;
                       answers->changed.notify_all();
                     });
    lock.lock();
  }
  wait_for_fewer(0);
  if (stop.stop_requested()) return check_interruption(objects.front().key);
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (!answers->of_object[i]) return std::unexpected(answers->of_object[i].error());
    objects[i].version = answers->of_object[i]->version;
  }
  return {};
}

Status list_below(const Store& store, const std::string& folder, std::vector<FoundObject>& out) {
  ListOptions options;
  options.is_recursive = true;
  options.wants_version = [](std::string_view) { return true; };
  // The folder may itself be a staged one.
  options.wants = [](std::string_view name, bool) { return name != kStageFolder; };
  const auto listing = store.list(folder, options);
  if (!listing) return std::unexpected(listing.error());
  for (const FolderEntry& entry : *listing) out.push_back({join_key(folder, entry.name), entry.version});
  return {};
}

// The objects of a data set on a store that can list. Sorted by key, without repeats.
Result<std::vector<FoundObject>> list_objects(const Store& store, const std::string& key) {
  std::vector<std::string> keys = {key};
  auto kind = store.kind_of(key);
  if (!kind) return std::unexpected(kind.error());
  if (*kind == KeyKind::kNothing) {
    if (!is_pattern(key))
      return fail(ErrorCode::kNotFound, "no such file or folder", {without_secrets(key), -1, -1, -1});
    auto expanded = expand_pattern(store, key);
    if (!expanded) return std::unexpected(std::move(expanded).error());
    keys = *std::move(expanded);
  }
  std::vector<FoundObject> out, single;
  for (const std::string& one : keys) {
    if (keys.size() > 1) kind = store.kind_of(one);
    if (!kind) return std::unexpected(kind.error());
    if (*kind == KeyKind::kFolder)
      PENSTOCK_CHECK(list_below(store, one, out));
    else
      single.push_back({one, std::nullopt});
  }
  PENSTOCK_CHECK(ask_versions(store, single));
  std::ranges::move(single, std::back_inserter(out));
  std::ranges::sort(out, {}, &FoundObject::key);
  const auto repeated = std::ranges::unique(out, {}, &FoundObject::key);
  out.erase(repeated.begin(), repeated.end());
  return out;
}

// A data set whose objects only its source knows: a table of files, a Zarr hierarchy.
Result<bool> is_found_by_opening(const Store& store, const std::string& key) {
  if (store.traits().can_list || is_pattern(key)) return false;
  if (const SourceFormat* const format = source_format_of(key))
    return format->unit == SourceFormat::Unit::kFolder || format->name == "manifest";
  const auto format = source_format_of_folder(store, key);
  if (!format) return std::unexpected(format.error());
  return *format != nullptr;
}

class Staging {
 public:
  Staging(const std::string& source, const StageOptions& options, std::shared_ptr<CopyingFolder> folder)
      : source_(source),
        options_(options),
        folder_(std::move(folder)),
        core_(folder_->core()) {}

  Result<StageReport> run() {
    const auto began = std::chrono::steady_clock::now();
    auto store = make_store_for(source_, options_.headers);
    if (!store) return std::unexpected(std::move(store).error());
    std::string key = object_key(source_);
    while (key.size() > 1 && key.ends_with('/') && !key.ends_with("://")) key.pop_back();
    if ((*store)->traits().is_local && (core_.context().folder + "/").starts_with(absolute_key(key) + "/"))
      return fail(ErrorCode::kInvalidArgument,
                  "the folder to stage to lies within the source, so the next run would copy the copy",
                  {core_.context().folder, -1, -1, -1});
    const auto opens = is_found_by_opening(**store, key);
    if (!opens) return std::unexpected(opens.error());
    const Status found = *opens ? open_to_find() : find_objects(*store, key);
    if (!found) return std::unexpected(found.error());
    const Status copied = wait();
    folder_->close();
    if (!copied) return std::unexpected(copied.error());
    const StagingStats stats = core_.stats();
    report_.bytes_copied = stats.copied + stats.read_through;
    report_.objects = std::max(report_.objects, core_.objects_whole());
    report_.bytes = std::max(report_.bytes, core_.context().bytes_there.load());
    report_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    return report_;
  }

 private:
  Status find_objects(const std::shared_ptr<const Store>& store, const std::string& key) {
    std::vector<FoundObject> objects;
    if (store->traits().can_list) {
      auto listed = list_objects(*store, key);
      if (!listed) return std::unexpected(std::move(listed).error());
      objects = *std::move(listed);
    } else {
      const auto expanded = expand_pattern(*store, key);
      if (!expanded) return std::unexpected(expanded.error());
      for (const std::string& one : *expanded) objects.push_back({one, std::nullopt});
      PENSTOCK_CHECK(ask_versions(*store, objects));
    }
    // A store that cannot list has told nothing of folders: a name without braces is an object here.
    const bool is_object = !store->traits().can_list && !is_pattern(key);
    core_.add_origin(is_object ? folder_of(key) : staged_root(*store, source_, {source_}), store);
    PENSTOCK_CHECK(check_objects(objects));
    core_.copy(std::make_unique<ListWalk>(std::move(objects)), false);
    return {};
  }

  // Counts what there is to copy, and compares it with the free space.
  Status check_objects(std::vector<FoundObject>& objects) {
    std::uint64_t needed = 0;
    std::erase_if(objects, [&](const FoundObject& found) { return !found.version || !core_.origin_of(found.key); });
    for (const FoundObject& found : objects) {
      const StageOrigin origin = *core_.origin_of(found.key);
      const std::uint64_t there = bytes_in_folder(core_.context(), origin, *found.version);
      const std::uint64_t size = found.version->size;
      ++report_.objects;
      report_.bytes += size;
      report_.objects_skipped += is_whole_in_folder(core_.context(), origin, *found.version);
      needed += size - std::min(size, there);
    }
    const std::int64_t free = core_.context().calls->free_bytes(core_.context().folder.c_str());
    if (free >= 0 && needed > static_cast<std::uint64_t>(free))
      return fail(ErrorCode::kIo,
                  fmt::format("the disk has {} bytes free, and {} more are needed for {}", free, needed,
                              without_secrets(source_)),
                  {core_.context().folder, -1, -1, -1});
    return {};
  }

  // Opening reads the metadata, which the folder keeps; the source then tells the objects.
  Status open_to_find() {
    OpenOptions opening;
    opening.headers = options_.headers;
    opening.keep_index = false;
    auto source = open_staged(folder_, {source_}, [&] { return open_source(source_, opening); });
    if (!source) return std::unexpected(std::move(source).error());
    opened_ = *std::move(source);
    return {};
  }

  Status wait() {
    while (true) {
      const bool is_done = core_.is_done();
      if (const auto failure = core_.failure()) return std::unexpected(*failure);
      if (options_.progress && !options_.progress({core_.objects_whole(), core_.context().bytes_there.load(),
                                                   report_.objects, report_.bytes}))
        return fail(ErrorCode::kStopped, "stopped before it was done", {without_secrets(source_), -1, -1, -1});
      if (is_done) return {};
      PENSTOCK_CHECK(check_interruption(without_secrets(source_)));
      core_.wait_for_change(kBetweenShows);
    }
  }

  const std::string source_;
  const StageOptions& options_;
  const std::shared_ptr<CopyingFolder> folder_;
  StageCore& core_;
  SourcePtr opened_;
  StageReport report_;
};

}  // namespace

Result<StageReport> stage(const std::string& source, const std::string& folder, const StageOptions& options) {
  return stage_by(std::make_shared<StageCalls>(), source, folder, options);
}

Result<StageReport> stage_by(std::shared_ptr<const StageCalls> calls, const std::string& source,
                             const std::string& folder, const StageOptions& options) {
  if (source.empty()) return fail(ErrorCode::kInvalidArgument, "the source is an empty string");
  const OpeningMemory::Begin memory(0);
  auto opened = CopyingFolder::open(folder, options, std::move(calls));
  if (!opened) return std::unexpected(std::move(opened).error());
  return Staging(source, options, *std::move(opened)).run();
}

}  // namespace penstock
