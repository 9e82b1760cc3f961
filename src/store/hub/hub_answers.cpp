#include "store/hub/hub_answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "store/http/http_response.h"

namespace penstock {
namespace {

using nlohmann::json;

constexpr std::size_t kCommitDigits = 40;
constexpr int kMaxHubDepth = 16;

std::unexpected<Error> odd_hub_answer(std::string_view what) {
  return fail(ErrorCode::kCorrupt, fmt::format("the Hub's answer has {}", what));
}

// Parses with a limit on the depth. Discarded: not JSON.
json parse_hub_json(std::string_view text) {
  const auto not_too_deep = [](int depth, json::parse_event_t, json&) { return depth <= kMaxHubDepth; };
  return json::parse(text, not_too_deep, false);
}

const json* member(const json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

}  // namespace

Result<std::vector<HubEntry>> parse_hub_entries(std::string_view text) {
  const json list = parse_hub_json(text);
  if (!list.is_array()) return odd_hub_answer("no list of files");
  std::vector<HubEntry> entries;
  for (const json& one : list) {
    const json *type = member(one, "type"), *path = member(one, "path"), *size = member(one, "size"), *oid = member(one, "oid");
    if (type == nullptr || path == nullptr || !type->is_string() || !path->is_string()) return odd_hub_answer("a file without a path");
    HubEntry entry;
    entry.path = path->get<std::string>();
    entry.is_folder = *type == "directory";
    if (entry.path.empty() || entry.path.starts_with('/') || entry.path.ends_with('/') || entry.path.contains("//"))
      return odd_hub_answer("a file with an odd path");
    if (!entry.is_folder) {
      // The pointer of a large file has an identifier of its own, which changes with the file as well.
      if (const json* large = member(one, "lfs"); large != nullptr && member(*large, "oid") != nullptr) oid = member(*large, "oid");
      if (size == nullptr || !size->is_number_unsigned() || oid == nullptr || !oid->is_string())
        return odd_hub_answer("a file without a size or a digest");
      entry.version = {size->get<std::uint64_t>(), version_of_etag(fmt::format("\"{}\"", oid->get<std::string>()))};
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

Result<std::string> parse_hub_commit(std::string_view text) {
  const json answer = parse_hub_json(text);
  const json* sha = member(answer, "sha");
  if (sha == nullptr || !sha->is_string()) return odd_hub_answer("no commit");
  auto commit = sha->get<std::string>();
  const bool is_commit = commit.size() == kCommitDigits &&
                         std::ranges::all_of(commit, [](char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; });
  if (!is_commit) return odd_hub_answer("no proper commit");
  return commit;
}

std::string next_hub_page(std::string_view link) {
  while (!link.empty()) {
    const std::size_t begin = link.find('<'), end = link.find('>');
    if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return {};
    const std::string_view parameters = link.substr(end + 1, std::min(link.find(", <", end), link.size()) - end - 1);
    if (parameters.contains("rel=\"next\"") || parameters.contains("rel=next")) return std::string(link.substr(begin + 1, end - begin - 1));
    link.remove_prefix(end + 1);
  }
  return {};
}

std::string hub_question(const std::string& path) {
  return json{{"paths", json::array({path})}, {"expand", false}}.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace penstock
