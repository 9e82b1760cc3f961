// What a command of the command line is: options it adds to the app, and what to run once they
// are parsed. An error that comes back is printed in one line by main().
#pragma once

#include <CLI/CLI.hpp>

#include <functional>

#include "penstock/result.h"

namespace penstock::cli {

struct Command {
  CLI::App* app = nullptr;  // belongs to the app it was added to
  std::function<Status()> run;
};

Command add_demo(CLI::App& app);
Command add_inspect(CLI::App& app);
Command add_bench(CLI::App& app);
Command add_verify(CLI::App& app);
Command add_statistics(CLI::App& app);
Command add_cache(CLI::App& app);

}  // namespace penstock::cli
