// Compares the files of a staged folder with the checksums in its manifest.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <map>

#include "base/crc32c.h"
#include "penstock/interruption.h"
#include "penstock/stage.h"
#include "stage/stage_manifest.h"
#include "store/key_path.h"

namespace penstock {
namespace {

constexpr std::size_t kReadAtOnce = 1 << 20;
constexpr auto kBetweenCheckShows = std::chrono::milliseconds(50);

class Checking {
 public:
  Checking(std::string folder, const std::function<bool(const StageProgress&)>& progress)
      : folder_(std::move(folder)),
        progress_(progress),
        buffer_(kReadAtOnce) {}

  Result<StageCheck> run() {
    // The last record of a name counts.
    std::map<std::string, StagedRecord> records;
    PENSTOCK_CHECK(StageManifest::read_all(fmt::format("{}/{}/manifest", folder_, kStageFolder), [&](StagedRecord record) {
      records.insert_or_assign(record.name, std::move(record));
    }));
    shown_.total_objects = records.size();
    for (const auto& [name, record] : records) shown_.total_bytes += record.version.size;
    StageCheck check;
    for (const auto& [name, record] : records) {
      auto problem = problem_of(record);
      if (!problem) return std::unexpected(std::move(problem).error());
      if (!problem->empty()) check.damaged.push_back({name, *std::move(problem)});
      ++shown_.objects;
    }
    check.objects = records.size();
    check.bytes = shown_.total_bytes;
    return check;
  }

 private:
  // "" if the file is as it was staged.
  Result<std::string> problem_of(const StagedRecord& record) {
    const std::string path = folder_ + "/" + record.name;
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat info{};
    if (file.get() < 0 && errno == ENOENT) return std::string("is missing");
    if (file.get() < 0 || fstat(file.get(), &info) != 0) return stage_failure("open", path);
    const auto size = static_cast<std::uint64_t>(info.st_size);
    if (size != record.version.size) return fmt::format("has {} bytes, {} were staged", size, record.version.size);
    for (const StagedRange& range : record.ranges) {
      std::uint32_t crc = 0;
      for (std::uint64_t done = 0; done < range.length;) {
        const MutableBytes part =
            MutableBytes(buffer_).first(std::min<std::uint64_t>(buffer_.size(), range.length - done));
        PENSTOCK_CHECK(read_at(file.get(), part, range.offset + done, path));
        crc = crc32c(part, crc);
        done += part.size();
        PENSTOCK_CHECK(show(part.size()));
      }
      if (crc != range.crc) return fmt::format("has other bytes at {} to {}", range.offset, range.offset + range.length);
    }
    return std::string();
  }

  Status show(std::uint64_t bytes) {
    shown_.bytes += bytes;
    const auto now = std::chrono::steady_clock::now();
    if (now - shown_at_ < kBetweenCheckShows) return {};
    shown_at_ = now;
    PENSTOCK_CHECK(check_interruption(folder_));
    if (progress_ && !progress_(shown_)) return fail(ErrorCode::kStopped, "stopped before it was done", {folder_, -1, -1, -1});
    return {};
  }

  const std::string folder_;
  const std::function<bool(const StageProgress&)>& progress_;
  std::vector<std::byte> buffer_;
  StageProgress shown_;
  std::chrono::steady_clock::time_point shown_at_{};
};

}  // namespace

Result<StageCheck> check_staged(const std::string& folder, const std::function<bool(const StageProgress&)>& progress) {
  return Checking(absolute_key(folder), progress).run();
}

}  // namespace penstock
