#include "damage.h"

#include <algorithm>

namespace penstock {
namespace {

// A page of the kernel's cache; of files that have few of those, a sector.
std::size_t page_bytes(std::size_t size) { return size >= 8 * 4096 ? 4096 : 512; }

void add_cuts(const FileMap& map, const DamagePlan& plan, std::vector<Damage>& out) {
  for (std::size_t at = 0; at < map.is_header.size(); ++at)
    if (map.is_dense[at] || at % plan.cut_every == 0) out.push_back({Damage::Kind::kCut, at});
}

void add_flips(const FileMap& map, const DamagePlan& plan, std::vector<Damage>& out) {
  std::size_t header_bits = 0, payload_bytes = 0;
  for (std::size_t at = 0; at < map.is_header.size(); ++at) {
    if (!map.is_header[at]) {
      if (payload_bytes % plan.flip_every == 0)
        out.push_back({Damage::Kind::kPayloadFlip, at, payload_bytes / plan.flip_every % 8});
      ++payload_bytes;
      continue;
    }
    for (std::size_t bit = 0; bit < 8; ++bit)
      if (map.is_dense[at] || header_bits++ % plan.bit_every == 0)
        out.push_back({Damage::Kind::kHeaderFlip, at, bit});
  }
}

void add_pages(std::size_t size, std::vector<Damage>& out) {
  const std::size_t page = page_bytes(size);
  for (std::size_t at = 0; at < size; at += page) out.push_back({Damage::Kind::kZeroPage, at, 0, page});
  for (const std::size_t apart : {1, 2, 3, 5, 8, 13, 21})
    for (std::size_t at = 0; at + (apart + 1) * page <= size; at += page)
      out.push_back({Damage::Kind::kSwapPages, at, at + apart * page, page});
}

}  // namespace

std::vector<std::byte> Damage::apply(std::vector<std::byte> bytes) const {
  switch (kind) {
    case Kind::kCut: bytes.resize(at); break;
    case Kind::kHeaderFlip:
    case Kind::kPayloadFlip: bytes[at] ^= std::byte{1} << other; break;
    case Kind::kZeroPage:
      std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), std::min(page, bytes.size() - at),
                  std::byte{0});
      break;
    case Kind::kSwapPages: std::swap_ranges(&bytes[at], &bytes[at] + page, &bytes[other]); break;
  }
  return bytes;
}

bool Damage::touches(const std::vector<bool>& marked) const {
  const auto any = [&](std::size_t from, std::size_t size) {
    const auto begin = marked.begin() + static_cast<std::ptrdiff_t>(from);
    const auto length = static_cast<std::ptrdiff_t>(std::min(size, marked.size() - from));
    return std::find(begin, begin + length, true) != begin + length;
  };
  switch (kind) {
    case Kind::kCut: return any(at, marked.size());
    case Kind::kHeaderFlip:
    case Kind::kPayloadFlip: return marked[at];
    case Kind::kZeroPage: return any(at, page);
    case Kind::kSwapPages: return any(at, page) || any(other, page);
  }
  return true;
}

std::string Damage::describe() const {
  const std::string place = std::to_string(at);
  switch (kind) {
    case Kind::kCut: return "cut at " + place;
    case Kind::kHeaderFlip: return "header bit " + std::to_string(other) + " of byte " + place;
    case Kind::kPayloadFlip: return "payload bit " + std::to_string(other) + " of byte " + place;
    case Kind::kZeroPage: return "page of zeros at " + place;
    case Kind::kSwapPages: return "pages at " + place + " and " + std::to_string(other) + " swapped";
  }
  return {};
}

std::vector<Damage> list_damage(const FileMap& map, const DamagePlan& plan) {
  std::vector<Damage> out;
  if (plan.cuts) add_cuts(map, plan, out);
  add_flips(map, plan, out);
  if (plan.pages) add_pages(map.is_header.size(), out);
  return out;
}

}  // namespace penstock
