#include "stage/stage_core.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <thread>

#include "base/hash.h"
#include "base/text/public_uri.h"
#include "store/key_path.h"

namespace penstock {
namespace {

// While readers read from the source: so many reads of so many bytes are enough to use what the readers leave of a
// link, and too few to slow them down.
constexpr std::size_t kGentleReads = 4;
constexpr std::uint64_t kGentleBytes = 1 << 20;
// After a source was opened, its first batch is about to be read, and nothing else.
constexpr auto kQuietStart = std::chrono::milliseconds(500);
constexpr auto kGentleStart = std::chrono::seconds(2);
constexpr std::size_t kObjectsAtOnce = 64;
constexpr std::size_t kMaxOpenObjects = 512, kMaxWholeObjects = 128;  // each holds up to two descriptors
constexpr std::size_t kFoundAtOnce = 16;
constexpr std::size_t kFinishedAtOnce = 256, kSyncedOneByOne = 4;
constexpr std::uint64_t kLeastKept = 4096;  // shorter ranges cost more than the second read of so few bytes
constexpr auto kBetweenLooks = std::chrono::milliseconds(10);  // at what other processes do

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
      if (objects_.size() >= kMaxOpenObjects) return nullptr;
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

// ---- The work of the threads.

void StageCore::copy(std::unique_ptr<ObjectWalk> walk, bool comes_before_readers) {
  const MutexLock lock(mutex_);
  if (is_stopping_) return;
  walks_.push_back(std::move(walk));
  if (comes_before_readers) {
    quiet_until_ = Clock::now() + kQuietStart;
    gentle_until_ = Clock::now() + kGentleStart;
  }
  changed_.notify_all();
}

void StageCore::post(std::function<void()> job) {
  {
    const MutexLock lock(mutex_);
    if (workers_ > 0) {
      jobs_.push_back(std::move(job));
      changed_.notify_one();
      return;
    }
  }
  job();
}

void StageCore::work() {
  const Interruption::Scope interruption(&interruption_);
  MutexLock lock(mutex_);
  while (true) {
    if (find_work(lock)) continue;
    if (is_stopping_ && in_flight_.empty()) break;
    const bool polls = !active_.empty() || !unknown_.empty();
    changed_.wait_until(mutex_, Clock::now() + (polls ? kBetweenLooks : std::chrono::milliseconds(500)));
  }
  --workers_;
}

bool StageCore::find_work(MutexLock& lock) {
  if (!jobs_.empty()) {
    const auto job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job();
    lock.lock();
    return true;
  }
  if (!arrived_.empty()) {
    const std::unique_ptr<CopyRead> read = std::move(arrived_.front());
    arrived_.pop_front();
    ++storing_;
    lock.unlock();
    store_answer(*read);
    lock.lock();
    --storing_;
    changed_.notify_all();
    return true;
  }
  if (is_stopping_) return false;
  return start_read(lock) || find_objects(lock);
}

std::uint64_t StageCore::bytes_per_read() const {
  const bool is_gentle = reading_ > 0 || Clock::now() < gentle_until_;
  return is_gentle ? std::min(kGentleBytes, context_.piece_bytes) : context_.piece_bytes;
}

bool StageCore::may_read() const {
  if ((active_.empty() && unknown_.empty()) || Clock::now() < quiet_until_) return false;
  const Store& store = active_.empty() ? *unknown_.front().store : *active_.front()->origin().store;
  const std::size_t ahead = store.reads_ahead();
  const bool is_gentle = reading_ > 0 || Clock::now() < gentle_until_;
  // A store without reads ahead blocks the worker. One worker stays free.
  const std::size_t most = ahead > 0 ? ahead : std::max<std::size_t>(workers_, 2) - 1;
  return in_flight_.size() < (is_gentle ? std::min(ahead > 0 ? kGentleReads : 1, most) : most);
}

// Starts one read of the copier. Claims of other processes are looked at again after a while.
bool StageCore::start_read(MutexLock& lock) {
  if (!may_read()) return false;
  auto read = std::make_unique<CopyRead>();
  if (Clock::now() >= look_again_) {
    const std::vector<ObjectPtr> objects(active_.begin(), active_.end());
    const std::uint64_t most = bytes_per_read();
    for (const ObjectPtr& object : objects) {
      lock.unlock();
      const auto span = object->claim(most);
      const std::uint64_t bytes = span ? span->size() : 0;
      if (span && !memory_.try_reserve(bytes)) {
        object->release(*span);
        lock.lock();
        return false;
      }
      // Without a claim, or with that of a process that has just finished, the object may be whole meanwhile.
      const bool is_whole = object->look_whether_whole();
      if (span && is_whole) object->release(*span);
      const bool is_over = is_whole || object->has_failed() || object->is_filled();
      if (is_over && !is_whole && !object->has_failed()) finish_later(object);
      lock.lock();
      if (is_over) {
        const auto at = std::ranges::find(active_, object);
        if (at != active_.end()) active_.erase(at);
        if (is_whole && object->asks_to_finish()) {
          ++objects_whole_;
          note_whole(object);
        }
      }
      if (span && !is_whole) {
        read->object = object;
        read->origin = object->origin();
        read->span = *span;
        read->reserved = bytes;
        break;
      }
      memory_.release(bytes);
      if (is_over) return true;
    }
    if (!read->object) look_again_ = Clock::now() + kBetweenLooks;
  }
  if (!read->object && !take_unknown(*read)) return false;
  CopyRead* const sent = read.get();
  in_flight_.push_back(std::move(read));
  lock.unlock();
  send(sent);
  lock.lock();
  return true;
}

bool StageCore::is_known(const StageOrigin& origin) const {
  return given_up_.contains(StageManifest::hash_of_key(origin.key)) || objects_.contains(origin.name) ||
         compared_.contains(hash_text(origin.name, 0));
}

// The next object that only reading tells more about. A reader may have done that meanwhile, or may be at it.
bool StageCore::take_unknown(CopyRead& read) {
  for (std::size_t left = unknown_.size(); left > 0; --left) {
    StageOrigin origin = std::move(unknown_.front());
    unknown_.pop_front();
    if (is_known(origin)) continue;
    if (unknown_read_.contains(origin.name)) {
      unknown_.push_back(std::move(origin));
      continue;
    }
    unknown_copied_[origin.name];
    read.origin = std::move(origin);
    return true;
  }
  return false;
}

void StageCore::begin_unknown(const std::string& name) {
  const MutexLock lock(mutex_);
  ++unknown_read_[name];
}

void StageCore::end_unknown(const std::string& name) {
  const MutexLock lock(mutex_);
  const auto found = unknown_read_.find(name);
  if (--found->second == 0) unknown_read_.erase(found);
}

bool StageCore::wait_for_unknown(const std::string& name, std::function<void()> then) {
  const MutexLock lock(mutex_);
  const auto found = unknown_copied_.find(name);
  if (found == unknown_copied_.end()) return false;
  found->second.push_back(std::move(then));
  return true;
}

void StageCore::send(CopyRead* read) {
  ObjectRead wanted;
  wanted.key = read->origin.key;
  if (read->object) {
    wanted.range = {read->span.begin, read->span.size()};
    wanted.version = read->object->version();
    wanted.max_bytes = read->span.size();
  } else {
    wanted.max_bytes = context_.piece_bytes;
  }
  const auto allocate = [this, read](std::size_t bytes) -> Result<MutableBytes> {
    if (bytes > read->reserved) {
      if (!memory_.try_reserve(bytes - read->reserved))
        return fail(ErrorCode::kNoMemory, "no memory left for copying", {read->origin.key, -1, -1, -1});
      read->reserved = bytes;
    }
    if (read->memory.size() < bytes) read->memory = MemoryBlock::allocate(bytes);
    if (read->memory.size() < bytes)
      return fail(ErrorCode::kNoMemory, "no memory for copying", {read->origin.key, -1, -1, -1});
    return MutableBytes(read->memory.data(), bytes);
  };
  const std::shared_ptr<const Store> store = read->origin.store;
  store->start_read(std::move(wanted), allocate, stop_.get_token(),
                    [this, read](Result<ObjectBytes> answer) { arrived(read, std::move(answer)); });
}

void StageCore::arrived(CopyRead* read, Result<ObjectBytes> answer) {
  const MutexLock lock(mutex_);
  const auto at = std::ranges::find(in_flight_, read, &std::unique_ptr<CopyRead>::get);
  read->answer = std::move(answer);
  arrived_.push_back(std::move(*at));
  in_flight_.erase(at);
  changed_.notify_all();
}

void StageCore::store_answer(CopyRead& read) {
  const Result<ObjectBytes>& answer = *read.answer;
  ObjectPtr object = read.object;
  if (answer) {
    copied_ += answer->bytes.size();
    if (!object) object = object_for(read.origin, answer->version);
    if (object && !object->is_whole()) {
      const auto written = object->keep(answer->offset, answer->bytes);
      if (!written) give_up(object, written.error());
      if (written && object->is_filled()) finish_later(object);
    }
  } else if (object) {
    if (answer.error().code != ErrorCode::kStopped) give_up(object, answer.error());
  } else if (answer.error().code == ErrorCode::kNoMemory) {
    const MutexLock lock(mutex_);
    unknown_.push_back(read.origin);
  } else if (answer.error().code == ErrorCode::kTooLarge) {
    const auto version = read.origin.store->stat(read.origin.key);
    if (version) object_for(read.origin, *version);
    if (!version) note_failure(version.error());
  } else if (answer.error().code == ErrorCode::kNotFound) {
    // A chunk of Zarr that does not exist, say. Whether it must exist, its readers know.
    const MutexLock lock(mutex_);
    given_up_.insert(StageManifest::hash_of_key(read.origin.key));
  } else {
    note_failure(answer.error());
  }
  if (read.object) {
    read.object->release(read.span);
  } else {
    std::vector<std::function<void()>> waiting;
    {
      const MutexLock lock(mutex_);
      waiting = std::move(unknown_copied_.extract(read.origin.name).mapped());
    }
    for (const auto& then : waiting) then();
  }
  read.memory = MemoryBlock();
  memory_.release(read.reserved);
}

bool StageCore::find_objects(MutexLock& lock) {
  if (walks_.empty() || active_.size() + unknown_.size() >= kObjectsAtOnce || filled_.size() >= kFinishedAtOnce)
    return false;
  std::unique_ptr<ObjectWalk> walk = std::move(walks_.front());
  walks_.pop_front();
  ++walking_;
  lock.unlock();
  std::optional<FoundObject> found;
  for (std::size_t i = 0; i < kFoundAtOnce; ++i) {
    found = walk->next();
    if (!found || is_stopping_) break;
    take_up(*found);
  }
  const bool is_over = !found;
  if (is_over) walk.reset();
  lock.lock();
  --walking_;
  if (!is_over) walks_.push_front(std::move(walk));
  changed_.notify_all();
  return true;
}

void StageCore::take_up(const FoundObject& found) {
  const auto origin = origin_of(found.key);
  if (!origin) return;
  {
    const MutexLock lock(mutex_);
    if (is_known(*origin)) return;
  }
  if (found.version) {
    object_for(*origin, *found.version);
    return;
  }
  // A request for the version alone is worth it where the folder may have the object, or where it costs nothing.
  if (context_.manifest->find(origin->name) || origin->store->traits().has_cheap_random_access) {
    const auto version = origin->store->stat(origin->key);
    if (version) object_for(*origin, *version);
    if (!version && version.error().code != ErrorCode::kNotFound) note_failure(version.error());
    return;
  }
  const MutexLock lock(mutex_);
  unknown_.push_back(*origin);
}

// ---- Making objects whole.

void StageCore::finish_later(const ObjectPtr& object) {
  if (!object->asks_to_finish()) return;
  const MutexLock lock(mutex_);
  filled_.push_back(object);
  changed_.notify_all();
}

void StageCore::finish_objects() {
  MutexLock lock(mutex_);
  while (true) {
    while (filled_.empty() && !is_stopping_) changed_.wait(mutex_);
    if (is_stopping_) return;
    const std::size_t count = std::min(filled_.size(), kFinishedAtOnce);
    std::vector<ObjectPtr> batch(filled_.begin(), filled_.begin() + static_cast<std::ptrdiff_t>(count));
    filled_.erase(filled_.begin(), filled_.begin() + static_cast<std::ptrdiff_t>(count));
    finishing_ += count;
    lock.unlock();
    finish_batch(std::move(batch));
    lock.lock();
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
  if (!busy.empty()) std::this_thread::sleep_for(kBetweenLooks);
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
