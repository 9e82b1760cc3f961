// The plan of a sample: its fields, where each comes from, and the steps that are applied to it.
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

// The plan of one field.
struct FieldPlan {
  std::string name;
  FieldKind kind = FieldKind::kImage;
  FieldForm form = FieldForm::kFile;
  int source_field = -1;  // index in the source; -1: derived, or the key
  int derive_from = -1;   // index in the plan of the field that this one starts from; -1: none
  bool is_key = false;
  bool is_delivered = true;  // false: only other fields or a Map need it
  std::uint32_t view = 0;    // its index among the outputs of its stored field (Draws::select_view())
  Program program;
  std::vector<std::size_t> joint_maps;  // indexes in SamplePlan::joint_maps, in the order in which they run

  bool is_chunked() const { return source_field >= 0 && form == FieldForm::kChunks; }
  bool is_picture() const { return kind == FieldKind::kImage || kind == FieldKind::kMask; }
  // Whether its pixels after the leading steps, which draw nothing at random, can be cached for all epochs.
  bool has_lasting_pixels() const { return source_field >= 0 && is_picture() && program.can_be_cut(); }
};

// A Map over several fields. It runs once all these fields have done their steps before it.
struct JointMap {
  std::shared_ptr<const Map::Function> function;
  std::vector<std::size_t> fields;  // indexes in the plan, in the order of the function's arguments
};

struct SamplePlan {
  SourcePtr source;
  std::vector<FieldPlan> fields;     // a derived field comes after its parent
  std::vector<JointMap> joint_maps;  // in the order in which they run
  std::vector<int> delivered_as;     // by field: index in the batch; -1 if it is not delivered
  std::int64_t opened_at_ns = 0;     // wall clock; tells a stale index from a file that changed while in use
  std::uint64_t seed = 0;
  std::size_t max_open_objects = 16;  // per worker
};

// The fields of the source that the plan reads, each listed once.
std::vector<std::size_t> stored_fields(const SamplePlan& plan);

}  // namespace penstock
