// One sample from its place in the source to its slot in the batch: the stages, joined in order.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/stats.h"
#include "batch/slot_layout.h"
#include "decode/image.h"
#include "penstock/source.h"
#include "store/store.h"
#include "transform/program.h"

namespace penstock {

// What becomes of each field of the batch. Immutable, shared by all workers.
struct FieldPlan {
  std::string name;
  FieldKind kind = FieldKind::kImage;
  int source_field = -1;  // -1: derived, or the key
  int derive_from = -1;   // the batch field that this one starts from
  bool is_key = false;
  bool is_delivered = true;  // false: only there for others to derive from
  Program program;
};

struct SamplePlan {
  SourcePtr source;
  std::vector<FieldPlan> fields;  // a derived field stands after the one it derives from
  std::vector<int> delivered_as;  // index in the batch, -1 where it is not delivered
  std::int64_t opened_at_ns = 0;  // wall clock, to tell a stale index from a file changed in use
  std::uint64_t seed = 0;
};

// Belongs to one thread.
class SampleWorker {
 public:
  SampleWorker(const SamplePlan& plan, ScratchBudget& budget, WorkerCounters& counters);

  // Fills slot `index` of the block (and `texts`) with the sample; errors name it.
  Status fill(std::uint64_t epoch, std::uint64_t position, std::uint64_t sample, const SlotLayout& layout,
              std::byte* block, std::vector<std::vector<std::string>>& texts, std::uint64_t index);

  // The type and shape each delivered field of this sample would have in a batch.
  Result<std::vector<ArraySpec>> measure(std::uint64_t sample);

 private:
  struct Target {
    const SlotLayout* layout = nullptr;  // nullptr: only measure
    std::byte* block = nullptr;
    std::vector<std::vector<std::string>>* texts = nullptr;
    std::uint64_t index = 0;
    std::vector<ArraySpec>* measured = nullptr;
  };

  Status make_sample(std::uint64_t sample, const Target& target);
  Status make_field(std::size_t field, std::uint64_t sample, const Target& target, View& value);
  Status make_derived(std::size_t parent, const View& value, const Target& target);
  Status deliver(std::size_t field, const View& value, const Target& target);

  Result<View> load_image(const FieldPlan& field, std::uint64_t sample);
  Result<View> load_array(const FieldPlan& field, std::uint64_t sample);
  // Reads an array that needs no work straight into its slot; false where it does need work.
  Result<bool> read_in_place(std::size_t field, std::uint64_t sample, const Target& target);

  Result<Object*> open(const Extent& extent);
  Status check_unchanged(const Object& object) const;
  Result<ConstBytes> read_encoded(const Extent& extent, Object& object);
  Result<View> parse_npy(ConstBytes file);

  const SamplePlan& plan_;
  Scratch scratch_;
  StageClock clock_;
  Context context_;
  ImageDecoder decoder_;
  std::unordered_map<std::string, std::unique_ptr<Object>> shared_objects_;
  std::unique_ptr<Object> object_;  // the one that only this sample needs
  std::vector<std::byte> header_;
  std::int64_t label_ = 0;
  Where where_;  // of the field being made
};

}  // namespace penstock
