// The loader: batches of training samples, in order, under a memory budget.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "penstock/array.h"
#include "penstock/cache.h"
#include "penstock/result.h"
#include "penstock/source.h"
#include "penstock/stats.h"
#include "penstock/transform.h"

namespace penstock {

enum class ShuffleMode : std::uint8_t { kOff, kAuto, kFull, kWindow };
enum class OnError : std::uint8_t { kRaise, kSkip, kReplace };
// Samples of one shape are stacked; what varies is stacked too (and must not vary), padded to the
// largest of the batch, or handed over sample by sample.
enum class Collate : std::uint8_t { kStack, kPad, kList };
enum class BatchLayout : std::uint8_t { kNchw, kNhwc };

struct LoaderOptions {
  std::uint64_t batch_size = 1;                // per rank
  std::vector<std::string> fields;             // empty: the source's own, then derived ones
  std::map<std::string, std::string> renamed;  // name in transforms and batch -> field of the source
  std::vector<FieldTransform> transforms;      // at most one a field

  ShuffleMode shuffle = ShuffleMode::kOff;
  std::uint64_t shuffle_window = 0;  // storage units; 0: 16, or what the source suggests
  std::shared_ptr<const std::vector<std::uint64_t>> sampler;
  std::shared_ptr<const std::vector<double>> weights;
  std::uint64_t seed = 0;
  std::uint64_t epoch_size = 0;  // 0: all
  bool drop_last = false;

  std::uint32_t rank = 0, world_size = 1;
  unsigned threads = 0;  // 0: what affinity and cgroup allow, over local ranks
  std::uint32_t local_ranks = 1;
  std::uint64_t prefetch = 0;  // batches ahead; 0: by bytes
  // All that the loader holds, the cache's memory included. 0: a quarter of what is free, over local ranks,
  // besides the cache.
  std::uint64_t memory_bytes = 0;
  std::shared_ptr<Cache> cache;  // may serve other loaders too
  CacheForm cache_form = CacheForm::kAuto;

  OnError on_error = OnError::kRaise;
  double max_skip = 0.001;  // of an epoch; one bad sample is always allowed

  Collate collate = Collate::kStack;
  double pad_value = 0;
  // Batches of samples of like length, by a field's stored length (an integer field: its value) or
  // by these numbers, one a sample.
  std::string bucket_by;
  std::shared_ptr<const std::vector<std::uint64_t>> bucket_lengths;

  std::optional<DType> dtype;  // of images and arrays
  BatchLayout layout = BatchLayout::kNchw;
};

enum class BatchForm : std::uint8_t {
  kArray,  // one array, whose first axis counts the samples
  kTexts,  // text, JSON, bytes: a string a sample
  kList,   // an array a sample, each of its own shape
};

struct BatchField {
  std::string name;
  FieldKind kind = FieldKind::kArray;
  BatchForm form = BatchForm::kArray;
  ArraySpec spec;        // kList: the type, and -1 for each axis
  bool is_time = false;  // int64 nanoseconds since 1970
  void* data = nullptr;  // kArray; in the batch's memory
  std::vector<std::string> texts;
  struct Item {
    ArraySpec spec;
    void* data = nullptr;  // in the batch's memory
  };
  std::vector<Item> items;
};

// Belongs to whoever holds it; its memory goes back to the loader when the last copy of
// `memory` is gone, also after the loader itself.
struct Batch {
  std::vector<BatchField> fields;
  std::shared_ptr<void> memory;
  std::uint64_t size = 0;  // samples
};

// Where a run stands. Any loader with the same data, seed and order goes on from here, on any
// number of ranks and threads.
struct LoaderState {
  std::uint64_t fingerprint = 0;  // of the data
  std::uint64_t order = 0;        // of the order
  std::uint64_t list = 0;         // of the sampler's list, where there is one
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;
  std::uint64_t position = 0;  // samples delivered of this epoch, over all ranks
  std::uint64_t epoch_size = 0;
  std::uint64_t bucket_run = 0;  // samples of like length that stand together; 0: no bucketing
};

// Not thread-safe: one consumer. Its workers are its own.
class Loader {
 public:
  static Result<std::unique_ptr<Loader>> open(SourcePtr source, const LoaderOptions& options);
  virtual ~Loader() = default;

  // Starts the next epoch (the one after the last started, or the one set or loaded), dropping
  // what is left of the current one.
  virtual Status start_epoch() = 0;

  enum class Next : std::uint8_t { kBatch, kEnd, kPending };
  // Waits at most `patience` for the next batch; kPending where it is not there yet.
  virtual Result<Next> next(Batch& out, std::chrono::milliseconds patience) = 0;
  // Waits as long as it takes; nothing at the end of the epoch.
  Result<std::optional<Batch>> next();

  virtual std::uint64_t batches_per_epoch() const = 0;
  virtual void set_epoch(std::uint64_t epoch) = 0;
  // Another list of samples from the next epoch on.
  virtual Status set_sampler(std::shared_ptr<const std::vector<std::uint64_t>> indices) = 0;
  virtual LoaderState state() const = 0;
  virtual Status load_state(const LoaderState& state) = 0;
  virtual LoaderStats stats() const = 0;
  // The type and shape of one sample of each field, in batch order.
  virtual std::vector<BatchField> sample_fields() const = 0;
  virtual const Source& source() const = 0;
  // Stops the workers; what was delivered stays valid. Not from a worker (a Map), which cannot wait
  // for itself; neither may the destructor run there.
  virtual void close() = 0;
  static bool is_worker_thread();
};

}  // namespace penstock
