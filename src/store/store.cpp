#include "store/store.h"

#include <fmt/format.h>

namespace penstock {

Result<std::vector<std::byte>> read_all(const Store& store, const std::string& key, std::uint64_t limit) {
  auto object = store.open(key);
  if (!object) return std::unexpected(std::move(object).error());
  const std::uint64_t size = (*object)->version().size;
  if (size > limit)
    return fail(ErrorCode::kTooLarge, fmt::format("{} bytes, at most {} allowed", size, limit),
                {key, 0, static_cast<std::int64_t>(size), -1});
  std::vector<std::byte> bytes(size);
  PENSTOCK_CHECK((*object)->read_at(0, bytes));
  return bytes;
}

}  // namespace penstock
