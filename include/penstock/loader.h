// The loader makes batches of training samples from a source: in a reproducible order, ahead of the training
// step, and within a memory budget.
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

// kOff keeps the order of the source. kFull permutes all samples. kWindow permutes storage units (shards,
// chunks), then samples within windows of units, which reads each unit once. kAuto is kWindow if samples
// share storage units, else kFull.
enum class ShuffleMode : std::uint8_t { kOff, kAuto, kFull, kWindow };
// The policy for bad samples: end the epoch with an error, leave the sample out, or deliver another one
// instead.
enum class OnError : std::uint8_t { kRaise, kSkip, kReplace };
// How fields are delivered whose shape varies between samples. kStack: a sample of another shape is an error. kPad:
// samples are padded to the largest shape in the batch. kList: each sample is delivered as a separate array. Fields
// whose samples all have one shape are always stacked.
enum class Collate : std::uint8_t { kStack, kPad, kList };
enum class BatchLayout : std::uint8_t { kNchw, kNhwc };

// The options of a loader: a plain value. For a number, 0 means that the loader chooses it. Loader::open() checks the
// options, alone and against the source, and its error names the option.
//
//   LoaderOptions options;
//   options.batch_size = 64;
//   options.shuffle = ShuffleMode::kAuto;
//   options.transforms = {{"image", {RandomResizedCrop{224, 224}, RandomHorizontalFlip{}}, ""}};
struct LoaderOptions {
  std::uint64_t batch_size = 1;                // samples per batch and rank
  std::vector<std::string> fields;             // delivered fields; empty: those of the source, then derived ones
  std::map<std::string, std::string> renamed;  // name in transforms and batch -> field of the source
  std::vector<FieldTransform> transforms;      // at most one per field

  ShuffleMode shuffle = ShuffleMode::kOff;
  std::uint64_t shuffle_window = 0;  // storage units per window; 0: what the source suggests, else 16
  // At most one of the two. `sampler` lists the samples of an epoch; `weights` has one weight per sample, by
  // which samples are drawn with replacement.
  std::shared_ptr<const std::vector<std::uint64_t>> sampler;
  std::shared_ptr<const std::vector<double>> weights;
  std::uint64_t seed = 0;
  std::uint64_t epoch_size = 0;  // samples per epoch over all ranks; 0: all samples once
  bool drop_last = false;

  std::uint32_t rank = 0, world_size = 1;
  unsigned threads = 0;  // 0: the cores that affinity and cgroup allow, divided by local_ranks
  std::uint32_t local_ranks = 1;
  std::uint64_t prefetch = 0;  // batches that are made ahead; 0: as many as the memory budget allows
  // Upper bound for everything that the loader holds, the cache's memory included. 0: a quarter of the free
  // memory divided by local_ranks, in addition to the cache.
  std::uint64_t memory_bytes = 0;
  std::shared_ptr<Cache> cache;  // may be shared with other loaders
  CacheForm cache_form = CacheForm::kAuto;

  OnError on_error = OnError::kRaise;
  double max_skip = 0.001;  // share of an epoch that may be bad; one bad sample is always allowed

  Collate collate = Collate::kStack;
  double pad_value = 0;
  // Puts samples of similar length into the same batches, so that kPad pads little. The length of a sample is
  // the stored length of the field `bucket_by` (of an integer field, its value), or its entry in
  // `bucket_lengths`.
  std::string bucket_by;
  std::shared_ptr<const std::vector<std::uint64_t>> bucket_lengths;

  std::optional<DType> dtype;  // element type of images and arrays in the batch; empty: as the transforms leave it
  BatchLayout layout = BatchLayout::kNchw;
};

// How the values of a field are delivered.
enum class BatchForm : std::uint8_t {
  kArray,  // one array, whose first axis counts the samples
  kTexts,  // text, JSON or bytes: one string per sample
  kList,   // one array per sample, each with its own shape
};

// One field of a batch. Its arrays are in the memory that Batch::memory keeps alive.
struct BatchField {
  std::string name;
  FieldKind kind = FieldKind::kArray;
  BatchForm form = BatchForm::kArray;
  ArraySpec spec;        // kArray: of `data`; kList: the type, and -1 for each axis
  bool is_time = false;  // int64 nanoseconds since 1970
  void* data = nullptr;  // kArray only
  Device device;         // where `data` and the data of `items` live
  std::vector<std::string> texts;  // kTexts only
  struct Item {
    ArraySpec spec;
    void* data = nullptr;
  };
  std::vector<Item> items;  // kList only
};

// A batch belongs to the caller that received it. Its memory returns to the loader when the last copy of `memory` is
// destroyed. That may happen on any thread, also after the loader was destroyed.
//
//   for (const BatchField& field : batch.fields)
//     if (field.form == BatchForm::kArray) copy_to_device(field.name, field.spec, field.data);
struct Batch {
  std::vector<BatchField> fields;
  std::shared_ptr<void> memory;
  std::uint64_t size = 0;  // samples
};

// The position of a training run, for checkpoints. Any loader with the same data, seed and order continues
// from here, on any number of ranks and threads. A plain value; all members are numbers, so that it can be
// stored in any format.
//
//   const LoaderState saved = (*loader)->state();
//   // In the next run, before start_epoch():
//   if (auto loaded = (*loader)->load_state(saved); !loaded) return report(loaded.error());
struct LoaderState {
  std::uint64_t fingerprint = 0;  // hash of the keys and sizes of the data
  std::uint64_t order = 0;        // hash of the options that determine the order
  std::uint64_t list = 0;         // hash of the sampler's list; 0 without a sampler
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;
  std::uint64_t position = 0;  // samples of this epoch that were delivered, over all ranks
  std::uint64_t epoch_size = 0;
  std::uint64_t bucket_run = 0;  // consecutive samples of similar length; 0: no bucketing
  std::uint64_t content = 0;     // hash of a few bytes of the data; 0: read_content() was not called
};

