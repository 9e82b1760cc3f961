#include "stage/stage_core.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/hash.h"
#include "store/key_path.h"

namespace penstock {
namespace {

constexpr std::size_t kMaxWholeObjects = 128;  // each holds up to two descriptors
constexpr std::uint64_t kLeastKept = 4096;  // shorter ranges cost more than the second read of so few bytes

}  // namespace

StageCore::StageCore(std::unique_ptr<StageContext> context, const StageOptions& options)
    : owned_context_(std::move(context)),
      context_(*owned_context_),
      options_(options),
      memory_(std::max(options.memory_bytes, context_.piece_bytes)),
      workers_(std::max(options.threads, 1U)) {}

Result<std::shared_ptr<StageCore>> StageCore::open(const std::string& folder, const StageOptions& options,
                                                   std::shared_ptr<const StageCalls> calls) {
  if (options.piece_bytes < 4096 || options.piece_bytes > (std::uint64_t{1} << 30))
    return fail(ErrorCode::kInvalidArgument, "the size of a piece is between 4 KiB and 1 GiB");
  const std::string own = fmt::format("{}/{}", folder, kStageFolder);
  std::error_code error;
  std::filesystem::create_directories(own, error);
  if (error) {
    errno = error.value();
    return stage_failure("create the folder", own);
  }
  auto claims = ClaimFile::open(own + "/claims");
  if (!claims) return std::unexpected(std::move(claims).error());
  auto manifest = StageManifest::open(own + "/manifest", *calls);
  if (!manifest) return std::unexpected(std::move(manifest).error());
  std::unique_ptr<StageContext> context(
      new StageContext{folder, std::move(calls), std::move(*claims), std::move(*manifest), options.piece_bytes, options.sync});
  return std::shared_ptr<StageCore>(new StageCore(std::move(context), options));
}

// ---- Names and objects.

void StageCore::add_origin(std::string root, std::shared_ptr<const Store> store) {
  const MutexLock lock(mutex_);
  origins_[std::move(root)] = std::move(store);
}

std::optional<StageOrigin> StageCore::origin_of(const std::string& key) const {
  const MutexLock lock(mutex_);
  // The longest root counts.
  for (std::size_t end = key.rfind('/'); end != std::string::npos && end > 0; end = key.rfind('/', end - 1)) {
    const auto found = origins_.find(key.substr(0, end));
    if (found == origins_.end()) continue;
    std::string name = key.substr(end + 1);
    while (name.starts_with('/')) name.erase(0, 1);
    if (!is_name_below(name)) return std::nullopt;
    return StageOrigin{std::move(name), absolute_key(key), found->second};
  }
  // Relative paths begin in the working folder.
  if (const auto found = origins_.find(""); found != origins_.end() && !is_absolute_key(key) && is_name_below(key))
    return StageOrigin{key, absolute_key(key), found->second};
  return std::nullopt;
}

StageCore::ObjectPtr StageCore::find(const std::string& name) const {
  const MutexLock lock(mutex_);
  const auto found = objects_.find(name);
  return found == objects_.end() ? nullptr : found->second;
}

void StageCore::forget(const std::string& name) {
  const MutexLock lock(mutex_);
  compared_.erase(hash_text(name, 0));
  const auto found = objects_.find(name);
  if (found == objects_.end()) return;
  found->second->give_up();
  objects_.erase(found);
}

std::optional<ObjectVersion> StageCore::compared_version(const std::string& name) const {
  const MutexLock lock(mutex_);
  const auto found = compared_.find(hash_text(name, 0));
  if (found == compared_.end()) return std::nullopt;
  return found->second;
}

StageCore::ObjectPtr StageCore::object_for(const StageOrigin& origin, const ObjectVersion& version) {
  ObjectPtr object;
  {
    const MutexLock lock(mutex_);
    if (is_stopping_ && !compared_.contains(hash_text(origin.name, 0))) return nullptr;
    const auto found = objects_.find(origin.name);
    if (found != objects_.end() && found->second->version() == version) {
      object = found->second;
    } else {
      if (given_up_.contains(StageManifest::hash_of_key(origin.key))) return nullptr;
      if (found != objects_.end()) {
        found->second->give_up();
        objects_.erase(found);
      }
      if (!has_room()) return nullptr;
      object = std::make_shared<StagedObject>(context_, origin, version);
      objects_[origin.name] = object;
    }
  }
  if (const auto prepared = object->prepare(); !prepared) {
    // A reader that was interrupted does not speak for others.
    if (prepared.error().code == ErrorCode::kStopped)
      forget(origin.name);
    else
      give_up(object, prepared.error());
    return nullptr;
  }
  if (object->asks_to_be_copied()) {
    const MutexLock lock(mutex_);
    if (object->is_whole()) {
      ++objects_whole_;
      note_whole(object);
    } else if (!is_stopping_) {
      active_.push_back(object);
      look_again_ = {};
      changed_.notify_all();
    }
  }
  return object;
}

void StageCore::note_whole(const ObjectPtr& object) {
  compared_[hash_text(object->origin().name, 0)] = object->version();
  whole_.push_back(object->origin().name);
  if (whole_.size() <= kMaxWholeObjects) return;
  const auto oldest = objects_.find(whole_.front());
  if (oldest != objects_.end() && oldest->second->is_whole()) objects_.erase(oldest);
  whole_.pop_front();
}

void StageCore::give_up(const ObjectPtr& object, const Error& error) {
  object->give_up();
  const MutexLock lock(mutex_);
  if (!failure_ && error.code != ErrorCode::kStopped) failure_ = error;
  given_up_.insert(StageManifest::hash_of_key(object->origin().key));
  const auto found = objects_.find(object->origin().name);
  if (found != objects_.end() && found->second == object) objects_.erase(found);
  std::erase(active_, object);
  changed_.notify_all();
}

void StageCore::note_failure(const Error& error) {
  const MutexLock lock(mutex_);
  if (!failure_ && error.code != ErrorCode::kStopped) failure_ = error;
}

void StageCore::keep(const ObjectPtr& object, std::uint64_t offset, ConstBytes bytes) {
  if (is_stopping_ || object->has_failed() || object->is_whole()) return;
  if (bytes.size() < kLeastKept && bytes.size() < object->version().size) return;
  if (const auto written = object->keep(offset, bytes); !written) return give_up(object, written.error());
  kept_ += bytes.size();
  if (object->is_filled()) finish_later(object);
}

MemoryBlock StageCore::take_memory(std::uint64_t bytes) {
  if (!memory_.try_reserve(bytes)) return {};
  MemoryBlock block = MemoryBlock::allocate(bytes);
  if (block.size() < bytes) memory_.release(bytes);
  return block;
}

void StageCore::free_memory(MemoryBlock block, std::uint64_t bytes) {
  block = MemoryBlock();
  memory_.release(bytes);
}

void StageCore::end_reading(std::uint64_t bytes) {
  read_through_ += bytes;
  if (--reading_ > 0) return;
  const MutexLock lock(mutex_);
  changed_.notify_all();
}

// ---- The end, and numbers.

void StageCore::stop() {
  MutexLock lock(mutex_);
  is_stopping_ = true;
  walks_.clear();
  active_.clear();
  unknown_.clear();
  interruption_.request();
  lock.unlock();
  stop_.request_stop();
  lock.lock();
  changed_.notify_all();
  finisher_wakes_.notify_all();
  while (!in_flight_.empty()) changed_.wait(mutex_);
}

bool StageCore::is_done() const {
  const MutexLock lock(mutex_);
  return walks_.empty() && walking_ == 0 && active_.empty() && unknown_.empty() && in_flight_.empty() &&
         arrived_.empty() && storing_ == 0 && filled_.empty() && finishing_ == 0;
}

void StageCore::wait_for_change(std::chrono::milliseconds most) const {
  const MutexLock lock(mutex_);
  changed_.wait_until(mutex_, Clock::now() + most);
}

StagingStats StageCore::stats() const {
  StagingStats stats{copied_, read_through_, kept_, served_, objects_whole_, ""};
  const MutexLock lock(mutex_);
  if (failure_) stats.error = failure_->describe();
  return stats;
}

std::optional<Error> StageCore::failure() const {
  const MutexLock lock(mutex_);
  return failure_;
}

}  // namespace penstock
