// The abilities of a store, and how it wants to be used. Callers ask for these instead of guessing from a URI.
#pragma once

#include <cstddef>

namespace penstock {

// All members but the two numbers stay the same for the lifetime of a store.
struct StoreTraits {
  // Keys are paths of the local file system.
  bool is_local = false;
  // list() works, and so do folders and patterns with wildcards.
  bool can_list = false;
  // create() works.
  bool can_write = false;
  // A small read costs no round trip, so many small reads are as good as one large one.
  bool has_cheap_random_access = false;
  // The version of every object changes when the object does. Without it, versions may be compared only where
  // ObjectVersion::modified_ns is not 0.
  bool has_versions = false;
  // A folder has a time of change (stat() of the folder), which changes whenever an entry right below it appears,
  // disappears or is renamed.
  bool has_folder_times = false;
  // How many reads the store wants to have in flight now. 0: it gains nothing from reads that are started early,
  // and one blocking read per thread serves it as well.
  std::size_t reads_ahead = 0;
  // How many urgent requests (ObjectRead::urgent_requests) the store accepts at one time now.
  std::size_t urgent_reads = 0;
};

}  // namespace penstock
