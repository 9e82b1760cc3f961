#include "source/index/file_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <optional>
#include <thread>

#include "base/byte_reader.h"
#include "base/crc32c.h"
#include "base/guarded.h"
#include "base/text/lower_case.h"
#include "base/machine.h"
#include "decode/image/image_formats.h"
#include "penstock/interruption.h"

namespace penstock {
namespace {

// The last letter is the version of the format. Version 2 has more endings of images and counts the files that are
// left out.
constexpr std::string_view kMagic = "PENSTIX2";
constexpr int kMaxDepth = 64;  // levels of nested folders
// Several links to one folder are allowed: they make different classes, or repeat its samples, as the user chose.
// Folders that link to one another, however, can have more paths than can be walked.
constexpr int kMaxPathsToFolder = 64;
constexpr auto kProgressEvery = std::chrono::milliseconds(100);

std::string join(const std::string& folder, std::string_view name) {
  return folder.empty() ? std::string(name) : folder + "/" + std::string(name);
}

struct FoundFile {
  std::string name;
  FileKind kind;
  ObjectVersion version;
};

struct FoundFolder {
  std::string path;
  ObjectVersion version;
  std::vector<FoundFile> files;
  std::map<std::string, std::uint64_t> other_endings;
  std::string other_example;  // the alphabetically first name
};

std::string ending_of(std::string_view name) {
  const auto dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return "";
  return lower_case(name.substr(dot + 1));
}

constexpr unsigned kRemoteThreads = 16;

// Walks the tree with several threads, because each listing and each stat may be a round trip.
class Walk {
 public:
  Walk(const Store& store, const std::string& root)
      : store_(store),
        root_(root),
        has_folder_times_(store.traits().has_folder_times) {
    todo_.push_back({"", 0, nullptr});
  }

  // Returns the folders in the order of their paths. Called once.
  Result<std::vector<FoundFolder>> run(const std::function<bool(std::uint64_t)>& progress) PENSTOCK_EXCLUDES(mutex_) {
    // A thread that waits for a server needs no processor.
    const bool is_remote = store_.traits().reads_ahead > 0;
    const unsigned threads = is_remote ? kRemoteThreads : std::clamp(usable_cpus() * 2, 2u, kRemoteThreads);
    std::vector<std::jthread> pool;
    for (unsigned t = 0; t < threads; ++t)
      pool.emplace_back([this] {
        const Interruption::Scope scope(&stop_walking_);
        work();
      });
    {
      MutexLock lock(mutex_);
      while (!finishes_within(kProgressEvery)) {
        lock.unlock();
        const bool stops =
            Interruption::is_requested() || (progress && !progress(seen_.load(std::memory_order_relaxed)));
        if (stops) stop_walking_.request();
        lock.lock();
        if (stops && !error_)
          error_ = Error{ErrorCode::kStopped, "stopped while looking for files", {root_, -1, -1, -1}, false};
      }
    }
    changed_.notify_all();
    pool.clear();
    const MutexLock lock(mutex_);
    if (error_) return std::unexpected(*error_);
    std::ranges::sort(found_, {}, &FoundFolder::path);
    return std::move(found_);
  }

 private:
  // A folder and the folders that contain it.
  struct Ancestor {
    FolderIdentity folder;
    std::shared_ptr<const Ancestor> above;
  };
  struct Task {
    std::string path;
    int depth;
    std::shared_ptr<const Ancestor> above;
  };

  bool is_done() const PENSTOCK_REQUIRES(mutex_) { return error_.has_value() || (todo_.empty() && busy_ == 0); }

  // Waits for the walk to end, and returns whether it has.
  bool finishes_within(std::chrono::milliseconds patience) PENSTOCK_REQUIRES(mutex_) {
    const auto deadline = ConditionVariable::Clock::now() + patience;
    while (!is_done() && finished_.wait_until(mutex_, deadline)) {
    }
    return is_done();
  }

