// The order of an epoch: maps positions to samples, as a pure function of (seed, epoch, position).
//
// It never depends on threads, ranks, the cache or timing. Ranks and resumed runs take slices of it
// (rank_slice.h). Thread-safe: the results of an order never change; some orders cache parts of them under a lock.
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
  kWindow,  // storage units (chunks, shards, ranges of rows) are permuted, then samples within windows of units
};

struct OrderSpec {
  std::uint64_t samples = 0;     // number of samples in the source
  std::uint64_t epoch_size = 0;  // positions per epoch; 0: one pass over the samples
  Shuffle shuffle = Shuffle::kNone;
  std::uint64_t seed = 0;
  std::uint64_t unit_samples = 1;             // samples per storage unit (kWindow)
  std::uint64_t window_units = 16;            // units per window (kWindow)
  std::shared_ptr<const StorageUnits> units;  // set if units differ in size or can only be read forward
  // At most one of the two is set. `indices` lists the samples of a pass; with `weights`, samples are drawn
  // by weight with replacement.
  std::shared_ptr<const std::vector<std::uint64_t>> indices;
  std::shared_ptr<const std::vector<double>> weights;
  // Set if the source is a mixture: its parts are chosen by weight, and each part has passes of its own.
  std::optional<Mixture> mixture;
  // Set if the source draws its samples at random (drawn_order.h). Borrowed from the source.
  const SampleDraws* draws = nullptr;
  // Set for bucketing: samples of similar length form runs of `bucket_run` (bucket_order.h).
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

// Fails if an index is beyond the source, a weight is negative or not finite, or the sum of the weights is
// zero.
Status check_order(const OrderSpec& spec);

// `spec` has passed check_order.
std::unique_ptr<const EpochOrder> make_epoch_order(const OrderSpec& spec, std::uint64_t epoch);

// Hashes by which a resumed run recognises its order: one of the description of the order (without the
// epoch), and one of the sampler's list (0 without a sampler), which may differ from epoch to epoch.
std::uint64_t order_fingerprint(const OrderSpec& spec);
std::uint64_t list_fingerprint(const OrderSpec& spec);

}  // namespace penstock
