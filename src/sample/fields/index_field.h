// A field whose values the index of the source holds: labels, numbers and texts of tables, and the keys of samples.
#pragma once

#include "sample/field_maker.h"

namespace penstock {

class IndexField final : public FieldMaker {
 public:
  static bool applies(const FieldSetup& setup, std::size_t field);
  IndexField(const FieldSetup& setup, std::size_t field) : setup_(setup), field_(field) {}

  Status make(const SampleTask& task) override;

 private:
  const FieldSetup setup_;
  const std::size_t field_;
  IndexValue value_;  // value of this sample; views of numbers borrow from it
};

}  // namespace penstock
