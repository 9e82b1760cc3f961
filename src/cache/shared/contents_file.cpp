#include "cache/shared/contents_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "cache/shared/file_lock.h"

namespace penstock {
namespace {

constexpr const char* kWords = "cached";
constexpr std::size_t kMaxBytes = 1 << 20;  // limit of the file; nobody would read more

std::string text_of(int file) {
  std::string text;
  std::array<char, 4096> part;
  while (text.size() < kMaxBytes) {
    const ssize_t got = pread(file, part.data(), part.size(), static_cast<off_t>(text.size()));
    if (got <= 0) break;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  return text;
}

std::vector<std::string> words_in(const std::string& text) {
  std::vector<std::string> all;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const auto line = nlohmann::json::parse(text.begin() + static_cast<std::ptrdiff_t>(begin),
                                            text.begin() + static_cast<std::ptrdiff_t>(end), nullptr, false);
    if (line.is_object() && line.contains(kWords) && line[kWords].is_string())
      all.push_back(line[kWords].get<std::string>());
    begin = end + 1;
  }
  return all;
}

}  // namespace

void note_contents(const std::string& path, const std::string& words) {
  const Descriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (file.get() < 0 || !lock_alone_for_a_moment(file)) return;
  const std::string text = text_of(file.get());
  const nlohmann::json line = {{kWords, words}};
  std::string added = line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  if (text.size() >= kMaxBytes || ("\n" + text).find("\n" + added) != std::string::npos) return;
  if (!text.empty() && text.back() != '\n') added = "\n" + added;  // a process died while it wrote a line
  [[maybe_unused]] const ssize_t written = write(file.get(), added.data(), added.size());
}

std::vector<std::string> read_contents(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  return file.get() < 0 ? std::vector<std::string>() : words_in(text_of(file.get()));
}

}  // namespace penstock
