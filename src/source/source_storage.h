// How the samples of a source are stored: the facts about the whole source that reading, shuffling and planning need.
//
// A value that a source builds when it is opened and never changes afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "source/storage_units.h"
#include "source/stream_block.h"

namespace penstock {

class ChunkedArray;
class Store;

struct SourceStorage {
  // The stores of all extents and streams. Chunked arrays have stores of their own.
  std::vector<std::shared_ptr<const Store>> stores;
  std::vector<std::shared_ptr<const ChunkedArray>> arrays;  // ArrayBox::array is a position in it
  std::vector<Stream> streams;
  std::vector<StreamBlock> blocks;  // Extent::block is a position in it; sorted by stream, then by offset
  std::uint64_t stored_bytes = 0;

  // For a windowed shuffle. nullptr: every unit_samples consecutive samples are a unit.
  std::shared_ptr<const StorageUnits> units;
  std::uint64_t unit_samples = 1;
  bool shares_units = false;            // a unit is read as a whole for several samples: shuffle in windows by default
  std::uint64_t suggested_window = 16;  // units

  // The index was saved by an earlier run, so that a file may have changed since.
  bool index_was_saved = false;
  // Saved indexes whose check at opening does not notice a file that was rewritten in place. They must be discarded when
  // a reader notices it.
  std::vector<std::string> discardable_indexes;

  bool is_forward_only() const { return !blocks.empty(); }
  // The most reads that any of the stores, also those of the arrays, wants to have in flight; 0: none reads ahead.
  std::size_t reads_ahead() const;
  // Deletes the files in discardable_indexes, so that the next opening looks at the data again.
  void discard_indexes() const;
};

}  // namespace penstock
