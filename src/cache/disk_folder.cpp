#include "cache/disk_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <thread>
#include <utility>

#include "cache/shared/entry_table.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrefix = "penstock-cache-";
constexpr int kVersion = 1;

// Commands that describe or remove a folder hold its lock for a short time.
constexpr int kFolderTries = 50;
constexpr auto kBetweenTries = std::chrono::milliseconds(20);

// The table has slots for the expected number of entries, as if their mean size were between these bounds:
// other data may be cached in the same folder later, and the table should be small compared to the entries.
constexpr std::uint64_t kMaxMeanBytes = 64 << 10, kMinMeanBytes = 512;

std::uint64_t index_bytes(const DiskTierOptions& options) {
  return EntryTable::bytes_for(std::clamp(options.expected_entries, options.capacity_bytes / kMaxMeanBytes,
                                          options.capacity_bytes / kMinMeanBytes));
}

Where at_folder(const std::string& path) { return {path, -1, -1, -1}; }

// Makes the folder with a mode that lets only this user put files into it.
Status make_folder(const std::string& folder, const std::string& path) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    errno = error.value();
    return system_failure("cannot make the folder", folder);
  }
  struct stat status{};
  if ((mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) || lstat(path.c_str(), &status) != 0)
    return system_failure("cannot make the folder", path);
  if (!S_ISDIR(status.st_mode) || status.st_uid != geteuid())
    return fail(ErrorCode::kNoAccess, "is not a folder of this user", at_folder(path));
  return {};
}

class Opening {
 public:
  explicit Opening(const DiskTierOptions& options)
      : options_(options),
        path_(disk_folder_path(options.folder)),
        index_path_(path_ + "/" + kIndexFile),
        new_index_bytes_(index_bytes(options)) {}

  Result<DiskFolder> run() {
    Error why;
    for (int attempt = 0; attempt < kFolderTries; ++attempt) {
      if (attempt > 0) std::this_thread::sleep_for(kBetweenTries);
      auto opened = open_once();
      if (opened) return opened;
      why = std::move(opened).error();
      // Another process may have removed or remade the folder between two of our steps.
      const bool may_pass = why.code == ErrorCode::kNotFound || why.code == ErrorCode::kChanged;
      if (!may_pass && !why.retryable) break;
    }
    return std::unexpected(std::move(why));
  }

 private:
  Result<DiskFolder> open_once() {
    PENSTOCK_CHECK(make_folder(options_.folder, path_));
    struct stat status{};
    const bool may_be_kept = !std::exchange(is_useless_, false) && stat(index_path_.c_str(), &status) == 0 &&
                             static_cast<std::uint64_t>(status.st_size) >= EntryTable::bytes_for(1);
    const std::uint64_t bytes = may_be_kept ? static_cast<std::uint64_t>(status.st_size) : new_index_bytes_;
    // An index that was used before is allocated already; allocating it again would write all its pages.
    const bool is_backed = may_be_kept && status.st_blocks * 512 >= status.st_size;
    data_ = Descriptor();
    auto index = SharedFile::attach(index_path_, bytes, false,
                                    [&](const SharedFile& file) { return prepare(file, is_backed); });
    if (!index) return std::unexpected(std::move(index).error());
    if (data_.get() < 0) PENSTOCK_CHECK(open_data(0));
    const MutableBytes memory = (*index)->bytes();
    if (!EntryTable::is_formatted(memory))
      return wait_for(ErrorCode::kCorrupt, "is damaged, and another process has it in use");
    if (EntryTable(memory, {}).machine() != this_machine())
      return wait_for(ErrorCode::kNoAccess, "another machine has it in use");
    futimens(data_.get(), nullptr);  // records the time of the last use
    return DiskFolder{path_, std::move(*index), std::move(data_)};
  }

  Result<DiskFolder> wait_for(ErrorCode code, std::string message) const {
    return std::unexpected(Error{code, std::move(message), at_folder(path_), true});
  }

  Status open_data(int how) {
    const std::string path = path_ + "/" + kDataFile;
    data_ = Descriptor(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | how, 0600));
    if (data_.get() < 0) return system_failure("cannot open", path);
    return {};
  }

  // Called while no other process uses the index.
  Status prepare(const SharedFile& index, bool is_backed) {
    PENSTOCK_CHECK(open_data(O_CREAT));
    const MutableBytes memory = index.bytes();
    if (EntryTable::is_formatted(memory)) {
      if (!is_backed) PENSTOCK_CHECK(index.back(memory.size()));
      EntryTable::make_usable(memory);
      EntryTable table(memory, {});
      if (can_be_kept(table, memory.size())) {
        table.set_capacity(options_.capacity_bytes - memory.size());
        return {};
      }
    }
    is_useless_ = memory.size() != new_index_bytes_;
    if (is_useless_) return fail(ErrorCode::kChanged, "has the size of another cache", at_folder(index_path_));
    std::error_code ignored;
    fs::remove(path_ + "/" + kContentsFile, ignored);
    if (ftruncate(data_.get(), 0) != 0) return system_failure("cannot empty it", path_ + "/" + kDataFile);
    PENSTOCK_CHECK(index.make_empty(memory.size()));
    EntryTable::format(memory, options_.capacity_bytes - memory.size());
    return {};
  }

  bool can_be_kept(const EntryTable& table, std::uint64_t index_bytes) const {
    const std::uint64_t used = table.used_bytes();
    // In a data file that was cut short, the entries before its end are still good.
    struct stat status{};
    if (fstat(data_.get(), &status) != 0 || (status.st_size == 0 && used > 0)) return false;
    if (index_bytes + used > options_.capacity_bytes) {
      say_anew(fmt::format("has {} MiB, but may have only {} MiB from now on", (index_bytes + used) >> 20,
                           options_.capacity_bytes >> 20));
      return false;
    }
    // The table was made for a much smaller cache and will soon be full.
    if (table.entries() > table.slots() / 4 && new_index_bytes_ / 2 > index_bytes) {
      say_anew("has a table that is too small for the size that is asked for now");
      return false;
    }
    return true;
  }

  void say_anew(const std::string& why) const {
    if (options_.warn)
      options_.warn(fmt::format("the cache in {} {}: it is made anew", options_.folder, why));
  }

  const DiskTierOptions& options_;
  const std::string path_, index_path_;
  const std::uint64_t new_index_bytes_;
  bool is_useless_ = false;  // the existing index must be replaced
  Descriptor data_;
};

}  // namespace

std::string disk_folder_path(const std::string& folder) {
  return (fs::path(folder) / fmt::format("{}{}", kPrefix, kVersion)).string();
}

Result<std::vector<std::string>> disk_folder_paths(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const std::string version = name.starts_with(kPrefix) ? name.substr(std::string(kPrefix).size()) : "";
    std::error_code ignored;
    if (!version.empty() && version.find_first_not_of("0123456789") == std::string::npos &&
        entry->symlink_status(ignored).type() == fs::file_type::directory)
      paths.push_back(entry->path().string());
  }
  if (error && error != std::errc::no_such_file_or_directory && error != std::errc::not_a_directory) {
    errno = error.value();
    return system_failure("cannot list", folder);
  }
  std::ranges::sort(paths);
  return paths;
}

Result<DiskFolder> open_disk_folder(const DiskTierOptions& options) { return Opening(options).run(); }

}  // namespace penstock
