// Which sample stands at position p of epoch e: a pure function of (seed, epoch, position).
//
// It never depends on threads, ranks, cache or timing; ranks and resumption are slices of it
// (rank_slice.h). Immutable once built; thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "penstock/result.h"
#include "penstock/source.h"
#include "source/mixture.h"
#include "source/storage_units.h"

namespace penstock {

enum class Shuffle : std::uint8_t {
  kNone,    // the source's own order
  kFull,    // a permutation of all samples
  kWindow,  // units (chunks, shards, runs of rows) permuted, then samples within windows of units
};

struct OrderSpec {
  std::uint64_t samples = 0;     // in the source
  std::uint64_t epoch_size = 0;  // positions in an epoch; 0: one pass over what is drawn from
  Shuffle shuffle = Shuffle::kNone;
  std::uint64_t seed = 0;
  std::uint64_t unit_samples = 1;             // samples a storage unit (kWindow)
  std::uint64_t window_units = 16;            // units a window (kWindow)
  std::shared_ptr<const StorageUnits> units;  // where they differ in size or can only be read forward
  // At most one of the two: positions name entries of a list, or are drawn by weight with
  // replacement.
  std::shared_ptr<const std::vector<std::uint64_t>> indices;
  std::shared_ptr<const std::vector<double>> weights;
  // The source is a mixture: its parts are drawn from by weight, each gone through by itself.
  std::optional<Mixture> mixture;
  // Samples are drawn, not gone through. Borrowed from the source.
  const SampleDraws* draws = nullptr;
  // Samples of like length are brought together in runs of `bucket_run`, within windows.
  std::shared_ptr<const std::vector<std::uint64_t>> lengths;
  std::uint64_t bucket_run = 0;
};

class EpochOrder {
 public:
  virtual ~EpochOrder() = default;
  virtual std::uint64_t sample_at(std::uint64_t position) const = 0;  // position < size()
  std::uint64_t size() const { return size_; }

 protected:
  explicit EpochOrder(std::uint64_t size) : size_(size) {}

 private:
  std::uint64_t size_;
};

// Fails on an index beyond the source, a weight that is negative or not finite, or weights that
// sum to nothing.
Status check_order(const OrderSpec& spec);

// `spec` has passed check_order.
std::unique_ptr<const EpochOrder> make_epoch_order(const OrderSpec& spec, std::uint64_t epoch);

// What resuming must agree on: a hash of the order's description (not of the epoch), and one of the
// sampler's list, which another epoch may draw anew (0 where there is none).
std::uint64_t order_fingerprint(const OrderSpec& spec);
std::uint64_t list_fingerprint(const OrderSpec& spec);

}  // namespace penstock
