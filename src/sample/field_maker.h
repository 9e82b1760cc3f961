// Makes one field of a sample: reads the stored bytes, decodes them and passes the value on to ValueFlow.
//
// There is one class for each way in which a field can be made, each in a file of its own in sample/fields. The table
// in field_makers.cpp decides which class makes a field, once per worker. To add a kind of field, write a class and a
// row of that table.
//
// A maker belongs to one worker thread. Everything that FieldSetup refers to is borrowed and outlives it.
#pragma once

#include <memory>
#include <vector>

#include "decode/image/image.h"
#include "fetch/bytes/sample_bytes.h"
#include "sample/unit_cost.h"
#include "sample/value_flow.h"

namespace penstock {

// The objects that the makers of a worker share.
struct FieldSetup {
  const SamplePlan& plan;
  Context& context;
  ImageDecoder& decoder;
  SampleBytes& bytes;
  ReadOrigin& origin;
  ValueFlow& flow;
  const SampleCache* cache = nullptr;  // nullptr: nothing is cached
};

struct SampleTask {
  std::uint64_t epoch = 0, position = 0, sample = 0;
};

class FieldMaker {
 public:
  virtual ~FieldMaker() = default;

  virtual Status make(const SampleTask& task) = 0;
  // Adds the cost of reading and decoding the field. Fields that read nothing add nothing.
  virtual Status measure(const SampleTask&, UnitCost&) { return {}; }
  // Called when the samples that follow belong to another epoch.
  virtual void turn_to(const SharedReads&) {}
  // Called when the sample is done. Releases whatever is held for it.
  virtual void end_sample() {}
};

// Returns the maker of one field, or nullptr if the maker of another field makes it too (derived and chunked fields).
std::unique_ptr<FieldMaker> make_field_maker(const FieldSetup& setup, std::size_t field);

}  // namespace penstock
