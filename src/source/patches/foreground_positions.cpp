#include "source/patches/foreground_positions.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>

#include "base/first_error.h"
#include "penstock/interruption.h"

namespace penstock {
namespace {

using Axes = VoxelSet::Axes;
using Mask = VoxelSet::Mask;

constexpr std::int64_t kMaxTileEdge = 128;

// A tile of neighbouring origins, padded to three axes.
struct Tile {
  Axes first_block, last_block;  // blocks of the centres; the last one is included
  Axes origin, count;  // of the origins; a count of 0 means that there are none
};

class ForegroundPositions {
 public:
  ForegroundPositions(const VoxelSet& labels, const ForegroundRule& rule, VoxelSet& out, SetMemory& memory,
                   const std::string& uri)
      : labels_(labels),
        rule_(rule),
        out_(out),
        memory_(memory),
        uri_(uri),
        patch_(VoxelSet::padded(rule.patch, 1)),
        first_(VoxelSet::padded(rule.first, 0)),
        last_(VoxelSet::padded(rule.last, 0)) {
    for (std::size_t d = 0; d < 3; ++d) {
      const std::int64_t edge = out.block_shape()[d];
      blocks_per_tile_[d] = std::max<std::int64_t>(1, std::min(kMaxTileEdge, patch_[d] / 2) / edge);
      tiles_[d] = (out.blocks()[d] + blocks_per_tile_[d] - 1) / blocks_per_tile_[d];
    }
  }

  Status run() {
    {
      std::vector<std::jthread> helpers;
      for (int i = 1; i < rule_.threads; ++i)
        helpers.emplace_back([&, interruption = Interruption::current()] {
          const Interruption::Scope scope(interruption);
          work(false);
        });
      work(true);
    }
    return error_.status();
  }

 private:
  // Each tile has its own blocks, so threads never write to the same block.
  void work(bool asks) {
    const auto all = static_cast<std::uint64_t>(tiles_[0] * tiles_[1] * tiles_[2]);
    for (std::uint64_t number = next_++; number < all && !stop_; number = next_++) {
      Status status = check_interruption(uri_);
      if (status) status = add_tile(tile_at(static_cast<std::int64_t>(number)));
      if (status && asks && rule_.goes_on && !rule_.goes_on())
        status = fail(ErrorCode::kStopped, "looking for foreground was stopped", {uri_, -1, -1, -1});
      if (status) continue;
      error_.report(std::move(status).error());
      stop_ = true;
    }
  }

  Tile tile_at(std::int64_t number) const {
    Tile tile{};
    for (std::size_t d = 3; d-- > 0;) {
      tile.first_block[d] = number % tiles_[d] * blocks_per_tile_[d];
      tile.last_block[d] = std::min(tile.first_block[d] + blocks_per_tile_[d], out_.blocks()[d]) - 1;
      number /= tiles_[d];
    }
    const Axes begin = out_.block_box(tile.first_block).begin, end = out_.block_box(tile.last_block).end;
    for (std::size_t d = 0; d < 3; ++d) {
      tile.origin[d] = std::max(begin[d] - patch_[d] / 2, first_[d]);
      tile.count[d] = std::min(end[d] - 1 - patch_[d] / 2, last_[d]) - tile.origin[d] + 1;
    }
    return tile;
  }

  std::uint64_t foreground_in(const Axes& origin, const Axes& size) const {
    const std::size_t axes = rule_.patch.size();
    return labels_.count(std::span(origin).last(axes), std::span(size).last(axes));
  }

  Status add_tile(const Tile& tile) {
    Axes reach{}, core_origin{}, core{};
    for (std::size_t d = 0; d < 3; ++d) {
      if (tile.count[d] <= 0) return {};
      reach[d] = tile.count[d] - 1 + patch_[d];  // the voxels that any patch of the tile covers
      core_origin[d] = tile.origin[d] + tile.count[d] - 1;  // the voxels that every patch of the tile covers
      core[d] = patch_[d] - tile.count[d] + 1;
    }
    if (foreground_in(tile.origin, reach) < rule_.least) return {};
    Bits bits(*this, tile);
    const bool has_core = *std::ranges::min_element(core) > 0;
    if (has_core && foreground_in(core_origin, core) >= rule_.least)
      for (std::int64_t i = 0; i < tile.count[0]; ++i)
        for (std::int64_t j = 0; j < tile.count[1]; ++j)
          for (std::int64_t k = 0; k < tile.count[2]; ++k) bits.set(i, j, k);
    else
      carry_sums(tile, bits);
    return bits.add_to_set();
  }

