// Small data sets in memory, and loaders run to the end of an epoch.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "penstock/loader.h"
#include "source/files/folder_source.h"
#include "store/memory_store.h"

namespace penstock {

// N int64 samples 0, 1, 2, ... as one big .npy: what a batch holds tells which samples it has.
std::shared_ptr<const MemoryStore> store_of_numbers(std::uint64_t count);
SourcePtr source_of_numbers(std::uint64_t count);

// A folder "data" of files in class folders, seen through `store` (which may fail). The index is
// made from `clean`, so that faults only meet the loader.
Result<SourcePtr> folder_source(std::shared_ptr<const Store> store, const Store& clean,
                                const std::string& kind = "");

// "data/a/0.png", "data/b/1.png", ...: small pictures of one size.
std::shared_ptr<MemoryStore> store_of_pictures(int count, int width = 24, int height = 16);
std::shared_ptr<MemoryStore> store_of_arrays(int count);

struct EpochRun {
  std::vector<std::vector<std::int64_t>> numbers;  // of field `array`, a batch each
  std::vector<std::vector<std::byte>> bytes;       // of the first field, a batch each
  std::vector<std::vector<std::string>> keys;      // of field `key` where there is one
  std::optional<Error> error;
  LoaderStats stats;
};

// Takes at most `most` batches of the next epoch.
EpochRun run_epoch(Loader& loader, std::uint64_t most = ~std::uint64_t{0});

}  // namespace penstock
