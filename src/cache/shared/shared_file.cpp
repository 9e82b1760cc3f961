#include "cache/shared/shared_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "cache/shared/file_lock.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr int kOpenTries = 100;  // other processes may remove the file between two of our steps

Where at_path(const std::string& path) { return {path, -1, -1, -1}; }

// Returns whether the path still names the open file.
bool is_still_there(int fd, const std::string& path) {
  struct stat mine{}, named{};
  return fstat(fd, &mine) == 0 && stat(path.c_str(), &named) == 0 && mine.st_ino == named.st_ino &&
         mine.st_dev == named.st_dev;
}

std::unexpected<Error> kept_locked(const std::string& path) {
  return fail(ErrorCode::kIo, "another process has it locked and does not release it (is it stopped?)", at_path(path));
}

bool has_bytes(int fd, std::uint64_t bytes) {
  struct stat status{};
  return fstat(fd, &status) == 0 && static_cast<std::uint64_t>(status.st_size) == bytes;
}

}  // namespace

SharedFile::SharedFile(std::string path, Descriptor file, std::byte* data, std::uint64_t size, bool removed_by_last)
    : path_(std::move(path)),
      file_(std::move(file)),
      data_(data),
      size_(size),
      removed_by_last_(removed_by_last),
      guard_(data, size),
      process_(getpid()) {}

Result<std::unique_ptr<SharedFile>> SharedFile::attach(const std::string& path, std::uint64_t bytes,
                                                       bool removed_by_last, const Prepare& prepare) {
  for (int attempt = 0; attempt < kOpenTries; ++attempt) {
    auto opened = open_own_file(path);
    if (!opened) return std::unexpected(std::move(opened).error());
    Descriptor file = std::move(*opened);
    const FileLock lock = lock_alone_or_shared(file);
    if (lock == FileLock::kNone) return kept_locked(path);
    const bool is_alone = lock == FileLock::kAlone;
    struct stat status{};
    if (fstat(file.get(), &status) != 0) return system_failure("cannot look at it", path);
    if (!is_still_there(file.get(), path)) continue;
    const bool is_resized = static_cast<std::uint64_t>(status.st_size) != bytes;
    if (is_alone && is_resized &&
        (ftruncate(file.get(), 0) != 0 || ftruncate(file.get(), static_cast<off_t>(bytes)) != 0)) {
      auto failure = system_failure("cannot resize it", path);
      unlink(path.c_str());
      return failure;
    }
    if (fstat(file.get(), &status) != 0) return system_failure("cannot look at it", path);
    if (static_cast<std::uint64_t>(status.st_size) != bytes)
      return fail(ErrorCode::kChanged, fmt::format("has {} bytes, {} expected", status.st_size, bytes),
                  at_path(path));
    void* address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    if (address == MAP_FAILED) {
      auto failure = system_failure("cannot map", path);
      if (is_alone && is_resized && ftruncate(file.get(), 0) != 0) unlink(path.c_str());
      return failure;
    }
    std::unique_ptr<SharedFile> shared(
        new SharedFile(path, std::move(file), static_cast<std::byte*>(address), bytes, removed_by_last));
    if (!is_alone) return shared;
    PENSTOCK_CHECK(prepare(*shared));
    // flock() releases the lock while it changes its kind: another process may have removed or resized the
    // file.
    if (!lock_shared(shared->file_)) return kept_locked(path);
    if (is_still_there(shared->file_.get(), path) && has_bytes(shared->file_.get(), bytes)) return shared;
  }
  return fail(ErrorCode::kIo, "other processes remove it again and again", at_path(path));
}

SharedFile::~SharedFile() {
  if (removed_by_last_ && process_ == getpid() && flock(file_.get(), LOCK_EX | LOCK_NB) == 0 &&
      is_still_there(file_.get(), path_))
    unlink(path_.c_str());
  munmap(data_, size_);
}

Status SharedFile::write(std::uint64_t offset, ConstBytes bytes) const {
  if (is_lost() || !has_bytes(file_.get(), size_))
    return fail(ErrorCode::kChanged, "was cut short while in use", at_path(path_));
  errno = write_whole(file_.get(), bytes, offset);
  if (errno == 0) return {};
  return system_failure(fmt::format("cannot write {} bytes", bytes.size()), path_);
}

Status SharedFile::make_empty(std::uint64_t backed_bytes) const {
  if (ftruncate(file_.get(), 0) != 0 || ftruncate(file_.get(), static_cast<off_t>(size_)) != 0)
    return system_failure("cannot empty it", path_);
  return back(backed_bytes);
}

Status SharedFile::back(std::uint64_t bytes) const {
  int error = 0;
  do {
    error = posix_fallocate(file_.get(), 0, static_cast<off_t>(bytes));
  } while (error == EINTR);
  if (error == 0) return {};
  if (ftruncate(file_.get(), 0) != 0) unlink(path_.c_str());
  errno = error;
  return system_failure(fmt::format("cannot allocate {} bytes", bytes), path_);
}

std::size_t remove_abandoned(const std::string& folder, const std::string& prefix) {
  std::size_t removed = 0;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (!entry.path().filename().string().starts_with(prefix)) continue;
    const std::string path = entry.path().string();
    const Descriptor file(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat status{};
    if (file.get() < 0 || fstat(file.get(), &status) != 0 || status.st_uid != geteuid()) continue;
    if (flock(file.get(), LOCK_EX | LOCK_NB) != 0) continue;
    if (is_still_there(file.get(), path) && unlink(path.c_str()) == 0) ++removed;
  }
  return removed;
}

}  // namespace penstock
