// The URI argument and its options, which several commands share, and how the source is opened.
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
  std::string given_uri;  // as the user typed it
  std::string kind;
  std::vector<std::string> more_stores;  // Zarr stores that are joined to the first
  std::vector<std::string> headers;      // "Name: value", for the server of a URL
  std::string stage;                     // a local folder that the data are staged to
  std::string missing;                   // chunks of Zarr: "", "fill" or "error"
  ZarrOption zarr;
  PatchOption patch;
};

// Adds the URI, further stores, --kind, and the options of Zarr and of patches of volumes. `option` must
// outlive the parse.
void add_source_option(CLI::App& app, SourceOption& option);

// Adds --threads; 0 means all usable cores.
void add_threads_option(CLI::App& app, unsigned& threads);

enum class Index : unsigned char {
  kKept,      // use the saved index of an earlier run, if there is one
  kFresh,     // make a new index
  kCompared,  // make a new index, and report the objects that have disappeared since an earlier run
};

// Opens the source. Prints warnings to stderr, one line each, and shows progress there. With `bad_shards`,
// the errors of damaged shards are added to it, and their readable samples are used. `missing` applies if
// --missing is not given.
Result<SourcePtr> open(const SourceOption& option, Index index, std::vector<Error>* bad_shards = nullptr,
                       MissingChunk missing = MissingChunk::kFillIfGone);

// For commands that visit all samples: turns a source of random patches into a list of the patches of the
// first epoch with seed 0. Other sources are returned unchanged.
Result<SourcePtr> with_list_of_samples(SourcePtr source);

}  // namespace penstock::cli
