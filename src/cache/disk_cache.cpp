// Describes and removes a cache folder from outside, for `penstock cache`.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>

#include "cache/shared/contents_file.h"
#include "cache/disk_folder.h"
#include "cache/shared/entry_table.h"
#include "cache/shared/file_lock.h"
#include "cache/shared/mapping_guard.h"
#include "penstock/cache.h"

namespace penstock {
namespace {

constexpr std::array kFiles = {kDataFile, kContentsFile, kIndexFile};  // the index is removed last, because it holds the lock

Where at_cache(const std::string& path) { return {path, -1, -1, -1}; }

Result<std::vector<std::string>> existing_folders(const std::string& folder) {
  auto paths = disk_folder_paths(folder);
  if (paths && paths->empty()) return fail(ErrorCode::kNotFound, "there is no cache", at_cache(folder));
  return paths;
}

void look_at_table(int file, DiskCache& cache) {
  struct stat status{};
  if (fstat(file, &status) != 0 || status.st_size == 0) return;
  const auto bytes = static_cast<std::size_t>(status.st_size);
  void* address = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file, 0);
  if (address == MAP_FAILED) return;
  const MutableBytes memory(static_cast<std::byte*>(address), bytes);
  const MappingGuard guard(address, bytes);
  if (EntryTable::is_formatted(memory)) {
    const EntryTable table(memory, {});
    cache.is_readable = true;
    cache.capacity_bytes = bytes + table.capacity_bytes();
    cache.used_bytes = bytes + table.used_bytes();
    cache.entries = table.entries();
  }
  munmap(address, bytes);
}

Status look_at_index(const std::string& path, bool is_own_version, DiskCache& cache) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (file.get() < 0 && errno == ENOENT) return {};
  if (file.get() < 0) return system_failure("cannot open", path);
  // While we hold either lock, no process shortens the file under our mapping. A process that opens the cache
  // meanwhile tries again.
  const FileLock lock = lock_alone_or_shared(file);
  cache.is_in_use = cache.is_in_use || lock != FileLock::kAlone;
  if (is_own_version && lock != FileLock::kNone) look_at_table(file.get(), cache);
  return {};
}

void add_file(const std::string& path, DiskCache& cache) {
  struct stat status{};
  if (lstat(path.c_str(), &status) != 0) return;
  cache.bytes_on_disk += static_cast<std::uint64_t>(status.st_blocks) * 512;
  cache.modified_ns = std::max(cache.modified_ns,
                               std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec);
}

// Every process that has the cache open holds a shared lock. So while we hold the exclusive one, no process
// uses it.
Result<Descriptor> lock_alone(const std::string& path) {
  Descriptor index(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  if (index.get() < 0) return system_failure("cannot open", path);
  if (flock(index.get(), LOCK_EX | LOCK_NB) == 0) return index;
  if (errno != EWOULDBLOCK) return system_failure("cannot lock", path);
  return fail(ErrorCode::kNoAccess, "a process has the cache in use", at_cache(path));
}

Status remove_version(const std::string& path) {
  for (const char* name : kFiles)
    if (const std::string file = path + "/" + name; unlink(file.c_str()) != 0 && errno != ENOENT)
      return system_failure("cannot remove", file);
  if (rmdir(path.c_str()) == 0) return {};
  if (errno != ENOTEMPTY && errno != EEXIST) return system_failure("cannot remove", path);
  return fail(ErrorCode::kNoAccess, "the cache is removed, but other files are in its folder", at_cache(path));
}

}  // namespace

Result<DiskCache> describe_disk_cache(const std::string& folder) {
  const auto paths = existing_folders(folder);
  if (!paths) return std::unexpected(paths.error());
  DiskCache cache;
  cache.folder = folder;
  for (const std::string& path : *paths) {
    const bool is_own_version = path == disk_folder_path(folder);
    PENSTOCK_CHECK(look_at_index(path + "/" + kIndexFile, is_own_version, cache));
    for (const char* name : kFiles) add_file(path + "/" + name, cache);
    if (is_own_version) cache.contents = read_contents(path + "/" + kContentsFile);
  }
  for (const std::string& path : *paths)
    if (path != disk_folder_path(folder))
      cache.contents.push_back("of another version: " + std::filesystem::path(path).filename().string());
  return cache;
}

Status remove_disk_cache(const std::string& folder) {
  const auto paths = existing_folders(folder);
  if (!paths) return std::unexpected(paths.error());
  std::vector<Descriptor> locks;
  for (const std::string& path : *paths) {
    auto lock = lock_alone(path + "/" + kIndexFile);
    if (!lock) return std::unexpected(std::move(lock).error());
    locks.push_back(std::move(*lock));
  }
  for (const std::string& path : *paths) PENSTOCK_CHECK(remove_version(path));
  return {};
}

}  // namespace penstock
