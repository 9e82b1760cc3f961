#include "source/zarr/metadata/metadata_object.h"

#include <vector>

#include "store/object_key.h"

namespace penstock {

namespace {

Result<std::optional<Json>> parsed(const Result<ConstBytes>& answer, const std::string& key) {
  if (!answer && answer.error().code == ErrorCode::kNotFound) return std::nullopt;
  if (!answer) {
    Error error = answer.error();
    if (error.where.uri.empty()) error.where.uri = key;
    return std::unexpected(std::move(error));
  }
  auto json = parse_zarr_json(*answer, key);
  if (!json) return std::unexpected(std::move(json).error());
  return *std::move(json);
}

}  // namespace

Result<std::optional<Json>> read_metadata_object(const Store& store, const std::string& key,
                                                 std::uint64_t max_bytes) {
  std::vector<std::byte> memory;
  const auto allocate = [&](std::size_t bytes) -> Result<MutableBytes> {
    memory.resize(bytes);
    return MutableBytes(memory);
  };
  auto answer = store.read({key, {}, max_bytes, {}}, allocate);
  if (!answer) return parsed(std::unexpected(std::move(answer).error()), key);
  return parsed(ConstBytes(answer->bytes), key);
}

MetadataObjects::MetadataObjects(const Store& store, std::span<const Wanted> objects) : store_(store) {
  for (const auto& [key, max_bytes] : objects) {
    max_bytes_.emplace(key, max_bytes);
    if (store.reads_ahead() > 0) under_way_.try_emplace(key, store, ObjectRead{key, {}, max_bytes, {}});
  }
}

Result<std::optional<Json>> MetadataObjects::read(const std::string& key) const {
  const auto found = under_way_.find(key);
  if (found == under_way_.end()) return read_metadata_object(store_, key, max_bytes_.at(key));
  return parsed(found->second.wait(), key);
}

bool is_node_name(std::string_view name) {
  if (name.empty() || name.size() > 4096 || name.contains('\0')) return false;
  while (true) {
    const auto slash = name.find('/');
    const std::string_view part = name.substr(0, slash);
    if (part.empty() || part == "." || part == ".." || leaves_folder(part)) return false;
    if (slash == std::string_view::npos) return true;
    name.remove_prefix(slash + 1);
  }
}

}  // namespace penstock
