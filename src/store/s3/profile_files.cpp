#include "store/s3/profile_files.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "base/text/lower_case.h"

namespace penstock {
namespace {

constexpr std::streamsize kMaxFileBytes = 1 << 20;

std::string_view without_blanks(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

std::string file_in_home(const char* variable, const char* name) {
  if (const char* path = std::getenv(variable); path != nullptr && *path != '\0') return path;
  const char* home = std::getenv("HOME");
  return home == nullptr ? std::string() : std::string(home) + "/.aws/" + name;
}

std::string text_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kMaxFileBytes, '\0');
  file.read(text.data(), kMaxFileBytes);
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return text;
}

}  // namespace

Profile parse_profile(std::string_view text, std::string_view section) {
  Profile profile;
  bool is_in_section = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string_view bare = without_blanks(line);
    if (bare.empty() || bare.front() == '#' || bare.front() == ';') continue;
    if (bare.front() == '[') {
      is_in_section = without_blanks(bare.substr(1, bare.find(']') - 1)) == section;
      continue;
    }
    const bool is_nested = line.front() == ' ' || line.front() == '\t';
    const std::size_t equals = bare.find('=');
    if (!is_in_section || is_nested || equals == std::string_view::npos) continue;
    std::string_view value = without_blanks(bare.substr(equals + 1));
    // A comment after a value is one only behind a blank.
    if (const std::size_t comment = std::min(value.find(" #"), value.find(" ;")); comment != std::string_view::npos)
      value = without_blanks(value.substr(0, comment));
    profile[lower_case(without_blanks(bare.substr(0, equals)))] = value;
  }
  return profile;
}

Profile read_profile(const std::string& name) {
  const std::string config = text_of_file(file_in_home("AWS_CONFIG_FILE", "config"));
  Profile profile = parse_profile(config, name == "default" ? name : "profile " + name);
  const std::string keys = text_of_file(file_in_home("AWS_SHARED_CREDENTIALS_FILE", "credentials"));
  for (auto& [setting, value] : parse_profile(keys, name)) profile[setting] = value;
  return profile;
}

std::string usual_profile() {
  for (const char* variable : {"AWS_PROFILE", "AWS_DEFAULT_PROFILE"})
    if (const char* name = std::getenv(variable); name != nullptr && *name != '\0') return name;
  return "default";
}

}  // namespace penstock
