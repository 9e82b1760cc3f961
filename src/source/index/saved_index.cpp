#include "source/index/saved_index.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "base/random.h"
#include "store/file/file_store.h"

namespace penstock {
namespace {

constexpr std::uint64_t kLargestIndex = std::uint64_t{16} << 30;

std::string cache_directory() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  if (auto own = variable("PENSTOCK_CACHE_DIR"); !own.empty()) return own;
  if (auto xdg = variable("XDG_CACHE_HOME"); !xdg.empty()) return xdg + "/penstock";
  if (auto home = variable("HOME"); !home.empty()) return home + "/.cache/penstock";
  return "";
}

}  // namespace

std::string saved_index_path(const std::string& directory, const std::string& root, const std::string& kind) {
  const std::string folder = directory.empty() ? cache_directory() : directory;
  if (folder.empty()) return "";
  std::uint64_t hash = 0;
  for (const char c : root + "\n" + kind) hash = mix64(hash ^ static_cast<unsigned char>(c));
  return fmt::format("{}/index/{:016x}.idx", folder, hash);
}

Result<std::vector<std::byte>> read_saved_index(const std::string& path) {
  return read_all(FileStore(), path, kLargestIndex);
}

void save_index(const std::string& path, ConstBytes bytes) {
  // Only the owner may read the file, because it holds the names of files and classes. It is not synced to disk:
  // it ends with a checksum and can be built again, so waiting for the disk would only delay opening.
  const auto writer = FileStore().create(path, {.owner_only = true, .sync = false});
  if (writer && (*writer)->write(bytes)) (*writer)->commit();
}

void delete_saved_index(const std::string& path) {
  std::error_code ignored;
  if (!path.empty()) std::filesystem::remove(path, ignored);
}

}  // namespace penstock
