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
#include "penstock/device.h"
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
  Device device;         // where `data` and the data of `items` live
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
  std::uint64_t fingerprint = 0;  // of the data: keys and sizes
  std::uint64_t order = 0;        // of the order
  std::uint64_t list = 0;         // of the sampler's list, where there is one
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;
  std::uint64_t position = 0;  // samples delivered of this epoch, over all ranks
  std::uint64_t epoch_size = 0;
  std::uint64_t bucket_run = 0;  // samples of like length that stand together; 0: no bucketing
  std::uint64_t content = 0;     // of the bytes at a few places of the data; 0: they were not read
};

// What can change while a loader runs.
struct Tuning {
  unsigned threads = 1;
  std::uint64_t prefetch = 1;  // batches
};

// One pass over the data, or what is left of one. Epochs of a loader are independent of each other; all are
// served by its workers, within its memory. Destroying one gives its batches back at once.
//
// Thread-safe. May outlive its loader; then, as after Loader::close() and Loader::load_state(), next()
// fails and says why.
class Epoch {
 public:
  virtual ~Epoch() = default;

  virtual std::uint64_t number() const = 0;

  enum class Next : std::uint8_t { kBatch, kEnd, kPending };
  // Waits at most `patience` for the next batch; kPending where it is not there yet. An epoch that failed
  // fails again in the same way.
  virtual Result<Next> next(Batch& out, std::chrono::milliseconds patience) = 0;
  // Waits as long as it takes; nothing at the end of the epoch.
  Result<std::optional<Batch>> next();
  // As destroying it; next() fails from now on.
  virtual void close() = 0;
};

// Thread-safe. Its workers are its own.
//
//   auto loader = Loader::open(source, options);
//   if (!loader) return report(loader.error());
//   auto epoch = (*loader)->start_epoch();
//   if (!epoch) return report(epoch.error());
//   while (true) {
//     auto batch = (*epoch)->next();
//     if (!batch) return report(batch.error());
//     if (!*batch) break;
//     train(**batch);
//   }
class Loader {
 public:
  static Result<std::unique_ptr<Loader>> open(SourcePtr source, const LoaderOptions& options);
  virtual ~Loader() = default;

  // Starts the next epoch: the one after the last started, or the one set or loaded. Others go on beside it;
  // the memory for batches is divided among them. Fails, saying how much memory is needed, where there is
  // too little for one more.
  virtual Result<std::unique_ptr<Epoch>> start_epoch() = 0;

  virtual std::uint64_t batches_per_epoch() const = 0;
  // The next epoch to be started. Where a state of this epoch was loaded, it still goes on from there.
  virtual void set_epoch(std::uint64_t epoch) = 0;
  // Another list of samples from the next epoch on.
  virtual Status set_sampler(std::shared_ptr<const std::vector<std::uint64_t>> indices) = 0;
  // Another place among the ranks from the next epoch on, before which threads and memory are divided anew
  // as far as the options leave that to the loader. Epochs under way end with an error.
  virtual Status set_ranks(std::uint32_t rank, std::uint32_t world_size, std::uint32_t local_ranks) = 0;

  // How many workers work and how many batches are made ahead, from now on, also in epochs under way. The memory was
  // divided for the numbers that stats() said after opening: no more than those are possible, and at least 1. Returns
  // the numbers in force. Samples do not depend on them.
  virtual Tuning tune(const Tuning& wanted) = 0;

  // Reads a few places of the data, so that state() and load_state() can tell other content of the same
  // keys and sizes. Once is enough.
  virtual Status read_content() = 0;
  // Of the epoch that delivered last.
  virtual LoaderState state() const = 0;
  // Epochs under way end with an error. Content is compared where both sides know it.
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
