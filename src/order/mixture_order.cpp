#include "order/mixture_order.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/guarded.h"
#include "order/pass.h"
#include "order/permutation.h"

namespace penstock {
namespace {

class MixtureOrder final : public EpochOrder {
 public:
  MixtureOrder(const OrderSpec& spec, std::uint64_t size, std::uint64_t epoch)
      : EpochOrder(size),
        shuffled_(spec.shuffle != Shuffle::kNone),
        seed_(spec.seed),
        first_(static_cast<unsigned __int128>(epoch) * size),
        weights_(spec.mixture->weights),
        sizes_(spec.mixture->sizes),
        block_(std::max<std::uint64_t>(1024, weights_.size() * weights_.size())) {
    largest_ = static_cast<std::size_t>(std::ranges::max_element(weights_) - weights_.begin());
    std::uint64_t before = 0;
    for (const std::uint64_t part : sizes_) {
      first_sample_.push_back(before);
      before += part;
    }
  }

  std::uint64_t sample_at(std::uint64_t position) const override {
    const unsigned __int128 absolute = first_ + position;
    const auto block = plan_of(static_cast<std::uint64_t>(absolute / block_));
    const auto within = static_cast<std::size_t>(absolute % block_);
    const std::uint32_t part = block->part[within];
    return sample_of(part, block->before[part] + block->number[within]);
  }

 private:
  struct Block {
    std::uint64_t index = 0;
    std::vector<std::uint64_t> before;        // by part: its samples in all earlier blocks
    std::vector<std::uint32_t> part, number;  // by position: the part, and the index among the part's samples in this block
  };

  // Blocks are computed as a whole and cached, because callers ask for consecutive positions.
  std::shared_ptr<const Block> plan_of(std::uint64_t index) const PENSTOCK_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    for (const auto& cached : cached_)
      if (cached && cached->index == index) return cached;
    auto& oldest = cached_[turn_++ % cached_.size()];
    oldest = std::make_shared<const Block>(make_block(index));
    return oldest;
  }

  // Gives each part its share of the positions, in random order. The samples of a part come in the part's own
  // order.
  Block make_block(std::uint64_t index) const {
    Block block;
    block.index = index;
    std::vector<std::uint32_t> by_slot;
    for (std::size_t part = 0; part < weights_.size(); ++part) {
      block.before.push_back(drawn(part, index));
      by_slot.resize(by_slot.size() + drawn(part, index + 1) - block.before.back(),
                     static_cast<std::uint32_t>(part));
    }
    const Permutation permutation(block_, derive_key(seed_, index, KeyPurpose::kMixture));
    std::vector<std::uint32_t> seen(weights_.size(), 0);
    for (std::uint64_t within = 0; within < block_; ++within) {
      const std::uint32_t part = by_slot[permutation(within)];
      block.part.push_back(part);
      block.number.push_back(seen[part]++);
    }
    return block;
  }

  // The samples of the part in all blocks before this one. The remainder of rounding goes to the part with
  // the largest weight; a block has more samples of that part than there are parts, so its count stays
  // positive.
  std::uint64_t drawn(std::size_t part, std::uint64_t block) const {
    const double positions = static_cast<double>(block) * static_cast<double>(block_);
    if (part != largest_) return static_cast<std::uint64_t>(std::floor(weights_[part] * positions));
    std::uint64_t others = 0;
    for (std::size_t i = 0; i < weights_.size(); ++i)
      if (i != part) others += drawn(i, block);
    return block * block_ - others;
  }

  std::uint64_t sample_of(std::size_t part, std::uint64_t number) const {
    const std::uint64_t pass = number / sizes_[part], within = number % sizes_[part];
    if (!shuffled_) return first_sample_[part] + within;
    return first_sample_[part] +
           Permutation(sizes_[part], derive_key(seed_, pass, KeyPurpose::kPart, part))(within);
  }

  bool shuffled_;
  std::uint64_t seed_;
  unsigned __int128 first_;
  std::vector<double> weights_;
  std::vector<std::uint64_t> sizes_, first_sample_;
  std::uint64_t block_;
  std::size_t largest_ = 0;
  mutable Mutex mutex_;
  // Two, because workers work across the boundary.
  mutable std::array<std::shared_ptr<const Block>, 2> cached_ PENSTOCK_GUARDED_BY(mutex_);
  mutable std::size_t turn_ PENSTOCK_GUARDED_BY(mutex_) = 0;
};

}  // namespace

std::unique_ptr<const EpochOrder> make_mixture_order(const OrderSpec& spec, std::uint64_t size,
                                                     std::uint64_t epoch) {
  return std::make_unique<MixtureOrder>(spec, size, epoch);
}

}  // namespace penstock
