// A store that reads through a staged folder: bytes that the folder has come from there, the rest from the source, and
// what was read from the source is kept in the folder.
//
// Keys and versions are those of the source, and so are the listings, so that nothing behind the store can tell the
// difference: states, caches and fingerprints fit both. Where the folder cannot be written or read, everything comes
// from the source.
// Thread-safe. It shares ownership of the source's store and of the folder.
#pragma once

#include <memory>

#include "stage/stage_core.h"
#include "store/store.h"

namespace penstock {

// `keeper` keeps the threads of the core alive.
std::shared_ptr<const Store> make_staged_store(std::shared_ptr<const Store> source, std::shared_ptr<StageCore> core,
                                               std::shared_ptr<const void> keeper);

}  // namespace penstock
