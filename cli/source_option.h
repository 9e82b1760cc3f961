// The URI argument that commands share: how it is given, and how it is opened.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

#include "penstock/source.h"

namespace penstock::cli {

struct SourceOption {
  std::string uri, kind;
};

// Adds URI and --kind. `option` must outlive the parse.
void add_source_option(CLI::App& app, SourceOption& option);

enum class Index : unsigned char { kKept, kFresh };  // an earlier run's where there is one, or a new look

// Warnings go to stderr, a line each; counts files on stderr while it looks.
Result<SourcePtr> open(const SourceOption& option, Index index);

}  // namespace penstock::cli
