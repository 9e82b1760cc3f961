// One sample from its place in the source to its slot in the batch: the stages, joined in order.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/stats.h"
#include "batch/batch_contents.h"
#include "batch/slot_layout.h"
#include "decode/image/image.h"
#include "penstock/source.h"
#include "sample/chunk_assembler.h"
#include "fetch/sample_cache.h"
#include "fetch/sample_reader.h"
#include "plan/sample_plan.h"
#include "source/opened_record.h"
#include "transform/program.h"

namespace penstock {

// What one storage unit (a sample, or a chunk that samples share) takes and costs, as stored and decoded.
struct UnitCost {
  double read_seconds = 0, decode_seconds = 0;
  double encoded_bytes = 0, decoded_bytes = 0;
};

// The part of a loader's memory that looking at a few samples may take, before the workers divide it.
struct ProbeMemory {
  Ledger& ledger;
  std::uint64_t bytes = 0;
};

// A batch that samples are made into.
struct BatchTarget {
  const SlotLayout& layout;
  BatchContents& contents;
  VariableMemory& room;
};

// Belongs to one thread.
class SampleWorker {
 public:
  SampleWorker(const SamplePlan& plan, ScratchBudget& budget, WorkerCounters& counters,
               const SharedReads& shared = {});

  // From here on samples are those of another epoch.
  void read_through(const SharedReads& shared);

  // Makes the sample at place `index` of the batch. Errors name it. False: there is no room for it
  // while other batches stand before this one; nothing of it was kept.
  Result<bool> fill(std::uint64_t epoch, std::uint64_t position, std::uint64_t sample,
                    const BatchTarget& batch, std::uint64_t index);

  // The last fill() failed because the batch as a whole takes too much, not because of this sample.
  bool is_batch_too_large() const { return is_batch_too_large_; }

  // What each field of this sample would be in a batch.
  struct Measured {
    FieldKind kind = FieldKind::kArray;  // a Map may have made a text into numbers
    ArraySpec spec;                      // of numbers
  };
  Result<std::vector<Measured>> measure(std::uint64_t sample);

  // What reading and decoding takes: of all that is stored of the sample, or, where it is made of chunks, of
  // one of them.
  Result<UnitCost> measure_unit(std::uint64_t sample);

  // Makes the sample and shows each field's value: a view of numbers, or text.
  struct Seen {
    std::size_t field;
    const View* view;  // nullptr: text
    std::string_view text;
  };
  using Look = std::function<void(const Seen&)>;
  Status look_at(std::uint64_t sample, const Look& look);

 private:
  struct Target {
    const BatchTarget* batch = nullptr;  // nullptr: only measure or look
    std::uint64_t index = 0;
    std::vector<Measured>* measured = nullptr;
    const Look* look = nullptr;
  };

  Status make_sample(std::uint64_t position, std::uint64_t sample, const Target& target);
  void end_sample();
  Status make_fields(std::uint64_t position, std::uint64_t sample, const Target& target);
  Status make_field(std::size_t field, std::uint64_t sample, const Target& target);
  // All chunked fields together: straight into their slots, or into scratch where more is to be done.
  Status make_chunked(std::uint64_t position, std::uint64_t sample, const Target& target);
  // Where their elements go. `room` gives memory for fields that do not go straight to their slots.
  using Room = std::function<Result<std::byte*>(std::size_t bytes)>;
  Status aim(std::uint64_t sample, const Target& target, const Room& room, SampleBoxes& out);
  Result<bool> aim_at_slot(std::size_t field, const ArrayLayout& stored, const Target& target,
                           ChunkTarget& out);
  // The sample itself, as other workers see it.
  Result<OpenSamplePtr> open_own(std::uint64_t position, std::uint64_t sample, const Target& target);
  // One that nobody has begun with; nullptr where that is not possible.
  OpenSamplePtr open_other(const SampleUse& use);
  Status make_derived(std::size_t parent, const View& value, const Target& target);
  // Part `part` of the field's program is done: the value waits for the Map that follows, or is delivered
  // and others derive from it.
  Status hand_on(std::size_t field, std::size_t part, const View& value, const Target& target);
  Status hand_on_text(std::size_t field, std::string_view text, const Target& target);
  Status put_aside(std::size_t field, const View& value);
  Status run_joint_maps(const Target& target);
  Status go_on_after(std::size_t joint_map, std::size_t field, MapValue value, const Target& target);
  // From the index, from a record, from a file, from bare elements.
  Result<View> load(std::size_t field, std::uint64_t sample);
  Result<View> load_image(const FieldPlan& field, std::uint64_t sample);
  Result<View> decode_and_keep(const FieldPlan& field, std::uint64_t sample,
                               const SampleCache::Subject& subject);
  Result<View> decode(const FieldPlan& field, const RecordValue& found);
  std::unexpected<Error> place_error(Error error) const;
  // As stored: from the cache, or read and kept there.
  Result<RecordValue> find_bytes(const FieldPlan& field, std::uint64_t sample);
  Result<RecordValue> read_bytes(const FieldPlan& field, std::uint64_t sample);
  std::size_t number_of(const FieldPlan& field) const {
    return static_cast<std::size_t>(&field - plan_.fields.data());
  }
  std::optional<SampleCache::Value> find_cached(const SampleCache::Subject& subject);
  Status deliver(std::size_t field, const View& value, const Target& target);
  Status deliver_text(std::size_t field, FieldKind kind, std::string_view text, const Target& target);
  Status keep_part(std::size_t field, const View& value, const Target& target);
  Status take_room(const BatchTarget& batch, std::uint64_t bytes);
  void drop_parts(const Target& target);
  // Reads an array that needs no work straight into its slot; false where it does need work.
  Result<bool> read_in_place(std::size_t field, std::uint64_t sample, const Target& target);

  const SamplePlan& plan_;
  Scratch scratch_;
  StageClock clock_;
  Context context_;
  ImageDecoder decoder_;
  SharedReads shared_;
  SampleReader reader_;
  const CacheTier::Room cached_value_allocator_;
  std::vector<std::size_t> chunked_fields_;  // of the plan
  std::unique_ptr<ChunkAssembler> chunks_;
  OpenSamplePtr own_;                    // the sample being made; used again where nobody else has it
  const BatchTarget* batch_ = nullptr;   // of the sample being made, and its epoch
  std::uint64_t epoch_ = 0;
  OpenedRecord record_;             // of this sample; empty: not opened yet
  std::uint64_t record_is_of_ = 0;  // which of the reader's reads
  // By field: what waits for a Map over several fields.
  struct PutAside {
    MapValue value;
    View before;  // of an array, as it was before the Map: its axes, not its memory
  };
  std::vector<PutAside> put_aside_;
  std::vector<std::byte> header_;
  std::int64_t integer_ = 0;
  std::vector<std::int64_t> integers_;
  double real_ = 0;
  float short_real_ = 0;
  std::uint64_t room_taken_ = 0;  // by this sample
  bool is_too_early_ = false;     // no room yet
  bool is_batch_too_large_ = false;
  std::shared_ptr<const void> held_;  // by the cache, for the field being made
  Where where_;                       // of the field being made
};

}  // namespace penstock
