// A store that believes that an object is missing when it was told so twice.
//
// Where a missing object has a meaning (a chunk of a Zarr array then has the fill value), one wrong "not found" of a
// server or a proxy would become wrong numbers. Everything else is passed on.
// Thread-safe like the store it wraps, which it keeps alive.
#pragma once

#include <memory>

#include "store/store.h"

namespace penstock {

// Files do not err: a store that wants no reads ahead is returned as it is.
std::shared_ptr<const Store> with_second_look(std::shared_ptr<const Store> store);

}  // namespace penstock
