#include "source/path_pattern.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>

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

// The numbers of "007..010" keep their width, as in a shell.
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

bool has_wildcard(std::string_view path) { return path.find_first_of("*?[") != std::string_view::npos; }

// A backslash makes the next character mean itself.
std::string without_escapes(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) ++i;
    plain += text[i];
  }
  return plain;
}

std::vector<std::string> parts_of(std::string_view path) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    if (end > begin) parts.emplace_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

constexpr std::string_view kAnyFolders = "**";

bool matches_name(const std::string& pattern, const std::string& name) {
  return fnmatch(pattern.c_str(), name.c_str(), FNM_PERIOD) == 0;
}

// Whether the names, from the outermost folder on, match the parts of a pattern.
bool matches_path(std::span<const std::string> pattern, std::span<const std::string> names) {
  if (pattern.empty()) return names.empty();
  if (pattern.front() != kAnyFolders)
    return !names.empty() && matches_name(pattern.front(), names.front()) &&
           matches_path(pattern.subspan(1), names.subspan(1));
  for (std::size_t skipped = 0;; ++skipped) {
    if (matches_path(pattern.subspan(1), names.subspan(skipped))) return true;
    if (skipped == names.size() || names[skipped].starts_with('.')) return false;
  }
}

// "." for what is relative to the working folder.
std::string folder_of_prefix(const std::string& prefix) {
  const std::size_t last = prefix.find_last_not_of('/');
  return prefix.empty() ? "." : last == std::string::npos ? "/" : prefix.substr(0, last + 1);
}

// Appends all keys below `prefix` that match `pattern`, which begins with "**". One listing of all objects at any depth
// finds them, because an object store answers that with far fewer requests than one for each folder.
Status expand_at_any_depth(const Store& store, const std::string& prefix, std::string_view pattern,
                           std::vector<std::string>& out) {
  std::vector<std::string> parts = parts_of(pattern);
  const bool wants_folders = pattern.ends_with('/'), wants_all_files = !wants_folders && parts.back() == kAnyFolders;
  if (wants_all_files) parts.emplace_back("*");
  const bool finds_hidden = std::ranges::any_of(parts, [](const std::string& part) { return part.starts_with('.'); });
  ListOptions options;
  options.is_recursive = true;
  options.wants = [&](std::string_view name, bool is_folder) {
    const std::vector<std::string> names = parts_of(name);
    const bool is_match = matches_path(parts, names);
    if (!is_folder) return is_match && !wants_folders;
    if (is_match && !wants_all_files) out.push_back(prefix + std::string(name) + (wants_folders ? "/" : ""));
    return finds_hidden || !names.back().starts_with('.');
  };
  const std::size_t first = out.size();
  const auto objects = store.list(folder_of_prefix(prefix), options);
  if (!objects && objects.error().code == ErrorCode::kNotFound) return {};
  if (!objects) return std::unexpected(objects.error());
  for (const FolderEntry& object : *objects) out.push_back(prefix + object.name);
  // The store may have asked for a folder more than once.
  const auto found = std::ranges::subrange(out.begin() + static_cast<std::ptrdiff_t>(first), out.end());
  std::ranges::sort(found);
  const auto repeated = std::ranges::unique(found);
  out.erase(repeated.begin(), repeated.end());
  return {};
}

// Appends all keys that match `pattern`, as glob(3) does: level by level, where no wildcard matches a '/' or the dot
// of a hidden name. `prefix` is what is matched already, with its slash.
Status expand_wildcards(const Store& store, std::string prefix, std::string_view pattern,
                        std::vector<std::string>& out) {
  while (!pattern.empty()) {
    if (pattern.starts_with("**/") || pattern == kAnyFolders) return expand_at_any_depth(store, prefix, pattern, out);
    const std::size_t end = std::min(pattern.find('/'), pattern.size());
    const std::size_t next = std::min(pattern.find_first_not_of('/', end), pattern.size());
    const std::string level(pattern.substr(0, end)), slashes(pattern.substr(end, next - end));
    pattern.remove_prefix(next);
    if (!has_wildcard(level)) {
      prefix += without_escapes(level) + slashes;
      continue;
    }
    ListOptions options;
    std::string entry_name;  // with the zero at its end that fnmatch() needs; its memory is used again
    options.wants = [&](std::string_view name, bool is_folder) {
      entry_name = name;
      return (is_folder || slashes.empty()) && matches_name(level, entry_name);
    };
    const auto entries = store.list(folder_of_prefix(prefix), options);
    // As in a shell, a folder that is missing or that may not be read matches nothing.
    if (!entries && (entries.error().code == ErrorCode::kNotFound || entries.error().code == ErrorCode::kNoAccess))
      return {};
    if (!entries) return std::unexpected(entries.error());
    for (const FolderEntry& entry : *entries) {
      std::string matched = prefix + entry.name + slashes;
      if (pattern.empty()) {
        out.push_back(std::move(matched));
      } else {
        PENSTOCK_CHECK(expand_wildcards(store, std::move(matched), pattern, out));
      }
    }
    return {};
  }
  const auto kind = store.kind_of(prefix);
  if (!kind && kind.error().code != ErrorCode::kNoAccess) return std::unexpected(kind.error());
  if (kind && *kind != KeyKind::kNothing) out.push_back(std::move(prefix));
  return {};
}

}  // namespace

bool is_pattern(const std::string& path) { return has_wildcard(path) || path.find('{') != std::string::npos; }

Result<bool> names_several(const Store& store, const std::string& path) {
  if (!store.traits().can_list) return path.find('{') != std::string::npos;
  if (!is_pattern(path)) return false;
  const auto kind = store.kind_of(path);
  if (!kind) return std::unexpected(kind.error());
  return *kind == KeyKind::kNothing;
}

Result<std::vector<std::string>> expand_in_order(const Store& store, const std::string& pattern) {
  std::vector<std::string> braced, paths;
  PENSTOCK_CHECK(expand_braces(pattern, braced));
  const bool can_list = store.traits().can_list;
  for (std::string& part : braced) {
    // If a store cannot list, wildcard characters mean themselves: URLs have '?' before their query.
    if (!has_wildcard(part) || !can_list) {
      paths.push_back(std::move(part));
      continue;
    }
    std::vector<std::string> matches;
    PENSTOCK_CHECK(expand_wildcards(store, "", part, matches));
    std::ranges::sort(matches);
    std::ranges::move(matches, std::back_inserter(paths));
  }
  if (paths.empty()) return fail(ErrorCode::kNotFound, "no file matches", {pattern, -1, -1, -1});
  return paths;
}

Result<std::vector<std::string>> expand_pattern(const Store& store, const std::string& pattern) {
  auto paths = expand_in_order(store, pattern);
  if (!paths) return paths;
  std::ranges::sort(*paths);
  const auto repeated = std::ranges::unique(*paths);
  paths->erase(repeated.begin(), repeated.end());
  return paths;
}

}  // namespace penstock