// The settings that can change while a loader runs.
struct Tuning {
  unsigned threads = 1;
  std::uint64_t prefetch = 1;  // batches that are made ahead
};

// An Epoch is one pass over the data, or the rest of one. The epochs of a loader are independent of each
// other; the loader's workers serve all of them, within the loader's memory budget. Destroying an Epoch frees
// the batches that it has made ahead.
//
// The caller owns it. Thread-safe. It may outlive its loader; next() then fails and says why, as it does
// after Loader::close() and Loader::load_state().
class Epoch {
 public:
  virtual ~Epoch() = default;

  virtual std::uint64_t number() const = 0;  // the first epoch of a loader has number 0

  enum class Next : std::uint8_t { kBatch, kEnd, kPending };
  // Waits at most `patience` for the next batch and returns kPending if it is not ready by then. Only kBatch
  // changes `out`. Several threads may call it: each batch goes to one of them. Once an epoch has failed,
  // every further call fails with the same error; after its end, every further call returns kEnd.
  virtual Result<Next> next(Batch& out, std::chrono::milliseconds patience) = 0;
  // Waits for the next batch without a limit. Returns an empty optional at the end of the epoch.
  Result<std::optional<Batch>> next();
  // Frees the batches that were made ahead; next() fails from now on. Batches that were delivered stay valid. An
  // epoch that is already over does not change.
  virtual void close() = 0;
};

// A Loader reads, decodes and transforms the samples of one source on threads of its own, and delivers them
// in batches. The samples and their order depend only on the source, the options, the seed and the epoch,
// never on threads or timing.
//
// Thread-safe. The caller owns the Loader; the Loader shares ownership of the source and the cache. open()
// fails if the options do not fit the source or the memory budget is too small. Later errors are those of
// samples; Epoch::next() returns them unless LoaderOptions::on_error says otherwise.
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
  virtual ~Loader() = default;  // does what close() does

  // Starts the next epoch: the one after the last that was started, or the one that set_epoch() or
  // load_state() chose. Epochs that were started before go on, and the memory for batches is divided among
  // all of them. If there is too little memory for one more, it fails, and the error says how much is needed.
  virtual Result<std::unique_ptr<Epoch>> start_epoch() = 0;

  // Returns the number of batches that a whole epoch delivers to this rank.
  virtual std::uint64_t batches_per_epoch() const = 0;
  // Chooses the epoch that start_epoch() starts next. If load_state() has loaded a position within that
  // epoch, the epoch still continues from there.
  virtual void set_epoch(std::uint64_t epoch) = 0;
  // Replaces the list of samples, from the next epoch on. Fails with kInvalidArgument, and changes nothing, if a
  // number is not below the size of the source, or if the options exclude a list.
  virtual Status set_sampler(std::shared_ptr<const std::vector<std::uint64_t>> indices) = 0;
  // Replaces rank, world size and local ranks from the next epoch on. Threads and memory are divided anew,
  // unless the options fix them. Running epochs end with an error; if nothing is different, they go on. Fails with
  // kInvalidArgument if `rank` is not below `world_size`.
  virtual Status set_ranks(std::uint32_t rank, std::uint32_t world_size, std::uint32_t local_ranks) = 0;

  // Changes the numbers of working threads and of batches that are made ahead, also for running epochs. Each
  // is clamped to between 1 and the number that stats() reports after opening, for which the memory was
  // divided. Returns the numbers now in force. Samples do not depend on them.
  virtual Tuning tune(const Tuning& wanted) = 0;

  // Reads a few bytes of the data, so that state() and load_state() notice other content with the same keys
  // and sizes. One call per loader is enough. Fails if the data cannot be read.
  virtual Status read_content() = 0;
  // Returns the position of the epoch that delivered a batch last.
  virtual LoaderState state() const = 0;
  // Continues from `state` with the next start_epoch(). Fails, and changes nothing, if the state is of other
  // data or of another order. The content is compared only if both sides know it. Running epochs end with an
  // error.
  virtual Status load_state(const LoaderState& state) = 0;
  // Returns what the loader has counted up to now, over all epochs. It may be called at any time, also after close().
  virtual LoaderStats stats() const = 0;
  // Returns the type and shape of one sample of each field, in the order of the batch.
  virtual std::vector<BatchField> sample_fields() const = 0;
  virtual const Source& source() const = 0;  // borrowed from the loader
  // Stops the workers and waits for them; delivered batches stay valid. Neither close() nor the destructor may run
  // on a worker thread (in a Map), because a worker cannot wait for itself.
  virtual void close() = 0;
  static bool is_worker_thread();  // whether the calling thread is a worker of any loader
};

// Which part of a parallel job this process is. A plain value.
//
//   const RankInfo ranks = ranks_from_environment();
//   options.rank = ranks.rank;
//   options.world_size = ranks.world_size;
//   options.local_ranks = ranks.local_ranks;
struct RankInfo {
  std::uint32_t rank = 0;
  std::uint32_t world_size = 1;
  std::uint32_t local_ranks = 1;  // ranks on this machine, this one included
  std::string found_by = "none";  // "torchrun", "srun step", "mpi", "none"
};

// Reads the environment variables of torchrun, else those of an srun step, else those of MPI; without any of
// them the job has one rank. It reads SLURM_STEP_NUM_TASKS and not SLURM_NTASKS, because a Slurm allocation
// alone (sbatch without srun) is a single process. Never fails. May be called from any thread as long as none
// changes the environment.
RankInfo ranks_from_environment();

}  // namespace penstock
