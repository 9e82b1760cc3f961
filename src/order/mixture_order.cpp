#include "order/mixture_order.h"

#include <algorithm>
#include <cmath>

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
    const unsigned __int128 place = first_ + position;
    const auto block = static_cast<std::uint64_t>(place / block_);
    const auto within = static_cast<std::uint64_t>(place % block_);
    const Permutation permutation(block_, derive_key(seed_, block, KeyPurpose::kMixture));
    Drawn found = find(block, permutation(within));
    // Unshuffled, a part's samples come in its own order: the first of them at its first place.
    if (!shuffled_) {
      found.number = 0;
      for (std::uint64_t before = 0; before < within; ++before)
        found.number += find(block, permutation(before)).part == found.part;
    }
    return sample_of(found.part, drawn(found.part, block) + found.number);
  }

 private:
  struct Drawn {
    std::size_t part;
    std::uint64_t number;  // of the part's samples in this block
  };

  // A block's slots belong to the parts one after another.
  Drawn find(std::uint64_t block, std::uint64_t slot) const {
    for (std::size_t part = 0;; ++part) {
      const std::uint64_t here = drawn(part, block + 1) - drawn(part, block);
      if (slot < here || part + 1 == weights_.size()) return {part, slot};
      slot -= here;
    }
  }

  // Samples of the part in all blocks before this one. What rounding leaves over goes to the part
  // with the largest weight, which a block has more of than there are parts.
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
};

}  // namespace

std::unique_ptr<const EpochOrder> make_mixture_order(const OrderSpec& spec, std::uint64_t size,
                                                     std::uint64_t epoch) {
  return std::make_unique<MixtureOrder>(spec, size, epoch);
}

}  // namespace penstock
