// The objects that are to be copied, one after the other.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "penstock/source.h"
#include "store/listing.h"
#include "store/object_version.h"

namespace penstock {

struct FoundObject {
  std::string key;
  std::optional<ObjectVersion> version;  // empty: not known without asking the store
};

// Belongs to one thread at a time.
class ObjectWalk {
 public:
  virtual ~ObjectWalk() = default;

  // nullopt: there are no more. An object may come several times.
  virtual std::optional<FoundObject> next() = 0;
};

// The objects that the samples of a source are read from. It does not keep the source alive, and ends when the source
// has gone.
std::unique_ptr<ObjectWalk> walk_source(const SourcePtr& source);

}  // namespace penstock
