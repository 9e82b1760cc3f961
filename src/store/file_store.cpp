#include "store/file_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/random.h"
#include "penstock/interruption.h"

namespace penstock {
namespace {

constexpr int kMaxParts = 8;
constexpr int kRetries = 2;  // of reads that failed in a way that may pass
constexpr auto kBetweenRetries = std::chrono::milliseconds(20);
// Between two looks at whether the reader was called back: half a second from a slow disk.
constexpr std::size_t kBytesPerRead = 16 << 20;
constexpr int kMaxInterruptions = 1000;  // a signal storm must not become a hang

std::unexpected<Error> system_error(const char* action, int number, Where where) {
  ErrorCode code = ErrorCode::kIo;
  if (number == ENOENT || number == ENOTDIR) code = ErrorCode::kNotFound;
  if (number == EACCES || number == EPERM) code = ErrorCode::kNoAccess;
  Error error{code, fmt::format("cannot {} ({})", action, std::strerror(number)), std::move(where),
              number == EIO || number == ESTALE || number == EAGAIN};
  return std::unexpected(std::move(error));
}

std::int64_t nanoseconds(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

ObjectVersion version_of(const struct stat& info, bool has_lasting_inodes) {
  const std::uint64_t change =
      mix64(info.st_ino ^ mix64(static_cast<std::uint64_t>(nanoseconds(info.st_ctim))));
  return {static_cast<std::uint64_t>(info.st_size), nanoseconds(info.st_mtim),
          has_lasting_inodes ? static_cast<std::uint32_t>(change) | 1 : 0};
}

// A file that is written twice within one step of the file system's clock has the same times both times. So
// one that was written just now is opened a moment later: what is then written to it has another time.
// Whether it waited.
bool wait_for_next_tick(const struct stat& info) {
  constexpr std::chrono::nanoseconds kTick = std::chrono::milliseconds(20);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const std::chrono::nanoseconds since = now - std::chrono::nanoseconds(nanoseconds(info.st_mtim));
  if (since < std::chrono::nanoseconds(0) || since >= kTick) return false;
  std::this_thread::sleep_for(kTick - since);
  return true;
}

class FileObject final : public Object {
 public:
  FileObject(ObjectVersion version, std::string path, int descriptor, std::shared_ptr<const FileCalls> calls)
      : Object(version),
        path_(std::move(path)),
        descriptor_(descriptor),
        calls_(std::move(calls)) {}
  FileObject(const FileObject&) = delete;
  ~FileObject() override { calls_->close(descriptor_); }

  using Object::read_at;

  Result<ObjectVersion> version_now() const override {
    struct stat info{};
    if (calls_->fstat(descriptor_, &info) != 0) return system_error("stat", errno, {path_, -1, -1, -1});
    return version_of(info, version().stamp != 0);
  }

  Status read_at(std::uint64_t offset, std::span<const MutableBytes> parts) override {
    std::array<iovec, kMaxParts> vectors;
    std::size_t first = 0, count = 0, wanted = 0;
    for (const MutableBytes& part : parts) {
      if (part.empty()) continue;
      vectors.at(count++) = {part.data(), part.size()};
      wanted += part.size();
    }
    const auto place = [&] {
      return Where{path_, static_cast<std::int64_t>(offset), static_cast<std::int64_t>(wanted), -1};
    };
    std::uint64_t at = offset;
    int interruptions = 0, failures = 0;
    while (first < count) {
      if (at > offset) PENSTOCK_CHECK(check_interruption(path_));
      // A part that is longer than one read is read by itself, piece by piece.
      iovec piece = vectors[first];
      piece.iov_len = std::min(piece.iov_len, kBytesPerRead);
      const bool is_long = wanted > kBytesPerRead;
      const ssize_t got = calls_->preadv(descriptor_, is_long ? &piece : &vectors[first],
                                         is_long ? 1 : static_cast<int>(count - first), static_cast<off_t>(at));
      if (got < 0) {
        const int number = errno;
        if ((number == EINTR || number == EAGAIN) && ++interruptions < kMaxInterruptions) continue;
        if ((number == EIO || number == ESTALE) && ++failures <= kRetries) {
          std::this_thread::sleep_for(kBetweenRetries * failures);
          continue;
        }
        return system_error("read", number, place());
      }
      if (got == 0)
        return fail(ErrorCode::kTruncated,
                    fmt::format("file ends at {} bytes, {} expected", at, offset + wanted), place());
      at += static_cast<std::uint64_t>(got);
      for (auto left = static_cast<std::size_t>(got); left > 0;) {
        iovec& vector = vectors[first];
        const std::size_t step = std::min(left, vector.iov_len);
        vector.iov_base = static_cast<char*>(vector.iov_base) + step;
        vector.iov_len -= step;
        left -= step;
        if (vector.iov_len == 0) ++first;
      }
    }
    return {};
  }

 private:
  std::string path_;
  int descriptor_;
  std::shared_ptr<const FileCalls> calls_;
};

struct FolderCloser {
  void operator()(DIR* folder) const { closedir(folder); }
};

}  // namespace

int FileCalls::open(const char* path) const { return ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); }
int FileCalls::fstat(int descriptor, struct stat* out) const { return ::fstat(descriptor, out); }
ssize_t FileCalls::preadv(int descriptor, const iovec* parts, int count, off_t offset) const {
  return ::preadv(descriptor, parts, count, offset);
}
int FileCalls::close(int descriptor) const { return ::close(descriptor); }

Result<std::unique_ptr<Object>> FileStore::open(const std::string& key) const {
  int descriptor = -1, interruptions = 0;
  // O_NONBLOCK: a FIFO that somebody named x.jpg must not hang us; files do not care.
  do descriptor = calls_->open(key.c_str());
  while (descriptor < 0 && errno == EINTR && ++interruptions < kMaxInterruptions);
  if (descriptor < 0) return system_error("open", errno, {key, -1, -1, -1});
  struct stat info{};
  bool is_known = calls_->fstat(descriptor, &info) == 0;
  if (is_known && wait_for_next_tick(info)) is_known = calls_->fstat(descriptor, &info) == 0;
  if (!is_known) {
    const int number = errno;
    calls_->close(descriptor);
    return system_error("stat", number, {key, -1, -1, -1});
  }
  if (!S_ISREG(info.st_mode)) {
    calls_->close(descriptor);
    return fail(ErrorCode::kUnsupported, "not a regular file", {key, -1, -1, -1});
  }
  return std::make_unique<FileObject>(version_of(info, has_lasting_inodes(info.st_dev, key)), key, descriptor, calls_);
}

Result<ObjectVersion> FileStore::stat(const std::string& key) const {
  struct stat info{};
  if (::stat(key.c_str(), &info) != 0) return system_error("stat", errno, {key, -1, -1, -1});
  return version_of(info, has_lasting_inodes(info.st_dev, key));
}

bool FileStore::has_lasting_inodes(dev_t device, const std::string& path) const {
  if (device == lasting_device_.load(std::memory_order_relaxed)) return true;
  if (device == passing_device_.load(std::memory_order_relaxed)) return false;
  constexpr decltype(statfs::f_type) kFuse = 0x65735546;
  struct statfs system{};
  const bool is_lasting = statfs(path.c_str(), &system) == 0 && system.f_type != kFuse;
  (is_lasting ? lasting_device_ : passing_device_).store(device, std::memory_order_relaxed);
  return is_lasting;
}

std::optional<FolderIdentity> FileStore::identity_of(const std::string& key) const {
  struct stat info{};
  if (::stat(key.c_str(), &info) != 0) return std::nullopt;
  return FolderIdentity{info.st_dev, info.st_ino};
}

Result<std::vector<FolderEntry>> FileStore::list(const std::string& key) const {
  std::unique_ptr<DIR, FolderCloser> folder(opendir(key.c_str()));
  if (!folder) return system_error("list", errno, {key, -1, -1, -1});
  std::vector<FolderEntry> entries;
  while (true) {
    errno = 0;
    const dirent* entry = readdir(folder.get());
    if (entry == nullptr) {
      if (errno != 0) return system_error("list", errno, {key, -1, -1, -1});
      break;
    }
    PENSTOCK_CHECK(check_interruption(key));
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    bool is_folder = entry->d_type == DT_DIR, is_file = entry->d_type == DT_REG;
    if (!is_folder && !is_file && (entry->d_type == DT_LNK || entry->d_type == DT_UNKNOWN)) {
      struct stat info{};
      if (fstatat(dirfd(folder.get()), entry->d_name, &info, 0) != 0) {
        // A dangling link is listed as a file, so that reading it gives an error with its name.
        is_file = true;
      } else {
        is_folder = S_ISDIR(info.st_mode);
        is_file = S_ISREG(info.st_mode);
      }
    }
    if (is_folder || is_file) entries.push_back({std::string(name), is_folder});
  }
  std::ranges::sort(entries, {}, &FolderEntry::name);
  return entries;
}

}  // namespace penstock
