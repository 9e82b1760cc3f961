// The plan of a sample: which fields it has, where each comes from, and what is done to it.
//
// It is made once, when the loader opens, and is constant afterwards, so that all threads may read it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "penstock/source.h"
#include "transform/program.h"

namespace penstock {

// What becomes of each field of the batch. Immutable, shared by all workers.
struct FieldPlan {
  std::string name;
  FieldKind kind = FieldKind::kImage;
  FieldForm form = FieldForm::kFile;
  int source_field = -1;  // -1: derived, or the key
  int derive_from = -1;   // the batch field that this one starts from
  bool is_key = false;
  bool is_delivered = true;  // false: only there for others to derive from, or for a Map
  std::uint32_t view = 0;    // its number among the outputs of its stored field: see Draws::select_view()
  Program program;
  std::vector<std::size_t> joint_maps;  // of the plan's, in the order in which they run

  bool is_chunked() const { return source_field >= 0 && form == FieldForm::kChunks; }
  bool is_picture() const { return kind == FieldKind::kImage || kind == FieldKind::kMask; }
  // Whether pixels of it can be kept that every epoch begins with.
  bool has_lasting_pixels() const { return source_field >= 0 && is_picture() && program.can_be_cut(); }
};

// A Map over several fields. It runs once the steps before it of all of them are done.
struct JointMap {
  std::shared_ptr<const Map::Function> function;
  std::vector<std::size_t> fields;  // of the plan, in the order of the function's arguments
};

struct SamplePlan {
  SourcePtr source;
  std::vector<FieldPlan> fields;     // a derived field stands after the one it derives from
  std::vector<JointMap> joint_maps;  // in the order in which they run
  std::vector<int> delivered_as;     // index in the batch, -1 where it is not delivered
  std::int64_t opened_at_ns = 0;     // wall clock, to tell a stale index from a file changed in use
  std::uint64_t seed = 0;
  std::size_t max_open_objects = 16;  // by each worker
};

// The fields of the source that are read, each once.
std::vector<std::size_t> stored_fields(const SamplePlan& plan);

}  // namespace penstock
