// A command of the command line: the options that it adds to the app, and the function that runs once they
// are parsed. If the function fails, main() prints the error in one line.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>

#include "penstock/result.h"

namespace penstock::cli {

struct Command {
  CLI::App* app = nullptr;  // owned by the app that it was added to
  std::function<Status()> run;
};

Command add_demo(CLI::App& app);
Command add_inspect(CLI::App& app);
Command add_bench(CLI::App& app);
Command add_verify(CLI::App& app);
Command add_statistics(CLI::App& app);
Command add_stage(CLI::App& app);
Command add_cache(CLI::App& app);
Command add_pack(CLI::App& app);

}  // namespace penstock::cli