  void work() PENSTOCK_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    while (true) {
      while (todo_.empty() && !is_done()) changed_.wait(mutex_);
      if (is_done()) break;
      Task task = std::move(todo_.back());
      todo_.pop_back();
      ++busy_;
      lock.unlock();
      std::vector<Task> deeper;
      auto folder = look_at(task, deeper);
      lock.lock();
      --busy_;
      if (!folder) {
        if (!error_) error_ = std::move(folder).error();
      } else {
        found_.push_back(std::move(*folder));
        std::ranges::move(deeper, std::back_inserter(todo_));
      }
      changed_.notify_all();
    }
    finished_.notify_all();
  }

  Result<FoundFolder> look_at(const Task& task, std::vector<Task>& deeper) PENSTOCK_EXCLUDES(mutex_) {
    FoundFolder folder;
    folder.path = task.path;
    const std::string full = task.path.empty() ? root_ : root_ + "/" + task.path;
    // The time of the folder is read before its entries. A file that appears in between then makes the saved
    // index look outdated; the opposite order would hide the file.
    if (has_folder_times_) {
      auto version = store_.stat(full);
      if (!version) return std::unexpected(std::move(version).error());
      folder.version = *version;
    }
    auto here = enter(full, task);
    if (!here) return std::unexpected(std::move(here).error());
    // Files are counted as they are found, so that the progress moves within a large folder.
    const auto is_sample_file = [&](std::string_view name) {
      FileKind kind;
      if (name.starts_with(".") || !kind_of_name(name, kind)) return false;
      seen_.fetch_add(1, std::memory_order_relaxed);
      return true;
    };
    const auto listed = store_.list_pages(full, {is_sample_file}, [&](Listing page) -> Result<bool> {
      PENSTOCK_CHECK(check_interruption(full));
      for (FolderEntry& entry : page) {
        if (!entry.is_folder) {
          add_file(std::move(entry), folder);
          continue;
        }
        if (is_passed_over(entry.name)) continue;
        if (task.depth + 1 > kMaxDepth)
          return fail(ErrorCode::kTooLarge, fmt::format("folders nested more than {} deep", kMaxDepth),
                      {full, -1, -1, -1});
        deeper.push_back({join(task.path, entry.name), task.depth + 1, *here});
      }
      return true;
    });
    if (!listed) return std::unexpected(listed.error());
    return folder;
  }

  static void add_file(FolderEntry entry, FoundFolder& folder) {
    FileKind kind;
    if (entry.name.starts_with(".")) return;
    if (!kind_of_name(entry.name, kind)) {
      if (folder.other_endings.empty()) folder.other_example = entry.name;
      ++folder.other_endings[ending_of(entry.name)];
      return;
    }
    // A file that cannot be examined stays in the index with size 0; reading it will report the error.
    folder.files.push_back({std::move(entry.name), kind, entry.version.value_or(ObjectVersion{})});
  }

  // Records that the walk has reached the folder once more.
  Result<std::shared_ptr<const Ancestor>> enter(const std::string& full, const Task& task) PENSTOCK_EXCLUDES(mutex_) {
    const auto identity = store_.identity_of(full);
    if (!identity) return nullptr;
    for (const Ancestor* above = task.above.get(); above != nullptr; above = above->above.get())
      if (above->folder == *identity)
        return fail(ErrorCode::kUnsupported, "a link leads back to a folder that contains it",
                    {full, -1, -1, -1});
    const MutexLock lock(mutex_);
    if (++paths_to_[*identity] > kMaxPathsToFolder)
      return fail(ErrorCode::kTooLarge,
                  fmt::format("more than {} paths lead to this folder by links; remove links between folders",
                              kMaxPathsToFolder),
                  {full, -1, -1, -1});
    return std::make_shared<const Ancestor>(*identity, task.above);
  }

