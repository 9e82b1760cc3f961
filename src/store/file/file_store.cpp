#include "store/file/file_store.h"

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
#include <utility>

#include "base/random.h"
#include "penstock/interruption.h"
#include "store/file/file_error.h"
#include "store/file/file_writer.h"

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
          .has_versions = true,
          .has_folder_times = true};
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

Result<KeyKind> FileStore::kind_of(const std::string& key) const {
  struct stat info{};
  if (::stat(key.c_str(), &info) == 0) return S_ISDIR(info.st_mode) ? KeyKind::kFolder : KeyKind::kObject;
  const int number = errno;
  if (number == ENOENT || number == ENOTDIR) return KeyKind::kNothing;
  return file_error("look at it", number, {key, -1, -1, -1});
}

Result<Listing> FileStore::list_folder(const std::string& path, const std::string& below,
                                       const ListOptions& options) const {
  std::unique_ptr<DIR, FolderCloser> folder(opendir(path.c_str()));
  if (!folder) return file_error("list", errno, {path, -1, -1, -1});
  Listing entries;
  while (true) {
    errno = 0;
    const dirent* found = readdir(folder.get());
    if (found == nullptr) {
      if (errno != 0) return file_error("list", errno, {path, -1, -1, -1});
      break;
    }
    PENSTOCK_CHECK(check_interruption(path));
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
    FolderEntry entry{below.empty() ? std::string(name) : below + found->d_name, is_folder, std::nullopt};
    if (options.wants && !options.wants(entry.name, is_folder)) continue;
    if (is_file && options.wants_version && options.wants_version(entry.name) && examine())
      entry.version = version_of(info, has_lasting_inodes(info.st_dev, path, name));
    PENSTOCK_CHECK(entries.add(std::move(entry), path));
  }
  entries.sort_by_key();
  return entries;
}

// Lists everything below a folder, depth first, which is the order of the keys. Used by one call, on one thread.
class FileStore::TreeListing {
 public:
  TreeListing(const FileStore& store, const std::string& root, const ListOptions& options, const TakePage& take)
      : store_(store),
        root_(root),
        options_(options),
        take_(take) {}

  Status run() {
    PENSTOCK_CHECK(enter("", nullptr));
    return is_over_ ? Status() : hand_over();
  }

 private:
  static constexpr std::size_t kEntriesPerPage = 1000;
  static constexpr int kMaxDepth = 64;

  // A folder and the folders that contain it.
  struct Ancestor {
    FolderIdentity folder;
    const Ancestor* above;
    int depth;
  };

  // `below` is the path of a folder below the root, with its slash.
  Status enter(const std::string& below, const Ancestor* above) {
    const std::string path = below.empty() ? root_ : root_ + "/" + below.substr(0, below.size() - 1);
    const auto refuse = [&](ErrorCode code, std::string message) {
      return fail(code, std::move(message), {path, -1, -1, -1});
    };
    const Ancestor here{store_.identity_of(path).value_or(FolderIdentity{}), above, above == nullptr ? 0 : above->depth + 1};
    if (here.depth > kMaxDepth)
      return refuse(ErrorCode::kTooLarge, fmt::format("folders nested more than {} deep", kMaxDepth));
    for (; above != nullptr; above = above->above)
      if (above->folder == here.folder)
        return refuse(ErrorCode::kUnsupported, "a link leads back to a folder that contains it");
    auto entries = store_.list_folder(path, below, options_);
    // A folder that was removed since its name was read has no objects.
    if (!entries && entries.error().code == ErrorCode::kNotFound && here.depth > 0) return {};
    if (!entries) return std::unexpected(std::move(entries).error());
    for (FolderEntry& entry : *entries) {
      if (is_over_) return {};
      if (entry.is_folder) {
        PENSTOCK_CHECK(enter(entry.name + "/", &here));
        continue;
      }
      PENSTOCK_CHECK(page_.add(std::move(entry), path));
      if (page_.size() == kEntriesPerPage) PENSTOCK_CHECK(hand_over());
    }
    return {};
  }

  Status hand_over() {
    const auto goes_on = take_(std::exchange(page_, Listing()));
    if (!goes_on) return std::unexpected(goes_on.error());
    is_over_ = !*goes_on;
    return {};
  }

  const FileStore& store_;
  const std::string& root_;
  const ListOptions& options_;
  const TakePage& take_;
  Listing page_;
  bool is_over_ = false;
};

Status FileStore::list_pages(const std::string& key, const ListOptions& options, const TakePage& take) const {
  if (options.is_recursive) return TreeListing(*this, key, options, take).run();
  // The system gives names in no order, so a folder is one page.
  auto entries = list_folder(key, "", options);
  if (!entries) return std::unexpected(std::move(entries).error());
  const auto goes_on = take(*std::move(entries));
  return goes_on ? Status() : std::unexpected(goes_on.error());
}

}  // namespace penstock
