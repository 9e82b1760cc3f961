#include "store/file/file_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "store/file/file_error.h"

namespace penstock {
namespace {

constexpr int kMaxCalls = 1000;  // of one that signals interrupt; a storm of signals must not become a hang
constexpr int kMaxNames = 100;   // temporary names that are tried
constexpr std::uint64_t kHandOnBytes = 8 << 20;

// Repeats a system call that a signal interrupted.
template <typename Call>
auto uninterrupted(Call call) {
  auto result = call();
  for (int calls = 1; result < 0 && errno == EINTR && calls < kMaxCalls; ++calls) result = call();
  return result;
}

class FileWriter final : public ObjectWriter {
 public:
  FileWriter(std::string path, std::string temporary, int descriptor, bool syncs,
             std::shared_ptr<const FileCalls> calls)
      : path_(std::move(path)),
        temporary_(std::move(temporary)),
        descriptor_(descriptor),
        syncs_(syncs),
        calls_(std::move(calls)) {}
  FileWriter(const FileWriter&) = delete;
  ~FileWriter() override { abandon(); }

  Status write(ConstBytes bytes) override {
    if (descriptor_ < 0) return is_over();
    while (!bytes.empty()) {
      const ssize_t written = uninterrupted([&] { return calls_->write(descriptor_, bytes); });
      if (written < 0) return fail_with("write", errno);
      bytes = bytes.subspan(static_cast<std::size_t>(written));
      written_ += static_cast<std::uint64_t>(written);
    }
    if (syncs_ && written_ - handed_on_ >= kHandOnBytes) hand_on();
    return {};
  }

  Status commit() override {
    if (descriptor_ < 0) return is_over();
    if (syncs_ && uninterrupted([&] { return calls_->fsync(descriptor_); }) != 0) return fail_with("sync", errno);
    // close() reports write errors that network file systems delay. The descriptor is gone in any case.
    if (calls_->close(std::exchange(descriptor_, -1)) != 0) return fail_with("close", errno);
    if (calls_->rename(temporary_.c_str(), path_.c_str()) != 0) return fail_with("replace", errno);
    temporary_.clear();
    return syncs_ ? sync_folder() : Status();
  }

  void abandon() override {
    if (descriptor_ >= 0) calls_->close(std::exchange(descriptor_, -1));
    if (!temporary_.empty()) calls_->unlink(std::exchange(temporary_, "").c_str());
  }

 private:
  Where where() const { return {path_, -1, -1, -1}; }

  Status is_over() const { return fail(ErrorCode::kInvalidArgument, "the writer is committed or abandoned", where()); }

  Status fail_with(std::string_view action, int number) {
    abandon();
    return file_error(action, number, where());
  }

  // Asks the system to begin with what was written, so that the disk works while the rest is made, and the sync at the end
  // has little left to wait for. It promises nothing: the sync finds what failed.
  void hand_on() {
#ifdef SYNC_FILE_RANGE_WRITE
    static_cast<void>(::sync_file_range(descriptor_, static_cast<off_t>(handed_on_),
                                        static_cast<off_t>(written_ - handed_on_), SYNC_FILE_RANGE_WRITE));
#endif
    handed_on_ = written_;
  }

  // Makes the rename durable.
  Status sync_folder() const {
    const std::filesystem::path folder = std::filesystem::path(path_).parent_path();
    const int descriptor = uninterrupted([&] { return calls_->open(folder.empty() ? "." : folder.c_str()); });
    if (descriptor < 0) return file_error("sync the folder of", errno, where());
    const int number = uninterrupted([&] { return calls_->fsync(descriptor); }) == 0 ? 0 : errno;
    calls_->close(descriptor);
    // Some file systems cannot sync folders and say so with EINVAL; they need no sync.
    if (number != 0 && number != EINVAL) return file_error("sync the folder of", number, where());
    return {};
  }

  const std::string path_;
  std::string temporary_;  // empty: there is none
  int descriptor_;         // -1: committed or abandoned
  const bool syncs_;
  std::uint64_t written_ = 0, handed_on_ = 0;  // bytes
  const std::shared_ptr<const FileCalls> calls_;
};

}  // namespace

Result<std::unique_ptr<ObjectWriter>> create_file(const std::string& path, const CreateOptions& options,
                                                  std::shared_ptr<const FileCalls> calls) {
  static std::atomic<std::uint64_t> next_number{0};
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (error) return file_error("create a folder for", error.value(), {path, -1, -1, -1});
  for (int tries = 0;; ++tries) {
    // A name may be in use by a process of the same number on another machine, or left by one that was killed.
    std::string temporary = fmt::format("{}.{}-{}.tmp", path, getpid(), next_number.fetch_add(1));
    const int descriptor =
        uninterrupted([&] { return calls->create(temporary.c_str(), options.owner_only ? 0600 : 0666); });
    if (descriptor >= 0)
      return std::make_unique<FileWriter>(path, std::move(temporary), descriptor, options.sync, std::move(calls));
    if (errno != EEXIST || tries == kMaxNames)
      return file_error("create", errno, {path, -1, -1, -1});
  }
}

}  // namespace penstock
