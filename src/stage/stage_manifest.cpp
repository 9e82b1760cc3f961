#include "stage/stage_manifest.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/hash.h"

namespace penstock {
namespace {

constexpr std::uint64_t kMaxManifestBytes = std::uint64_t{4} << 30;  // tens of millions of objects

Result<std::uint64_t> bytes_of_file(int file, const std::string& path) {
  struct stat info{};
  if (fstat(file, &info) != 0) return stage_failure("look at", path);
  const auto bytes = static_cast<std::uint64_t>(info.st_size);
  if (bytes > kMaxManifestBytes)
    return fail(ErrorCode::kTooLarge, fmt::format("{} bytes, at most {} expected", bytes, kMaxManifestBytes),
                {path, -1, -1, -1});
  return bytes;
}

// The frames of the file from `begin` on. Returns the offset behind the last one.
Result<std::uint64_t> read_frames(int file, const std::string& path, std::uint64_t begin,
                                  const std::function<void(ConstBytes payload)>& take) {
  const auto size = bytes_of_file(file, path);
  if (!size) return size;
  if (*size <= begin) return begin;
  std::vector<std::byte> bytes(*size - begin);
  PENSTOCK_CHECK(read_at(file, bytes, begin, path));
  return begin + parse_frames(bytes, take);
}

}  // namespace

StageManifest::StageManifest(std::string path, Descriptor file, const StageCalls& calls)
    : path_(std::move(path)),
      file_(std::move(file)),
      calls_(calls) {}

Result<std::unique_ptr<StageManifest>> StageManifest::open(const std::string& path, const StageCalls& calls) {
  Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (file.get() < 0) return stage_failure("open", path);
  std::unique_ptr<StageManifest> manifest(new StageManifest(path, std::move(file), calls));
  PENSTOCK_CHECK(manifest->refresh());
  return manifest;
}

std::uint64_t StageManifest::hash_of_key(std::string_view key) { return hash_text(key, 0x6B6579); }

std::optional<StageManifest::Entry> StageManifest::find(std::string_view name) const {
  const MutexLock lock(mutex_);
  const auto found = entries_.find(hash_text(name, 0));
  if (found == entries_.end()) return std::nullopt;
  return found->second;
}

Status StageManifest::refresh() {
  const MutexLock lock(mutex_);
  const auto seen = read_frames(file_.get(), path_, seen_, [&](ConstBytes payload) PENSTOCK_REQUIRES(mutex_) {
    if (const auto record = parse_staged_record(payload))
      entries_[hash_text(record->name, 0)] = {hash_of_key(record->key), record->version};
  });
  if (!seen) return std::unexpected(seen.error());
  seen_ = *seen;
  return {};
}

Status StageManifest::append(const std::vector<StagedRecord>& records, bool sync) {
  std::vector<std::byte> bytes;
  for (const StagedRecord& record : records) {
    const std::vector<std::byte> frame = encode(record);
    bytes.insert(bytes.end(), frame.begin(), frame.end());
  }
  // O_APPEND ignores the offset.
  PENSTOCK_CHECK(write_at(calls_, file_.get(), bytes, 0, path_));
  if (sync && calls_.fsync(file_.get()) != 0) return stage_failure("sync", path_);
  return refresh();
}

Status StageManifest::read_all(const std::string& path, const std::function<void(StagedRecord)>& take) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) {
    if (errno == ENOENT)
      return fail(ErrorCode::kNotFound, "nothing was staged here: the folder has no manifest", {path, -1, -1, -1});
    return stage_failure("open", path);
  }
  const auto read = read_frames(file.get(), path, 0, [&](ConstBytes payload) {
    if (auto record = parse_staged_record(payload)) take(*std::move(record));
  });
  return read ? Status() : std::unexpected(read.error());
}

}  // namespace penstock