  const Store& store_;
  const std::string root_;
  const bool has_folder_times_;
  Interruption stop_walking_;  // stops the threads
  Mutex mutex_;
  ConditionVariable changed_, finished_;
  std::vector<Task> todo_ PENSTOCK_GUARDED_BY(mutex_);
  int busy_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  std::optional<Error> error_ PENSTOCK_GUARDED_BY(mutex_);
  std::vector<FoundFolder> found_ PENSTOCK_GUARDED_BY(mutex_);
  std::map<FolderIdentity, int> paths_to_ PENSTOCK_GUARDED_BY(mutex_);
  std::atomic<std::uint64_t> seen_{0};
};

std::unexpected<Error> nothing_there(const std::string& root, const std::vector<FoundFolder>& found,
                                     const std::string& wanted) {
  std::map<std::string, std::uint64_t> others;
  for (const FoundFolder& folder : found) {
    for (const auto& [ending, count] : folder.other_endings) others[ending] += count;
    for (const FoundFile& file : folder.files) ++others[ending_of(file.name)];
  }
  std::string seen;
  for (const auto& [ending, count] : others) {
    if (seen.size() > 60) break;
    seen += fmt::format("{}{} {}", seen.empty() ? "" : ", ", count,
                        ending.empty() ? "files without ending" : "." + ending);
  }
  const std::string what = wanted == "npy"      ? "no .npy files"
                           : wanted == "images" ? fmt::format("no images ({})", image_endings())
                                                : fmt::format("no images ({}) and no .npy files", image_endings());
  return fail(ErrorCode::kNotFound,
              what + " in this folder" + (seen.empty() ? "; it is empty" : "; it has " + seen),
              {root, -1, -1, -1});
}

class ByteWriter {
 public:
  template <std::integral T>
  void write(T value) {
    const auto* raw = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), raw, raw + sizeof(T));
  }
  void write_text(std::string_view text) {
    write<std::uint64_t>(text.size());
    const auto* raw = reinterpret_cast<const std::byte*>(text.data());
    bytes_.insert(bytes_.end(), raw, raw + text.size());
  }
  std::vector<std::byte> take() { return std::move(bytes_); }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace

std::string FileIndex::relative_path(const File& file) const {
  return join(folders[file.folder].path, name(file));
}

bool kind_of_name(std::string_view name, FileKind& kind) {
  const std::string ending = ending_of(name);
  if (ending == "npy") {
    kind = FileKind::kNpy;
    return true;
  }
  kind = FileKind::kImage;
  return is_image_ending(ending);
}

bool is_passed_over(std::string_view folder_name) {
  return folder_name.starts_with(".") || folder_name == "__MACOSX";
}

Result<FileIndex> scan_folder(const Store& store, const std::string& root, const std::string& wanted,
                              const ScanOptions& options) {
  auto found = Walk(store, root).run(options.progress);
  if (!found) return std::unexpected(std::move(found).error());
  PENSTOCK_CHECK(check_interruption(root));
  std::array<std::uint64_t, 2> counts{};
  for (const FoundFolder& folder : *found)
    for (const FoundFile& file : folder.files) ++counts[static_cast<std::size_t>(file.kind)];
  const auto& [images, arrays] = counts;
  if (wanted.empty() && images > 0 && arrays > 0)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} images and {} .npy files in one folder; say kind=\"images\" or "
                            "kind=\"npy\"",
                            images, arrays),
                {root, -1, -1, -1});
  FileIndex index;
  index.kind = wanted == "npy" || (wanted.empty() && arrays > 0) ? FileKind::kNpy : FileKind::kImage;
  if (counts[static_cast<std::size_t>(index.kind)] == 0) return nothing_there(root, *found, wanted);
  for (FoundFolder& folder : *found) {
    const auto folder_id = static_cast<std::uint32_t>(index.folders.size());
    index.folders.push_back({folder.path, folder.version.modified_ns});
    if (!folder.other_endings.empty() && index.left_out.by_ending.empty())
      index.left_out.example = join(folder.path, folder.other_example);
    for (const auto& [ending, count] : folder.other_endings) index.left_out.by_ending[ending] += count;
    for (const FoundFile& file : folder.files) {
      if (file.kind != index.kind) continue;
      index.files.push_back({folder_id, static_cast<std::uint32_t>(file.name.size()), index.names.size(),
                             file.version.size, file.version.modified_ns});
      index.names += file.name;
    }
  }
  return index;
}

