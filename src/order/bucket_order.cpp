#include "order/bucket_order.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "base/guarded.h"
#include "order/pass.h"
#include "order/permutation.h"

namespace penstock {
namespace {

class BucketOrder final : public EpochOrder {
 public:
  BucketOrder(std::unique_ptr<const EpochOrder> inner, const OrderSpec& spec, std::uint64_t epoch)
      : EpochOrder(inner->size()),
        inner_(std::move(inner)),
        lengths_(spec.lengths),
        run_(spec.bucket_run),
        window_(spec.bucket_run * kRunsPerWindow),
        seed_(spec.seed),
        epoch_(epoch) {}

  std::uint64_t sample_at(std::uint64_t position) const override {
    const std::uint64_t number = position / window_;
    return inner_->sample_at(number * window_ + (*sorted_window(number))[position - number * window_]);
  }

 private:
  using Window = std::vector<std::uint32_t>;  // offsets from the window's first position

  // Sorted windows are cached, because callers ask for consecutive positions.
  std::shared_ptr<const Window> sorted_window(std::uint64_t number) const PENSTOCK_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    for (const CachedWindow& cached : cached_)
      if (cached.window && cached.number == number) return cached.window;
    CachedWindow& oldest = cached_[turn_++ % cached_.size()];
    oldest = {number, std::make_shared<const Window>(sort_window(number))};
    return oldest.window;
  }

  Window sort_window(std::uint64_t number) const {
    const std::uint64_t begin = number * window_, count = std::min(window_, size() - begin);
    std::vector<std::uint64_t> length(count);
    for (std::uint64_t i = 0; i < count; ++i) length[i] = (*lengths_)[inner_->sample_at(begin + i)];
    // The samples at the end of the epoch that do not fill a run stay last and are not sorted. Otherwise
    // drop_last would always drop the longest ones.
    const std::uint64_t runs = count / run_;
    Window sorted(count);
    std::iota(sorted.begin(), sorted.end(), 0u);
    const auto end = sorted.begin() + static_cast<std::ptrdiff_t>(runs * run_);
    std::ranges::stable_sort(sorted.begin(), end, {}, [&](std::uint32_t i) { return length[i]; });
    if (runs == 0) return sorted;
    const Permutation order(runs, derive_key(seed_, epoch_, KeyPurpose::kRuns, number));
    Window out;
    out.reserve(count);
    for (std::uint64_t i = 0; i < runs; ++i) {
      const auto first = sorted.begin() + static_cast<std::ptrdiff_t>(order(i) * run_);
      out.insert(out.end(), first, first + static_cast<std::ptrdiff_t>(run_));
    }
    out.insert(out.end(), end, sorted.end());
    return out;
  }

  struct CachedWindow {
    std::uint64_t number = 0;
    std::shared_ptr<const Window> window;
  };

  std::unique_ptr<const EpochOrder> inner_;
  std::shared_ptr<const std::vector<std::uint64_t>> lengths_;
  std::uint64_t run_, window_, seed_, epoch_;
  mutable Mutex mutex_;
  // Two, because workers work across the boundary of two windows.
  mutable std::array<CachedWindow, 2> cached_ PENSTOCK_GUARDED_BY(mutex_);
  mutable std::size_t turn_ PENSTOCK_GUARDED_BY(mutex_) = 0;
};

}  // namespace

std::unique_ptr<const EpochOrder> make_bucket_order(std::unique_ptr<const EpochOrder> inner,
                                                    const OrderSpec& spec, std::uint64_t epoch) {
  return std::make_unique<BucketOrder>(std::move(inner), spec, epoch);
}

}  // namespace penstock