  // The positions of one tile, as bits of the blocks that contain their centres.
  class Bits {
   public:
    Bits(ForegroundPositions& positions, const Tile& tile) : positions_(positions), tile_(tile) {
      std::size_t blocks = 1;
      for (std::size_t d = 0; d < 3; ++d) {
        blocks_[d] = tile.last_block[d] - tile.first_block[d] + 1;
        blocks *= static_cast<std::size_t>(blocks_[d]);
        shift_[d] =
            tile.origin[d] + positions.patch_[d] / 2 - tile.first_block[d] * positions.out_.block_shape()[d];
      }
      masks_.resize(blocks);
    }

    void set(std::int64_t i, std::int64_t j, std::int64_t k) {
      const Axes& edge = positions_.out_.block_shape();
      const Axes at = {shift_[0] + i, shift_[1] + j, shift_[2] + k};
      const auto block = static_cast<std::size_t>(
          (at[0] / edge[0] * blocks_[1] + at[1] / edge[1]) * blocks_[2] + at[2] / edge[2]);
      const auto bit =
          static_cast<std::size_t>((at[0] % edge[0] * edge[1] + at[1] % edge[1]) * edge[2] + at[2] % edge[2]);
      masks_[block][bit / 64] |= std::uint64_t{1} << bit % 64;
    }

    Status add_to_set() const {
      std::size_t number = 0;
      for (std::int64_t i = 0; i < blocks_[0]; ++i)
        for (std::int64_t j = 0; j < blocks_[1]; ++j)
          for (std::int64_t k = 0; k < blocks_[2]; ++k) {
            const Axes block = {tile_.first_block[0] + i, tile_.first_block[1] + j, tile_.first_block[2] + k};
            PENSTOCK_CHECK(positions_.out_.add(block, masks_[number++], positions_.memory_, positions_.uri_));
          }
      return {};
    }

   private:
    ForegroundPositions& positions_;
    const Tile& tile_;
    Axes blocks_{}, shift_{};
    std::vector<Mask> masks_;
  };

  // `columns` holds sums along the first axis of a patch, `strip` sums of these along the second, and `sum` sums
  // of those along the third.
  void carry_sums(const Tile& tile, Bits& bits) const {
    const std::int64_t rows = tile.count[1] - 1 + patch_[1], width = tile.count[2] - 1 + patch_[2];
    std::vector<std::uint32_t> columns(static_cast<std::size_t>(rows * width));
    std::vector<std::uint64_t> strip(static_cast<std::size_t>(width));
    const auto add_plane = [&](std::int64_t plane, int sign) {
      labels_.add_plane(plane, tile.origin[1], rows, tile.origin[2], width, sign, columns.data());
    };
    const auto add_row = [&](std::int64_t row, bool adds) {
      const std::uint32_t* from = columns.data() + row * width;
      for (std::size_t i = 0; i < strip.size(); ++i) strip[i] += adds ? from[i] : 0 - std::uint64_t{from[i]};
    };
    for (std::int64_t plane = 0; plane < patch_[0] - 1; ++plane) add_plane(tile.origin[0] + plane, 1);
    for (std::int64_t i = 0; i < tile.count[0]; ++i) {
      add_plane(tile.origin[0] + i + patch_[0] - 1, 1);
      if (i > 0) add_plane(tile.origin[0] + i - 1, -1);
      std::ranges::fill(strip, 0);
      for (std::int64_t row = 0; row < patch_[1] - 1; ++row) add_row(row, true);
      for (std::int64_t j = 0; j < tile.count[1]; ++j) {
        add_row(j + patch_[1] - 1, true);
        if (j > 0) add_row(j - 1, false);
        const auto element = [&](std::int64_t k) { return strip[static_cast<std::size_t>(k)]; };
        std::uint64_t sum = 0;
        for (std::int64_t k = 0; k < patch_[2] - 1; ++k) sum += element(k);
        for (std::int64_t k = 0; k < tile.count[2]; ++k) {
          sum += element(k + patch_[2] - 1);
          if (k > 0) sum -= element(k - 1);
          if (sum >= rule_.least) bits.set(i, j, k);
        }
      }
    }
  }

  const VoxelSet& labels_;
  const ForegroundRule& rule_;
  VoxelSet& out_;
  SetMemory& memory_;
  const std::string& uri_;
  const Axes patch_, first_, last_;
  Axes blocks_per_tile_{}, tiles_{};
  std::atomic<std::uint64_t> next_{0};
  std::atomic<bool> stop_{false};
  FirstError error_;
};

}  // namespace

Result<VoxelSet> centres_with_foreground(const VoxelSet& labels, const Shape& volume,
                                         const ForegroundRule& rule, SetMemory& memory,
                                         const std::string& uri) {
  auto out = VoxelSet::make_empty(volume, memory, uri);
  if (!out) return out;
  PENSTOCK_CHECK(ForegroundPositions(labels, rule, *out, memory, uri).run());
  return out;
}

}  // namespace penstock
