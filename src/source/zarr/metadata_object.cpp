#include "source/zarr/metadata_object.h"

#include <vector>

namespace penstock {

Result<std::optional<Json>> read_metadata_object(const Store& store, const std::string& key,
                                                 std::uint64_t most_bytes) {
  std::vector<std::byte> memory;
  const auto room = [&](std::size_t bytes) -> Result<MutableBytes> {
    memory.resize(bytes);
    return MutableBytes(memory);
  };
  auto answer = store.read({key, {}, most_bytes, {}}, room);
  if (!answer && answer.error().code == ErrorCode::kNotFound) return std::nullopt;
  if (!answer) {
    Error error = std::move(answer).error();
    if (error.where.uri.empty()) error.where.uri = key;
    return std::unexpected(std::move(error));
  }
  auto parsed = parse_zarr_json(answer->bytes, key);
  if (!parsed) return std::unexpected(std::move(parsed).error());
  return *std::move(parsed);
}

bool is_node_name(std::string_view name) {
  if (name.empty() || name.size() > 4096 || name.contains('\0')) return false;
  while (true) {
    const auto slash = name.find('/');
    const std::string_view part = name.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return false;
    if (slash == std::string_view::npos) return true;
    name.remove_prefix(slash + 1);
  }
}

}  // namespace penstock
