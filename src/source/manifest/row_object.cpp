#include "source/manifest/row_object.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/text/public_uri.h"
#include "base/text/uri_scheme.h"
#include "store/object_key.h"

namespace penstock {
namespace {

// Normalises a path only if it has parts such as "./" or "../"; other paths are sent unchanged.
std::string without_dot_parts(std::string_view path) {
  if (path.find("./") == std::string_view::npos) return std::string(path);
  return std::filesystem::path(path).lexically_normal().string();
}

bool is_within(const std::string& path, const std::string& root) {
  return path.starts_with(root) && (path.size() == root.size() || root.ends_with('/') || path[root.size()] == '/');
}

}  // namespace

RowObjects::RowObjects(std::string root) : root_(std::move(root)), is_url_(is_url(root_)) {
  while (is_url_ && root_.ends_with('/')) root_.pop_back();
  has_queries_ = !is_url_ || penstock::end_of_path(root_ + "/?") <= root_.size() + 1;
}

// Only URLs have a query, and the keys of buckets have none.
std::size_t RowObjects::end_of_path(std::string_view cell) const {
  if (!has_queries_) return cell.size();
  return is_url_ || is_url(cell) ? std::min(cell.find_first_of("?#"), cell.size()) : cell.size();
}

std::string_view RowObjects::path(std::string_view cell) const { return cell.substr(0, end_of_path(cell)); }

std::string RowObjects::shown(std::string_view cell) const { return without_secrets(path(cell)); }

std::string RowObjects::name(std::string_view cell) const {
  const std::size_t end = end_of_path(cell);
  return shown(cell) + (end < cell.size() ? selection_digest(cell.substr(end)) : "");
}

Result<std::string> RowObjects::key(std::string_view cell) const {
  const auto refuse = [&](std::string_view why) {
    return fail(ErrorCode::kNoAccess, fmt::format("\"{}\" {}", shown(cell), why));
  };
  const auto refuse_leading_out = [&] {
    return refuse(fmt::format("leads out of the folder {}; give root= to allow it", without_secrets(root_)));
  };
  if (!is_url_) {
    // A URL means another store than the one of the table.
    if (is_url(cell)) return refuse("is a URL in a table of files; put the table on the server, or name files");
    std::string path = (std::filesystem::path(root_) / cell).lexically_normal().string();
    if (!is_within(path, root_)) return refuse_leading_out();
    return path;
  }
  const std::string_view whole = has_queries_ ? cell.substr(0, cell.find('#')) : cell;
  const std::string_view query = whole.substr(std::min(end_of_path(cell), whole.size()));
  // The rest of a URL is joined to that of the root, and a whole URL must begin with it.
  if (!is_url(cell)) {
    if (leaves_folder(path(cell))) return refuse_leading_out();
    return fmt::format("{}/{}{}", root_, without_dot_parts(path(cell)), query);
  }
  const std::string above = without_secrets(root_) + "/", url = shown(cell);
  if (!url.starts_with(above) || leaves_folder(std::string_view(url).substr(above.size()))) return refuse_leading_out();
  // A URL with its own password or signature is requested unchanged.
  if (url != whole) return std::string(whole);
  return fmt::format("{}/{}", root_, std::string_view(url).substr(above.size()));
}

}  // namespace penstock
