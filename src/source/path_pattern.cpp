#include "source/path_pattern.h"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace penstock {
namespace {

constexpr std::size_t kMaxPaths = 10'000'000;

std::optional<std::uint64_t> as_number(const std::string& text) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end || text.empty()) return std::nullopt;
  return value;
}

// "007..010" keeps its width, as in a shell.
std::vector<std::string> alternatives(const std::string& body) {
  std::vector<std::string> out;
  if (const auto dots = body.find(".."); dots != std::string::npos) {
    const std::string from = body.substr(0, dots), to = body.substr(dots + 2);
    const auto first = as_number(from), last = as_number(to);
    if (first && last && *first <= *last && *last - *first < kMaxPaths) {
      const int width = from.starts_with('0') ? static_cast<int>(from.size()) : 0;
      for (std::uint64_t i = *first; i <= *last; ++i) out.push_back(fmt::format("{:0{}}", i, width));
      return out;
    }
  }
  std::size_t begin = 0;
  while (true) {
    const auto comma = body.find(',', begin);
    out.push_back(body.substr(begin, comma - begin));
    if (comma == std::string::npos) return out;
    begin = comma + 1;
  }
}

Status expand_braces(const std::string& pattern, std::vector<std::string>& out) {
  const auto open = pattern.find('{');
  const auto close = open == std::string::npos ? open : pattern.find('}', open);
  if (close == std::string::npos) {
    if (out.size() >= kMaxPaths)
      return fail(ErrorCode::kTooLarge, fmt::format("pattern names more than {} paths", kMaxPaths));
    out.push_back(pattern);
    return {};
  }
  for (const std::string& part : alternatives(pattern.substr(open + 1, close - open - 1)))
    PENSTOCK_CHECK(expand_braces(pattern.substr(0, open) + part + pattern.substr(close + 1), out));
  return {};
}

bool has_wildcard(const std::string& path) { return path.find_first_of("*?[") != std::string::npos; }

}  // namespace

bool is_pattern(const std::string& path) { return has_wildcard(path) || path.find('{') != std::string::npos; }

Result<std::vector<std::string>> expand_in_order(const std::string& pattern) {
  std::vector<std::string> braced, paths;
  PENSTOCK_CHECK(expand_braces(pattern, braced));
  for (const std::string& part : braced) {
    // The characters of a URL mean themselves: nobody could list what they match.
    if (!has_wildcard(part) || part.find("://") != std::string::npos) {
      paths.push_back(part);
      continue;
    }
    glob_t found{};
    const int status = glob(part.c_str(), 0, nullptr, &found);
    if (status == 0) paths.insert(paths.end(), found.gl_pathv, found.gl_pathv + found.gl_pathc);
    globfree(&found);
    if (status != 0 && status != GLOB_NOMATCH)
      return fail(ErrorCode::kIo, "cannot expand the pattern", {part, -1, -1, -1});
  }
  if (paths.empty()) return fail(ErrorCode::kNotFound, "no file matches", {pattern, -1, -1, -1});
  return paths;
}

Result<std::vector<std::string>> expand_pattern(const std::string& pattern) {
  auto paths = expand_in_order(pattern);
  if (!paths) return paths;
  std::ranges::sort(*paths);
  const auto repeated = std::ranges::unique(*paths);
  paths->erase(repeated.begin(), repeated.end());
  return paths;
}

}  // namespace penstock
