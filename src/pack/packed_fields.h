// Which fields are packed, and how the value of each is made from the source. It follows from the source and the options,
// and from the first sample where a source does not know the type of its values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "penstock/loader.h"
#include "penstock/pack.h"
#include "plan/sample_plan.h"
#include "source/packed/pack_description.h"

namespace penstock {

struct FieldWork {
  enum class Way : std::uint8_t {
    kIndexed,  // the index of the source holds the value
    kCopied,   // the stored bytes are taken as they are
    kMade,     // the value is read, decoded and transformed as for a batch
  };
  std::size_t source_field = 0;
  Way way = Way::kCopied;
  bool is_picture = false;     // in the source
  bool encodes = false;        // a picture whose pixels are encoded anew
  bool encodes_png = false;
  bool adds_restarts = false;  // a copied JPEG is rewritten
};

struct PackedFields {
  PackDescription description;   // complete but for the number of shards
  std::vector<FieldWork> works;  // by field of the description
  LoaderOptions made;            // the transforms of the fields that are made
  int jpeg_quality = 95;
  std::uint64_t probed_bytes = 0;  // of the decoded value of the first sample; 0: nothing is decoded
};

// Fails if an option does not fit the source, or a format cannot hold a field.
Result<PackedFields> plan_packed_fields(const SourcePtr& source, const PackOptions& options, std::uint64_t memory_bytes);

// The plans by which a worker makes the samples of `source`, which is the source in the order in which it is packed.
struct FieldPlans {
  struct Made {
    SamplePlan plan;
    std::vector<std::uint32_t> fields;  // of the description, in the order of the plan
  };
  SamplePlan copied;
  std::vector<std::uint32_t> copied_fields;
  std::vector<Made> made;  // fields that every sample has are made together
};
Result<FieldPlans> plan_fields_of(const SourcePtr& source, const PackedFields& fields);

}  // namespace penstock
