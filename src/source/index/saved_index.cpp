#include "source/index/saved_index.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "base/random.h"
#include "store/file_store.h"

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

// Names of files and classes are nobody else's business: the file is its owner's alone from the beginning.
bool write_private_file(const std::string& path, ConstBytes bytes) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return false;
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return close(file) == 0 && bytes.empty();
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

void keep_index(const std::string& path, ConstBytes bytes) {
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  const std::string temporary = fmt::format("{}.{}", path, getpid());
  std::filesystem::remove(temporary, ignored);  // of a process that had the same number and died
  if (write_private_file(temporary, bytes)) std::filesystem::rename(temporary, path, ignored);
  std::filesystem::remove(temporary, ignored);
}

void forget_index(const std::string& path) {
  std::error_code ignored;
  if (!path.empty()) std::filesystem::remove(path, ignored);
}

}  // namespace penstock
