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
#include <thread>

#include "base/random.h"
#include "penstock/interruption.h"
#include "store/file_error.h"
#include "store/file_writer.h"

namespace penstock {
namespace {

constexpr int kMaxParts = 8;
constexpr int kRetries = 2;  // for reads that failed with an error that may be temporary
constexpr auto kBetweenRetries = std::chrono::milliseconds(20);
// A read is cancelled between two of these pieces. One takes half a second from a slow disk.
constexpr std::size_t kBytesPerRead = 16 << 20;
constexpr int kMaxInterruptions = 1000;  // a signal storm must not become a hang

std::int64_t nanoseconds(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

ObjectVersion version_of(const struct stat& info, bool has_lasting_inodes) {
  const std::uint64_t change =
      mix64(info.st_ino ^ mix64(static_cast<std::uint64_t>(nanoseconds(info.st_ctim))));
  return {static_cast<std::uint64_t>(info.st_size), nanoseconds(info.st_mtim),
          has_lasting_inodes ? static_cast<std::uint32_t>(change) | 1 : 0};
}

// A file that is written twice within one tick of the file system's clock has the same time stamp both times. To
// notice the second change, this waits until a file that was written just now is older than one tick: later changes
// then have another time stamp. Returns whether it waited.
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
    if (calls_->fstat(descriptor_, &info) != 0) return file_error("stat", errno, {path_, -1, -1, -1});
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
    const auto where = [&] {
      return Where{path_, static_cast<std::int64_t>(offset), static_cast<std::int64_t>(wanted), -1};
    };
    std::uint64_t at = offset;
    int interruptions = 0, failures = 0;
    while (first < count) {
      if (at > offset) PENSTOCK_CHECK(check_interruption(path_));
      // A part that is longer than one read is read alone, in several pieces.
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
        return file_error("read", number, where());
      }
      if (got == 0)
        return fail(ErrorCode::kTruncated,
                    fmt::format("file ends at {} bytes, {} expected", at, offset + wanted), where());
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
int FileCalls::create(const char* path, mode_t mode) const {
  return ::open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
}
ssize_t FileCalls::write(int descriptor, ConstBytes bytes) const {
  return ::write(descriptor, bytes.data(), bytes.size());
}
int FileCalls::fsync(int descriptor) const { return ::fsync(descriptor); }
int FileCalls::rename(const char* from, const char* to) const { return ::rename(from, to); }
int FileCalls::unlink(const char* path) const { return ::unlink(path); }

StoreTraits FileStore::traits() const {
  return {.is_local = true,
          .can_list = true,
          .can_write = true,
          .has_cheap_random_access = true,
          .has_versions = true};
}

Result<std::unique_ptr<ObjectWriter>> FileStore::create(const std::string& key, const CreateOptions& options) const {
  return create_file(key, options, calls_);
}

Result<std::unique_ptr<Object>> FileStore::open(const std::string& key) const {
  int descriptor = -1, interruptions = 0;
  // FileCalls::open() sets O_NONBLOCK, so that a FIFO named x.jpg does not block the caller. Files ignore it.
  do descriptor = calls_->open(key.c_str());
  while (descriptor < 0 && errno == EINTR && ++interruptions < kMaxInterruptions);
  if (descriptor < 0) return file_error("open", errno, {key, -1, -1, -1});
  struct stat info{};
  bool is_known = calls_->fstat(descriptor, &info) == 0;
  if (is_known && wait_for_next_tick(info)) is_known = calls_->fstat(descriptor, &info) == 0;
  if (!is_known) {
    const int number = errno;
    calls_->close(descriptor);
    return file_error("stat", number, {key, -1, -1, -1});
  }
  if (!S_ISREG(info.st_mode)) {
    calls_->close(descriptor);
    return fail(ErrorCode::kUnsupported, "not a regular file", {key, -1, -1, -1});
  }
  return std::make_unique<FileObject>(version_of(info, has_lasting_inodes(info.st_dev, key)), key, descriptor, calls_);
}

Result<ObjectVersion> FileStore::stat(const std::string& key) const {
  struct stat info{};
  if (::stat(key.c_str(), &info) != 0) return file_error("stat", errno, {key, -1, -1, -1});
  return version_of(info, has_lasting_inodes(info.st_dev, key));
}

bool FileStore::has_lasting_inodes(dev_t device, std::string_view path, std::string_view name) const {
  if (device == lasting_device_.load(std::memory_order_relaxed)) return true;
  if (device == passing_device_.load(std::memory_order_relaxed)) return false;
  constexpr decltype(statfs::f_type) kFuse = 0x65735546;
  const std::string full = name.empty() ? std::string(path) : fmt::format("{}/{}", path, name);
  struct statfs system{};
  const bool is_lasting = statfs(full.c_str(), &system) == 0 && system.f_type != kFuse;
  (is_lasting ? lasting_device_ : passing_device_).store(device, std::memory_order_relaxed);
  return is_lasting;
}

std::optional<FolderIdentity> FileStore::identity_of(const std::string& key) const {
  struct stat info{};
  if (::stat(key.c_str(), &info) != 0) return std::nullopt;
  return FolderIdentity{info.st_dev, info.st_ino};
}

Result<std::vector<FolderEntry>> FileStore::list(const std::string& key, const ListOptions& options) const {
  std::unique_ptr<DIR, FolderCloser> folder(opendir(key.c_str()));
  if (!folder) return file_error("list", errno, {key, -1, -1, -1});
  std::vector<FolderEntry> entries;
  while (true) {
    errno = 0;
    const dirent* found = readdir(folder.get());
    if (found == nullptr) {
      if (errno != 0) return file_error("list", errno, {key, -1, -1, -1});
      break;
    }
    PENSTOCK_CHECK(check_interruption(key));
    const std::string_view name = found->d_name;
    if (name == "." || name == "..") continue;
    struct stat info{};
    bool is_examined = false;
    const auto examine = [&] {
      return is_examined || (is_examined = fstatat(dirfd(folder.get()), found->d_name, &info, 0) == 0);
    };
    bool is_folder = found->d_type == DT_DIR, is_file = found->d_type == DT_REG;
    if (found->d_type == DT_LNK || found->d_type == DT_UNKNOWN) {
      const bool exists = examine();
      is_folder = exists && S_ISDIR(info.st_mode);
      // A dangling link is listed as a file, so that reading it gives an error with its name.
      is_file = !exists || S_ISREG(info.st_mode);
    }
    if (!is_folder && !is_file) continue;
    FolderEntry& entry = entries.emplace_back(std::string(name), is_folder, std::nullopt);
    if (is_file && options.wants_version && options.wants_version(name) && examine())
      entry.version = version_of(info, has_lasting_inodes(info.st_dev, key, name));
  }
  std::ranges::sort(entries, {}, &FolderEntry::name);
  return entries;
}

}  // namespace penstock
