// Makes one field of a sample, from what the source says of it to a value that enters the flow to the batch.
//
// There is one class for each way in which a field comes about, each in a file of its own below sample/fields. Which
// one makes a field is decided once for each worker, by the table in field_makers.cpp. To add a kind of field, write a
// class and a row of that table.
//
// A maker belongs to one worker thread. It borrows what FieldSetup refers to, which outlives it.
#pragma once

#include <memory>
#include <vector>

#include "decode/image/image.h"
#include "fetch/bytes/sample_bytes.h"
#include "sample/unit_cost.h"
#include "sample/value_flow.h"

namespace penstock {

// What the makers of a worker share.
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
  // Adds what reading and decoding the field takes. Fields that nothing is read for add nothing.
  virtual Status measure(const SampleTask&, UnitCost&) { return {}; }
  // The samples that follow are those of another epoch.
  virtual void turn_to(const SharedReads&) {}
  // The sample is done: whatever was held for it is given back.
  virtual void end_sample() {}
};

// The maker of one field. Fields that are made by another's maker (derived ones, chunked ones) have none.
std::unique_ptr<FieldMaker> make_field_maker(const FieldSetup& setup, std::size_t field);

}  // namespace penstock