std::vector<std::byte> serialise_index(const FileIndex& index, const std::string& root) {
  ByteWriter writer;
  for (const char c : kMagic) writer.write(c);
  writer.write_text(root);
  writer.write(static_cast<std::uint8_t>(index.kind));
  writer.write<std::uint64_t>(index.folders.size());
  for (const auto& folder : index.folders) {
    writer.write_text(folder.path);
    writer.write(folder.modified_ns);
  }
  writer.write<std::uint64_t>(index.files.size());
  for (const auto& file : index.files) {
    writer.write(file.folder);
    writer.write(file.name_length);
    writer.write(file.size);
    writer.write(file.modified_ns);
  }
  writer.write_text(index.names);
  writer.write<std::uint64_t>(index.left_out.by_ending.size());
  for (const auto& [ending, count] : index.left_out.by_ending) {
    writer.write_text(ending);
    writer.write(count);
  }
  writer.write_text(index.left_out.example);
  writer.write(crc32c(writer.bytes()));
  return writer.take();
}

Result<FileIndex> parse_index(ConstBytes bytes, const std::string& root) {
  const auto damaged = [&] { return fail(ErrorCode::kCorrupt, "damaged index", {root, -1, -1, -1}); };
  if (bytes.size() < kMagic.size() + 4 || std::memcmp(bytes.data(), kMagic.data(), kMagic.size() - 1) != 0)
    return damaged();
  // Every version ends with this checksum, so that damage is not mistaken for another version.
  const ConstBytes body = bytes.first(bytes.size() - 4);
  if (ByteReader(bytes.last(4)).read<std::uint32_t>() != crc32c(body)) return damaged();
  if (std::to_integer<char>(bytes[kMagic.size() - 1]) != kMagic.back())
    return fail(ErrorCode::kUnsupported, "an index of another version", {root, -1, -1, -1});
  ByteReader reader(body);
  reader.take(kMagic.size());
  if (reader.take_text(reader.read<std::uint64_t>()) != root) return damaged();
  FileIndex index;
  index.kind = reader.read<std::uint8_t>() == 0 ? FileKind::kImage : FileKind::kNpy;
  const auto folder_count = reader.read<std::uint64_t>();
  if (folder_count > reader.left()) return damaged();
  for (std::uint64_t i = 0; i < folder_count && reader.ok(); ++i) {
    FileIndex::Folder folder;
    folder.path = reader.take_text(reader.read<std::uint64_t>());
    folder.modified_ns = reader.read<std::int64_t>();
    index.folders.push_back(std::move(folder));
  }
  const auto file_count = reader.read<std::uint64_t>();
  constexpr std::uint64_t kBytesPerFile = 4 + 4 + 8 + 8;
  if (file_count > reader.left() / kBytesPerFile) return damaged();
  index.files.reserve(file_count);
  std::uint64_t name_offset = 0;
  for (std::uint64_t i = 0; i < file_count && reader.ok(); ++i) {
    FileIndex::File file;
    file.folder = reader.read<std::uint32_t>();
    file.name_length = reader.read<std::uint32_t>();
    file.name_offset = name_offset;
    file.size = reader.read<std::uint64_t>();
    file.modified_ns = reader.read<std::int64_t>();
    name_offset += file.name_length;
    if (file.folder >= index.folders.size()) return damaged();
    index.files.push_back(file);
  }
  index.names = reader.take_text(reader.read<std::uint64_t>());
  const auto ending_count = reader.read<std::uint64_t>();
  if (ending_count > reader.left()) return damaged();
  for (std::uint64_t i = 0; i < ending_count && reader.ok(); ++i) {
    const std::string ending(reader.take_text(reader.read<std::uint64_t>()));
    index.left_out.by_ending[ending] = reader.read<std::uint64_t>();
  }
  index.left_out.example = reader.take_text(reader.read<std::uint64_t>());
  if (!reader.ok() || reader.left() != 0 || index.names.size() != name_offset || index.files.empty())
    return damaged();
  index.was_saved = true;
  return index;
}

bool index_fits(const Store& store, const std::string& root, const FileIndex& index) {
  return std::ranges::all_of(index.folders, [&](const FileIndex::Folder& folder) {
    if (Interruption::is_requested()) return false;
    const auto version = store.stat(folder.path.empty() ? root : root + "/" + folder.path);
    return version && version->modified_ns == folder.modified_ns;
  });
}

}  // namespace penstock
