#include "source/files/npy_file.h"

#include <algorithm>
#include <array>
#include <vector>

namespace penstock {

Result<NpyFile> open_npy_file(const Store& store, const std::string& uri, const std::string& key) {
  const auto at_file = [&](Error error, std::uint64_t length) {
    error.where = {uri, 0, static_cast<std::int64_t>(length), -1};
    return std::unexpected(std::move(error));
  };
  auto object = store.open(key);
  if (!object) return std::unexpected(std::move(object).error());
  const ObjectVersion version = (*object)->version();
  std::array<std::byte, kNpyPrefix> prefix{};
  const std::size_t there = std::min<std::uint64_t>(version.size, prefix.size());
  PENSTOCK_CHECK((*object)->read_at(0, MutableBytes(prefix).first(there)));
  const auto header_bytes = npy_header_size(ConstBytes(prefix).first(there), Limits{});
  if (!header_bytes) return at_file(header_bytes.error(), there);
  std::vector<std::byte> bytes(std::min<std::uint64_t>(*header_bytes, version.size));
  PENSTOCK_CHECK((*object)->read_at(0, bytes));
  auto header = parse_npy_header(bytes, Limits{});
  if (!header) return at_file(header.error(), bytes.size());
  if (const auto fits = check_npy_size(*header, version.size); !fits)
    return at_file(fits.error(), version.size);
  return NpyFile{std::move(*header), version};
}

}  // namespace penstock
