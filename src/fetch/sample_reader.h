// Reads what is stored of samples: whole files, stretches of shards, blocks of compressed shards, what was
// read ahead. Belongs to one thread.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/stats.h"
#include "penstock/source.h"
#include "fetch/stream_blocks.h"
#include "fetch/lookahead.h"
#include "store/store.h"
#include "transform/program.h"

namespace penstock {

class SampleCache;

// What the workers of an epoch read from.
struct SharedReads {
  StreamBlocks* streams = nullptr;  // where the source is forward-only
  Lookahead* lookahead = nullptr;     // where samples share chunks, or are read ahead
  const SampleCache* cache = nullptr;
  std::uint64_t epoch = 0;  // a number of its own; files may have changed since another epoch
};

class SampleReader {
 public:
  struct Setup {
    const Source& source;
    std::vector<std::size_t> stored_fields;  // of a sample, all that are read
    std::int64_t opened_at_ns = 0;           // wall clock, to tell a stale index from a file changed in use
    std::size_t max_open_objects = 16;
  };
  SampleReader(Setup setup, Scratch& scratch, StageClock& clock, const SharedReads& shared);

  // Borrowed until the next read or the end of the sample. Fields that stand close together come by one
  // read; reads() counts those.
  Result<ConstBytes> read(const Extent& extent, std::uint64_t sample);
  std::uint64_t reads() const { return reads_; }
  // Fills the parts from the extent; false where the object has another length.
  Result<bool> read_into(const Extent& extent, std::span<const MutableBytes> parts);
  void end_sample();
  // Another epoch's from the next sample on.
  void read_through(const SharedReads& shared) { shared_ = shared; }

  // Of what was read last, or could not be.
  const Where& where() const { return where_; }
  const ObjectVersion& version() const { return version_; }

 private:
  Result<Object*> open(const Extent& extent);
  Object* find_open(const Extent& extent);
  Status check_unchanged(const Object& object) const;
  Result<ConstBytes> read_block(const Extent& extent);
  Result<ConstBytes> read_file(const Extent& extent);
  Result<ConstBytes> read_stretch(const Extent& extent, std::uint64_t sample);
  Result<ConstBytes> read_from_ahead(const Extent& extent, std::uint64_t sample);

  const Setup setup_;
  Scratch& scratch_;
  StageClock& clock_;
  SharedReads shared_;
  struct OpenedObject {
    std::unique_ptr<Object> object;
    std::uint64_t epoch = 0;  // in which its name was found to be still its own
  };
  std::unordered_map<std::string, OpenedObject> shared_objects_;
  std::unique_ptr<Object> object_;  // the one that only this sample needs
  std::shared_ptr<const StreamBlocks::Block> block_;
  // What the encoded buffer holds of an object.
  std::string stretch_object_;
  std::uint64_t stretch_begin_ = 0;
  ConstBytes stretch_;
  std::shared_ptr<const void> held_;  // what was read ahead
  std::uint64_t reads_ = 0;
  Where where_;
  ObjectVersion version_;
};

}  // namespace penstock
