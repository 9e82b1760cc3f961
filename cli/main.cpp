// The command line: runs the chosen command and turns every error into one line and an exit code. 0: success,
// 1: the data or the run failed, 2: wrong usage.
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <string>
#include <vector>

#include "base/text/nearest_name.h"
#include "command.h"

namespace penstock::cli {
namespace {

constexpr int kDone = 0, kFailed = 1, kWrongUsage = 2;

constexpr const char* kFooter =
    "Start here:\n"
    "  penstock demo                         makes a few hundred JPEGs and loads them\n"
    "  penstock inspect data/train           what is there, and what fits in memory\n"
    "  penstock bench data/train --batch 64  how fast it loads on this machine\n"
    "  penstock verify data/train            reads all of it, lists what is bad\n"
    "  penstock statistics data/train        mean and std for Normalize, class counts\n"
    "  penstock pack data/train packed       writes it into a few large files\n"
    "  penstock stage data/train /scratch    copies it to a local disk\n"
    "\n"
    "Every command has --help and --json.\n"
    "Exit codes: 0 done, 1 the data or the run failed, 2 wrong usage.";

int wrong_usage(const std::string& message) {
  fmt::print(stderr, "penstock: {}\n", message);
  return kWrongUsage;
}

std::string or_nearest(const std::string& word, const std::vector<std::string>& names) {
  const auto near = nearest_name(word, names);
  return near ? fmt::format("; did you mean {}?", *near) : std::string();
}

int unknown_command(const std::string& word, const std::vector<Command>& commands) {
  std::vector<std::string> names;
  for (const Command& command : commands) names.push_back(command.app->get_name());
  std::string hint = or_nearest(word, names);
  for (const std::string& name : names)  // swapped letters are two edits, but one typing error
    if (hint.empty() && std::ranges::is_permutation(word, name))
      hint = fmt::format("; did you mean {}?", name);
  return wrong_usage(
      fmt::format("no command \"{}\"{}", word,
                  hint.empty() ? fmt::format("; there are {}", fmt::join(names, ", ")) : hint));
}

int unknown_argument(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  const CLI::App& asked = chosen.empty() ? app : *chosen.front();
  const std::vector<std::string> left = asked.remaining();
  const std::string word = left.empty() ? "?" : left.front();
  const std::string spelled = word.substr(0, word.find('='));
  std::vector<std::string> names;
  for (const CLI::Option* option : asked.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  const std::string help =
      chosen.empty() ? "penstock --help" : fmt::format("penstock {} --help", asked.get_name());
  if (!word.starts_with('-'))
    return wrong_usage(fmt::format("unexpected argument \"{}\"; see {}", word, help));
  const std::string hint = or_nearest(spelled, names);
  return wrong_usage(fmt::format("no option {}{}", spelled, hint.empty() ? "; see " + help : hint));
}

int run(const Command& command) {
  const Status status = command.run();
  if (status) return kDone;
  fmt::print(stderr, "penstock: {}\n", status.error().describe());
  return status.error().code == ErrorCode::kInvalidArgument ? kWrongUsage : kFailed;
}

int main_of(int argc, char** argv) {
  CLI::App app("Penstock feeds training data to GPUs.", "penstock");
  app.set_version_flag("--version", "penstock " PENSTOCK_VERSION, "Print the version and exit");
  app.set_help_flag("-h,--help", "Print this text and exit");
  app.footer(kFooter);
  app.get_formatter()->column_width(34);
  const std::vector<Command> commands = {add_demo(app),   add_inspect(app),    add_bench(app),
                                         add_verify(app), add_statistics(app), add_pack(app),
                                         add_stage(app),  add_cache(app)};

  const std::string first = argc > 1 ? argv[1] : "";
  if (first.empty()) {
    fmt::print(stderr, "{}", app.help());
    return kWrongUsage;
  }
  bool is_known = first.starts_with('-');
  for (const Command& command : commands) is_known = is_known || command.app->get_name() == first;
  if (!is_known) return unknown_command(first, commands);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ExtrasError&) {
    return unknown_argument(app);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    const auto chosen = app.get_subcommands();
    return wrong_usage(fmt::format("{}; see penstock {}--help", error.what(),
                                   chosen.empty() ? "" : chosen.front()->get_name() + " "));
  }
  for (const Command& command : commands)
    if (command.app->parsed()) return run(command);
  return wrong_usage("a command is missing; see penstock --help");
}

}  // namespace
}  // namespace penstock::cli

int main(int argc, char** argv) {
  try {
    return penstock::cli::main_of(argc, argv);
  } catch (const std::exception& error) {  // lack of memory or a bug also gives one line
    fmt::print(stderr, "penstock: {}\n", error.what());
    return penstock::cli::kFailed;
  }
}
