// Passes values from their makers on to the batch. A value may have to wait for a Map over several fields; then it is
// delivered, and the fields that derive from it are made.
//
// Belongs to one worker thread. Plan, context and delivery are borrowed and outlive it.
#pragma once

#include <string_view>
#include <vector>

#include "plan/sample_plan.h"
#include "sample/delivery.h"
#include "transform/op.h"

namespace penstock {

class ValueFlow {
 public:
  ValueFlow(const SamplePlan& plan, Context& context, Delivery& delivery);

  // Takes the value of a field after the first part of its program has run.
  Status take(std::size_t field, const View& value) { return take_after(0, field, value); }
  Status take_text(std::size_t field, std::string_view text);
  // Called when all fields are made: runs the Maps over several fields.
  Status run_joint_maps();
  void end_sample();

  Delivery& delivery() { return delivery_; }

 private:
  // A value that waits for a Map.
  struct Waiting {
    MapValue value;
    View before;  // type and axes of an array before the Map; its memory is not used
  };

  // Takes the value of a field after part `part` of its program has run.
  Status take_after(std::size_t part, std::size_t field, const View& value);
  Status derive_from(std::size_t parent, const View& value);
  Status wait_for_map(std::size_t field, const View& value);
  Status continue_after(std::size_t joint_map, std::size_t field, MapValue value);

  const SamplePlan& plan_;
  Context& context_;
  Delivery& delivery_;
  std::vector<Waiting> waiting_;  // by field; empty where the plan has no such Map
};

}  // namespace penstock
