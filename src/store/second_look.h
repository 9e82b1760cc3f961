// A store that reports an object as missing only after a second request has confirmed it.
//
// If a missing object has a meaning (a missing chunk of a Zarr array has the fill value), one wrong "not found"
// from a server or a proxy would become wrong numbers. All other calls and answers are passed on unchanged.
// Thread-safe, like the store that it wraps and keeps alive.
#pragma once

#include <memory>

#include "store/store.h"

namespace penstock {

// A store with cheap random access is returned unchanged: no server or proxy stands between, and a file system does
// not give such wrong answers.
std::shared_ptr<const Store> with_second_look(std::shared_ptr<const Store> store);

}  // namespace penstock
