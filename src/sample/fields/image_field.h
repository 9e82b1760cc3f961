// A field that is an encoded image or mask.
#pragma once

#include "sample/field_maker.h"

namespace penstock {

class ImageField : public FieldMaker {
 public:
  static bool applies(const FieldSetup& setup, std::size_t field);
  ImageField(const FieldSetup& setup, std::size_t field) : setup_(setup), field_(field) {}

  Status make(const SampleTask& task) override;
  Status measure(const SampleTask& task, UnitCost& cost) override;

 protected:
  // Returns the pixels after the first part of the field's program.
  virtual Result<View> load(const SampleTask& task);

  const FieldPlan& field() const { return setup_.plan.fields[field_]; }
  FieldRead read_of(const SampleTask& task) const { return {field(), field_, task.position, task.sample}; }
  Result<View> decode(ConstBytes encoded) const {
    return field().program.run_image(encoded, setup_.decoder, setup_.context);
  }

  const FieldSetup setup_;
  const std::size_t field_;
};

}  // namespace penstock
