#include "stage/staged_object.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <thread>

#include "base/crc32c.h"
#include "base/hash.h"
#include "base/text/public_uri.h"
#include "penstock/interruption.h"

namespace penstock {
namespace {

// Claims beside those of the pieces.
constexpr std::uint64_t kFinishing = ~std::uint64_t{0}, kInUse = ~std::uint64_t{1};
constexpr auto kBetweenTries = std::chrono::milliseconds(2);
constexpr int kMaxTries = 15'000;  // half a minute
constexpr std::size_t kVerifiedAtOnce = 1 << 20;
constexpr std::uint64_t kMaxJournalBytes = std::uint64_t{1} << 30;

std::uint64_t id_of(const std::string& key, const ObjectVersion& version) {
  return mix64(hash_text(key, version.size) ^ static_cast<std::uint64_t>(version.modified_ns));
}

// Without a time or an ETag, an object of the same size may be another one.
bool has_time(const ObjectVersion& version) { return version.modified_ns != 0; }

std::string data_path(const StageContext& context, const std::string& key, const ObjectVersion& version) {
  return fmt::format("{}/{}/{:016x}.data", context.folder, kStageFolder, id_of(key, version));
}

}  // namespace

bool is_whole_in_folder(const StageContext& context, const StageOrigin& origin, const ObjectVersion& version) {
  const auto entry = context.manifest->find(origin.name);
  struct stat info{};
  return has_time(version) && entry && entry->version == version &&
         entry->key == StageManifest::hash_of_key(origin.key) &&
         ::stat(context.path_of(origin.name).c_str(), &info) == 0 &&
         static_cast<std::uint64_t>(info.st_size) == version.size;
}

std::uint64_t bytes_in_folder(const StageContext& context, const StageOrigin& origin, const ObjectVersion& version) {
  if (is_whole_in_folder(context, origin, version)) return version.size;
  struct stat info{};
  if (::stat(data_path(context, origin.key, version).c_str(), &info) != 0) return 0;
  return static_cast<std::uint64_t>(info.st_blocks) * 512;
}

StagedObject::StagedObject(StageContext& context, StageOrigin origin, ObjectVersion version)
    : context_(context),
      origin_(std::move(origin)),
      version_(version),
      id_(id_of(origin_.key, version)),
      pieces_((version.size + context.piece_bytes - 1) / context.piece_bytes),
      data_path_(data_path(context, origin_.key, version)),
      journal_path_(fmt::format("{}/{}/{:016x}.journal", context.folder, kStageFolder, id_)) {}

StagedObject::~StagedObject() {
  context_.claims.release(id_, kInUse);
  if (pieces_ == 1) context_.claims.release(id_, 0);
}

ByteSpan StagedObject::piece(std::uint64_t number) const {
  const std::uint64_t begin = number * context_.piece_bytes;
  return {begin, std::min(begin + context_.piece_bytes, version_.size)};
}

Status StagedObject::prepare() {
  const MutexLock lock(preparing_);
  if (!prepared_) prepared_ = open_copy();
  return *prepared_;
}

// Whether the folder has the file under its name, as the manifest says; then this is the copy. Without a time it is so only
// if it is the very file that this object has open: another process that shares the copying has finished it.
bool StagedObject::adopt_whole() {
  if (data_.get() < 0 && !has_time(version_)) return false;
  const auto entry = context_.manifest->find(origin_.name);
  if (!entry || entry->version != version_ || entry->key != StageManifest::hash_of_key(origin_.key)) return false;
  Descriptor file(::open(context_.path_of(origin_.name).c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info{};
  if (file.get() < 0 || fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode) ||
      static_cast<std::uint64_t>(info.st_size) != version_.size)
    return false;
  // Readers may be using the descriptor of the copy in the making, which is the same file now.
  struct stat mine{};
  if (data_.get() >= 0 && (fstat(data_.get(), &mine) != 0 || mine.st_ino != info.st_ino)) return false;
  if (data_.get() < 0) data_ = std::move(file);
  const MutexLock lock(mutex_);
  context_.bytes_there += there_.add({0, version_.size});
  is_whole_ = true;
  return true;
}

Status StagedObject::claim_name(const std::string& path) const {
  const auto entry = context_.manifest->find(origin_.name);
  if (entry && entry->key != StageManifest::hash_of_key(origin_.key))
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("is the copy of another object than {}; stage to another folder", without_secrets(origin_.key)),
                {path, -1, -1, -1});
  struct stat info{};
  if (!entry && ::lstat(path.c_str(), &info) == 0)
    return fail(ErrorCode::kInvalidArgument, "exists and was not staged; stage to another folder, or remove it",
                {path, -1, -1, -1});
  return {};
}

Status StagedObject::open_copy() {
  for (int tries = 0; !context_.claims.try_claim(id_, kFinishing); ++tries) {
    PENSTOCK_CHECK(check_interruption(origin_.key));
    if (tries == kMaxTries)
      return fail(ErrorCode::kIo, "another process has this copy locked and does not release it",
                  {data_path_, -1, -1, -1});
    std::this_thread::sleep_for(kBetweenTries);
  }
  const Status opened = [&]() -> Status {
    PENSTOCK_CHECK(context_.manifest->refresh());
    if (adopt_whole()) return {};
    PENSTOCK_CHECK(claim_name(context_.path_of(origin_.name)));
    data_ = Descriptor(::open(data_path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
    if (data_.get() < 0) return stage_failure("create", data_path_);
    struct stat info{};
    if (fstat(data_.get(), &info) != 0) return stage_failure("look at", data_path_);
    const bool is_alone = context_.claims.try_claim(id_, kInUse);
    const bool is_new = static_cast<std::uint64_t>(info.st_size) != version_.size || version_.size == 0;
    // What an earlier run copied of an object without a version may be of another one.
    if (is_new || (is_alone && !has_time(version_))) ::unlink(journal_path_.c_str());
    if (!is_new) return {};
    auto allocated = allocate_file(*context_.calls, data_.get(), version_.size, data_path_);
    if (!allocated) ::unlink(data_path_.c_str());
    return allocated;
  }();
  context_.claims.release(id_, kFinishing);
  if (!opened || is_whole_) return opened;
  const MutexLock lock(mutex_);
  PENSTOCK_CHECK(open_journal(false));
  return read_journal(true);
}

Status StagedObject::open_journal(bool make) {
  if (journal_.get() >= 0) return {};
  Descriptor file(::open(journal_path_.c_str(), O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW | (make ? O_CREAT : 0), 0666));
  if (file.get() < 0 && !make && errno == ENOENT) return {};
  if (file.get() < 0) return stage_failure("open", journal_path_);
  struct stat info{};
  if (fstat(file.get(), &info) != 0) return stage_failure("look at", journal_path_);
  // Processes that begin at the same time may both write a head, which does no harm.
  if (info.st_size == 0)
    PENSTOCK_CHECK(write_at(*context_.calls, file.get(), encode(JournalHead{origin_.key, version_}), 0, journal_path_));
  journal_ = std::move(file);
  return {};
}

// Reads what was appended since the last call. `verify`: it is of an earlier run, so it counts only if the data agree.
Status StagedObject::read_journal(bool verify) {
  struct stat info{};
  if (journal_.get() < 0) return {};
  if (fstat(journal_.get(), &info) != 0) return stage_failure("look at", journal_path_);
  const auto size = static_cast<std::uint64_t>(info.st_size);
  if (size <= journal_seen_ || size > kMaxJournalBytes) return {};
  std::vector<std::byte> bytes(size - journal_seen_);
  PENSTOCK_CHECK(read_at(journal_.get(), bytes, journal_seen_, journal_path_));
  bool is_other = false;
  std::vector<StagedRange> found;
  journal_seen_ += parse_frames(bytes, [&](ConstBytes payload) {
    if (const auto range = parse_staged_range(payload, version_.size)) found.push_back(*range);
    if (const auto head = parse_journal_head(payload))
      is_other = is_other || head->key != origin_.key || head->version != version_;
  });
  if (is_other) return {};
  for (const StagedRange& range : found) {
    PENSTOCK_CHECK(check_interruption(origin_.key));
    if (!verify || matches_data(range)) add(range);
  }
  return {};
}

bool StagedObject::matches_data(const StagedRange& range) const {
  std::vector<std::byte> buffer(std::min<std::uint64_t>(range.length, kVerifiedAtOnce));
  std::uint32_t crc = 0;
  for (std::uint64_t done = 0; done < range.length;) {
    const MutableBytes part = MutableBytes(buffer).first(std::min<std::uint64_t>(buffer.size(), range.length - done));
    if (!read_at(data_.get(), part, range.offset + done, data_path_)) return false;
    crc = crc32c(part, crc);
    done += part.size();
  }
  return crc == range.crc;
}

void StagedObject::add(const StagedRange& range) {
  const std::uint64_t fresh = there_.add({range.offset, range.offset + range.length});
  if (fresh == 0) return;
  ranges_.push_back(range);
  context_.bytes_there += fresh;
}

bool StagedObject::is_filled() {
  const MutexLock lock(mutex_);
  return there_.bytes() == version_.size;
}

std::vector<ByteSpan> StagedObject::missing(ByteSpan span) {
  const MutexLock lock(mutex_);
  if (there_.has(span)) return {};
  // A journal that cannot be read only hides what other processes have copied.
  if (open_journal(false)) static_cast<void>(read_journal(false));
  return there_.missing(span);
}

Status StagedObject::read(std::uint64_t offset, MutableBytes bytes) const {
  return read_at(data_.get(), bytes, offset, is_whole_ ? context_.path_of(origin_.name) : data_path_);
}

Status StagedObject::fail_with(Status failure) {
  has_failed_ = true;
  return failure;
}

Status StagedObject::keep(std::uint64_t offset, ConstBytes bytes) {
  if (bytes.empty() || is_whole_) return {};
  if (auto written = write_at(*context_.calls, data_.get(), bytes, offset, data_path_); !written)
    return fail_with(std::move(written));
  const StagedRange range{offset, bytes.size(), crc32c(bytes)};
  const MutexLock lock(mutex_);
  // An object in one piece becomes whole at once, and needs no journal.
  if (bytes.size() < version_.size) {
    auto noted = open_journal(true);
    if (noted) noted = write_at(*context_.calls, journal_.get(), encode(range), 0, journal_path_);
    if (!noted) return fail_with(std::move(noted));
  }
  add(range);
  return {};
}

void StagedObject::begin_reading(ByteSpan span) {
  const MutexLock lock(mutex_);
  read_through_.push_back(span);
}

void StagedObject::end_reading(ByteSpan span) {
  const MutexLock lock(mutex_);
  const auto at = std::ranges::find(read_through_, span);
  if (at != read_through_.end()) read_through_.erase(at);
}

std::optional<ByteSpan> StagedObject::first_gap(ByteSpan span) const {
  RangeSet being_read;
  for (const auto* spans : {&read_through_, &under_way_})
    for (const ByteSpan& other : *spans)
      if (other.begin < span.end && span.begin < other.end) being_read.add(other);
  for (const ByteSpan gap : there_.missing(span)) {
    const auto left = being_read.missing(gap);
    if (!left.empty()) return left.front();
  }
  return std::nullopt;
}

std::optional<ByteSpan> StagedObject::claim(std::uint64_t most) {
  if (has_failed_ || is_whole_) return std::nullopt;
  const MutexLock lock(mutex_);
  while (first_open_ < pieces_ && there_.has(piece(first_open_))) ++first_open_;
  for (std::uint64_t number = first_open_; number < pieces_; ++number) {
    if (there_.has(piece(number))) continue;
    const bool is_mine = claimed_.contains(number);
    if (!is_mine && !context_.claims.try_claim(id_, number)) continue;
    // Its last owner may have copied it.
    if (!is_mine && open_journal(false)) static_cast<void>(read_journal(false));
    const auto gap = first_gap(piece(number));
    if (!gap) {
      if (!is_mine) context_.claims.release(id_, number);
      continue;
    }
    ++claimed_[number];
    const ByteSpan span{gap->begin, std::min(gap->end, gap->begin + most)};
    under_way_.push_back(span);
    return span;
  }
  return std::nullopt;
}

void StagedObject::release(ByteSpan span) {
  std::vector<std::function<void()>> waiting;
  {
    const MutexLock lock(mutex_);
    const std::uint64_t number = span.begin / context_.piece_bytes;
    const auto mine = claimed_.find(number);
    if (mine != claimed_.end() && --mine->second == 0) {
      claimed_.erase(mine);
      // An object in one piece has no journal that would tell other processes: its claim ends when it is whole.
      if (pieces_ > 1 || there_.bytes() < version_.size) context_.claims.release(id_, number);
    }
    std::erase(under_way_, span);
    waiting.swap(waiting_);
  }
  for (const auto& then : waiting) then();
}

bool StagedObject::wait_for(ByteSpan span, std::function<void()> then) {
  const MutexLock lock(mutex_);
  const bool is_under_way = std::ranges::any_of(
      under_way_, [&](const ByteSpan& copied) { return copied.begin < span.end && span.begin < copied.end; });
  if (is_under_way) waiting_.push_back(std::move(then));
  return is_under_way;
}

bool StagedObject::begin_finish() { return context_.claims.try_claim(id_, kFinishing); }

Status StagedObject::sync_data() const {
  if (context_.calls->fsync(data_.get()) != 0) return stage_failure("sync", data_path_);
  return {};
}

Result<std::optional<StagedRecord>> StagedObject::record() {
  PENSTOCK_CHECK(context_.manifest->refresh());
  const std::string path = context_.path_of(origin_.name);
  if (adopt_whole()) return std::optional<StagedRecord>();
  PENSTOCK_CHECK(claim_name(path));
  std::error_code error;
  const std::string folder = std::filesystem::path(path).parent_path();
  std::filesystem::create_directories(folder, error);
  if (error) {
    errno = error.value();
    return stage_failure("create the folder", folder);
  }
  // The record is written before the file has its name, so an older copy must not stand under it meanwhile.
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return stage_failure("remove the older copy", path);
  const MutexLock lock(mutex_);
  return std::optional<StagedRecord>({origin_.name, origin_.key, version_, ranges_});
}

Status StagedObject::name_file() {
  const std::string path = context_.path_of(origin_.name);
  if (context_.calls->rename(data_path_.c_str(), path.c_str()) != 0) return stage_failure("rename to", path);
  return {};
}

void StagedObject::end_finish(bool is_done) {
  if (is_done) {
    is_whole_ = true;
    ::unlink(journal_path_.c_str());
  }
  if (pieces_ == 1) context_.claims.release(id_, 0);
  context_.claims.release(id_, kFinishing);
}

bool StagedObject::look_whether_whole() {
  if (is_whole_) return true;
  return context_.manifest->refresh() && adopt_whole();
}

}  // namespace penstock
