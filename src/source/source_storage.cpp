#include "source/source_storage.h"

#include <algorithm>

#include "source/chunked_array.h"
#include "source/index/saved_index.h"
#include "store/store.h"

namespace penstock {

std::size_t SourceStorage::reads_ahead() const {
  std::size_t most = 0;
  for (const auto& store : stores) most = std::max(most, store->reads_ahead());
  for (const auto& array : arrays) most = std::max(most, array->store().reads_ahead());
  return most;
}

void SourceStorage::discard_indexes() const {
  for (const std::string& path : discardable_indexes) delete_saved_index(path);
}

}  // namespace penstock
