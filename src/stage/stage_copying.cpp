// What the workers of a staged folder do: reads of the copier, one after the other, and what arrives of them.
#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "stage/stage_core.h"

namespace penstock {
namespace {

// While readers read from the source: so many bytes in flight, in so many reads, are enough to use what the readers
// leave of a link, and too few to slow them down. Readers of small samples leave small gaps, so there are many reads.
constexpr std::size_t kGentleReads = 16;
constexpr std::uint64_t kGentleBytes = 1 << 20, kGentleBytesInFlight = 4 << 20;
// After a source was opened, its first batch is about to be read, and nothing else.
constexpr auto kQuietStart = std::chrono::milliseconds(500);
constexpr auto kGentleStart = std::chrono::seconds(2);
constexpr std::size_t kObjectsAtOnce = 64;
constexpr std::size_t kMaxFilled = 256;  // objects that wait for the finisher
constexpr std::size_t kFoundAtOnce = 16;
constexpr auto kBetweenLooks = std::chrono::milliseconds(10);  // at what other processes do

}  // namespace

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
  const MutexLock lock(mutex_);
  while (true) {
    if (find_work()) continue;
    if (is_stopping_ && in_flight_.empty()) break;
    const bool polls = !active_.empty() || !unknown_.empty();
    changed_.wait_until(mutex_, Clock::now() + (polls ? kBetweenLooks : std::chrono::milliseconds(500)));
  }
  --workers_;
}

bool StageCore::find_work() {
  if (!jobs_.empty()) {
    auto job = std::move(jobs_.front());
    jobs_.pop_front();
    const MutexUnlock unlocked(mutex_);
    std::exchange(job, nullptr)();  // what it holds may be the last of something, which needs the mutex when it goes
    return true;
  }
  if (!arrived_.empty()) {
    const std::unique_ptr<CopyRead> read = std::move(arrived_.front());
    arrived_.pop_front();
    ++storing_;
    {
      const MutexUnlock unlocked(mutex_);
      store_answer(*read);
    }
    --storing_;
    changed_.notify_all();
    return true;
  }
  if (is_stopping_) return false;
  return start_read() || find_objects();
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
  if (!is_gentle) return in_flight_.size() < most;
  return in_flight_.size() < std::min(ahead > 0 ? kGentleReads : 1, most) && memory_.used() < kGentleBytesInFlight;
}

// Starts one read of the copier. Claims of other processes are looked at again after a while.
bool StageCore::start_read() {
  if (!may_read()) return false;
  auto read = std::make_unique<CopyRead>();
  if (Clock::now() >= look_again_) {
    const std::vector<ObjectPtr> objects(active_.begin(), active_.end());
    const std::uint64_t most = bytes_per_read();
    for (const ObjectPtr& object : objects) {
      std::optional<ByteSpan> span;
      std::uint64_t bytes = 0;
      bool is_whole = false, is_over = false;
      {
        const MutexUnlock unlocked(mutex_);
        span = object->claim(most);
        bytes = span ? span->size() : 0;
        if (span && !memory_.try_reserve(bytes)) {
          object->release(*span);
          return false;
        }
        // Without a claim, or with that of a process that has just finished, the object may be whole meanwhile.
        is_whole = object->look_whether_whole();
        if (span && is_whole) object->release(*span);
        is_over = is_whole || object->has_failed() || object->is_filled();
        if (is_over && !is_whole && !object->has_failed()) finish_later(object);
      }
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
  const MutexUnlock unlocked(mutex_);
  send(sent);
  return true;
}

bool StageCore::is_known(const StageOrigin& origin) const {
  return given_up_.contains(StageManifest::hash_of_key(origin.key)) || objects_.contains(origin.name) ||
         compared_.contains(hash_text(origin.name, 0));
}

bool StageCore::has_room() const { return objects_.size() < kMaxOpenObjects; }

// Where there was no room for an object, the copier comes back to it: an object that was only passed over would be
// missing from a copy that calls itself whole.
void StageCore::put_off(const StageOrigin& origin) {
  const MutexLock lock(mutex_);
  if (!is_stopping_ && !is_known(origin)) unknown_.push_back(origin);
}

// The next object that only reading tells more about. A reader may have done that meanwhile, or a reader or the copier may
// be at it: several samples may be made of one object.
bool StageCore::take_unknown(CopyRead& read) {
  if (!has_room()) return false;
  for (std::size_t left = unknown_.size(); left > 0; --left) {
    StageOrigin origin = std::move(unknown_.front());
    unknown_.pop_front();
    if (is_known(origin)) continue;
    if (unknown_read_.contains(origin.name) || unknown_copied_.contains(origin.name)) {
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
  // A file that was written to between its opening and the end of the read must not become a mixture.
  if (*read.answer && read.origin.store->traits().is_local)
    if (const auto now = read.origin.store->stat(read.origin.key); !now || *now != (*read.answer)->version)
      read.answer = fail(ErrorCode::kChanged, "object changed while it was copied", {read.origin.key, -1, -1, -1});
  const Result<ObjectBytes>& answer = *read.answer;
  ObjectPtr object = read.object;
  if (answer) {
    copied_ += answer->bytes.size();
    if (!object) object = object_for(read.origin, answer->version);
    if (!object) put_off(read.origin);
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
    if (version && !object_for(read.origin, *version)) put_off(read.origin);
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

bool StageCore::find_objects() {
  if (walks_.empty() || active_.size() + unknown_.size() >= kObjectsAtOnce || filled_.size() >= kMaxFilled || !has_room())
    return false;
  std::unique_ptr<ObjectWalk> walk = std::move(walks_.front());
  walks_.pop_front();
  ++walking_;
  bool is_over = false;
  {
    const MutexUnlock unlocked(mutex_);
    std::optional<FoundObject> found;
    for (std::size_t i = 0; i < kFoundAtOnce; ++i) {
      found = walk->next();
      if (!found || is_stopping_) break;
      take_up(*found);
    }
    is_over = !found;
    if (is_over) walk.reset();
  }
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
    if (!object_for(*origin, *found.version)) put_off(*origin);
    return;
  }
  // A request for the version alone is worth it where the folder may have the object, or where it costs nothing.
  if (context_.manifest->find(origin->name) || origin->store->traits().has_cheap_random_access) {
    const auto version = origin->store->stat(origin->key);
    if (version && !object_for(*origin, *version)) put_off(*origin);
    if (!version && version.error().code != ErrorCode::kNotFound) note_failure(version.error());
    return;
  }
  const MutexLock lock(mutex_);
  unknown_.push_back(*origin);
}

}  // namespace penstock
