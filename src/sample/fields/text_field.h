// A field that is stored as text: captions, JSON, or bytes that are delivered unchanged.
#pragma once

#include "sample/field_maker.h"

namespace penstock {

class TextField final : public FieldMaker {
 public:
  static bool applies(const FieldSetup& setup, std::size_t field);
  TextField(const FieldSetup& setup, std::size_t field) : setup_(setup), field_(field) {}

  Status make(const SampleTask& task) override;
  Status measure(const SampleTask& task, UnitCost& cost) override;

 private:
  FieldRead read_of(const SampleTask& task) const;

  const FieldSetup setup_;
  const std::size_t field_;
};

}  // namespace penstock
