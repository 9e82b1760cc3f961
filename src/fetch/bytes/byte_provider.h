// One link of the chain that gives the stored bytes of a sample's fields.
//
// The links are asked in this order: the cache, records, checksums, decompressed blocks, bytes read ahead, the store. A link
// answers or passes the request on to the next one, so no other code needs to know which links exist. A new origin of
// bytes is a new link (sample_bytes.cpp joins them).
//
// A chain belongs to one worker thread. Bytes that a link gives are borrowed: they stay valid until the next
// read() of the chain or until end_sample().
#pragma once

#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "fetch/shared_reads.h"
#include "penstock/source.h"
#include "plan/sample_plan.h"
#include "source/extent.h"
#include "source/opened_record.h"
#include "store/store.h"

namespace penstock {

// Asks for one field of the sample at a position of the epoch.
struct FieldRead {
  const FieldPlan& field;
  std::size_t number = 0;  // number of the field in the plan
  std::uint64_t position = 0;
  std::uint64_t sample = 0;
};

// The origin of the bytes that a chain gave last. Errors and cache entries record it.
struct ReadOrigin {
  Where where;
  ObjectVersion version;
  std::uint64_t reads = 0;  // number of reads so far; fields that lie close together share one

  // Converts an error whose offset counts from the first byte that was read to one whose offset counts from the
  // beginning of the object.
  std::unexpected<Error> located(Error error) const {
    if (error.where.offset >= 0) error.where.offset += where.offset;
    return std::unexpected(std::move(error));
  }
};

class ByteProvider {
 public:
  virtual ~ByteProvider() = default;

  // Returns the stored value of the field. `extent` is its location according to the source.
  virtual Result<RecordValue> read(const FieldRead& wanted, const Extent& extent) = 0;
  // Fills `parts` with the bytes of the extent, without a buffer in between. Returns false if that is not possible or
  // the object has another length; the caller then uses read().
  virtual Result<bool> read_into(const FieldRead& wanted, const Extent& extent,
                                 std::span<const MutableBytes> parts) = 0;
  // Called when the samples that follow belong to another epoch.
  virtual void turn_to(const SharedReads&) {}
  virtual void end_sample() {}
};

}  // namespace penstock
