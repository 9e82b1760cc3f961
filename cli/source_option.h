// The URI argument that commands share: how it is given, and how it is opened.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

#include "patch_option.h"
#include "penstock/source.h"
#include "zarr_option.h"

namespace penstock::cli {

struct SourceOption {
  std::string uri;        // for people: without the password and query of a URL
  std::string given_uri;  // as it was given
  std::string kind;
  std::vector<std::string> more_stores;  // Zarr stores that are joined to the first
  std::vector<std::string> headers;      // "Name: value", for the server of a URL
  std::string missing;                   // chunks of Zarr: "", "fill" or "error"
  ZarrOption zarr;
  PatchOption patch;
};

// Adds URI, further stores, --kind and what Zarr and patches of volumes are opened with. `option` must outlive
// the parse.
void add_source_option(CLI::App& app, SourceOption& option);

// Adds --threads, whose 0 stands for all usable cores.
void add_threads_option(CLI::App& app, unsigned& threads);

enum class Index : unsigned char {
  kKept,      // an earlier run's where there is one
  kFresh,     // a new look
  kCompared,  // a new look that also tells what has gone since an earlier run
};

// Warnings go to stderr, a line each; counts samples on stderr while it looks. With `bad_shards`,
// shards that cannot be read through are noted there, and what can be read of them counts. `missing` holds where
// --missing is not given.
Result<SourcePtr> open(const SourceOption& option, Index index, std::vector<Error>* bad_shards = nullptr,
                       MissingChunk missing = MissingChunk::kFillIfGone);

// Random patches as a list, for commands that go through all samples: those of the first epoch with seed 0.
// Other sources are returned as they are.
Result<SourcePtr> with_list_of_samples(SourcePtr source);

}  // namespace penstock::cli
