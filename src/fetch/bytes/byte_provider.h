// One link of the chain that gives the stored bytes of a sample's fields.
//
// A chain asks, in this order: the cache, records, decompressed blocks, what was read ahead, the store. A link
// answers, or passes the question on to the next one, so that nobody else has to know which of them there are. A
// new place where bytes may come from is one more link (sample_bytes.cpp joins them).
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
  std::size_t number = 0;  // of the field in the plan
  std::uint64_t position = 0;
  std::uint64_t sample = 0;
};

// Where the bytes that a chain gave last came from. Errors and cache entries are made with it.
struct ReadOrigin {
  Where where;
  ObjectVersion version;
  std::uint64_t reads = 0;  // number of reads so far; fields that lie close together share one

  // An error whose offset counts from the beginning of what was read, with its offset in the object.
  std::unexpected<Error> located(Error error) const {
    if (error.where.offset >= 0) error.where.offset += where.offset;
    return std::unexpected(std::move(error));
  }
};

class ByteProvider {
 public:
  virtual ~ByteProvider() = default;

  // The stored value of the field. `extent` is where the source says that it is.
  virtual Result<RecordValue> read(const FieldRead& wanted, const Extent& extent) = 0;
  // Fills `parts` with the bytes of the extent, without a buffer in between. False: that is not possible here, or
  // the object has another length; the caller uses read().
  virtual Result<bool> read_into(const FieldRead& wanted, const Extent& extent,
                                 std::span<const MutableBytes> parts) = 0;
  // The samples that follow are those of another epoch.
  virtual void turn_to(const SharedReads&) {}
  virtual void end_sample() {}
};

}  // namespace penstock
