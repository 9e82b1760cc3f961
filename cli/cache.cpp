// penstock cache: lists cache folders on disk, and removes them.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "checks.h"
#include "command.h"
#include "format.h"
#include "penstock/cache.h"
#include "sizes.h"

namespace penstock::cli {
namespace {

constexpr const char* kFooter =
    "ls shows how full each folder's cache is and what was cached there; rm removes it. Only files of\n"
    "the cache go; the folder itself and whatever else is in it stay. A cache that a process has in use\n"
    "is not removed. One that is not readable is of another version, or damaged: loaders make it anew.\n"
    "\n"
    "Exit codes: 0 done, 1 a folder has no cache or cannot be removed, 2 wrong usage.\n"
    "\n"
    "Examples:\n"
    "  penstock cache ls /scratch/cache\n"
    "  penstock cache ls /scratch/*/cache --json\n"
    "  penstock cache rm /scratch/old-cache";

struct Options {
  std::string action;
  std::vector<std::string> folders;
  bool json = false;
};

struct Outcome {
  std::vector<DiskCache> caches;  // that were listed or removed
  std::vector<Error> errors;      // of the other folders
};

Result<DiskCache> remove(const std::string& folder) {
  auto cache = describe_disk_cache(folder);
  if (cache)
    if (auto removed = remove_disk_cache(folder); !removed)
      return std::unexpected(std::move(removed).error());
  return cache;
}

Outcome act(const Options& options) {
  Outcome outcome;
  for (const std::string& folder : options.folders) {
    auto cache = options.action == "rm" ? remove(folder) : describe_disk_cache(folder);
    if (cache)
      outcome.caches.push_back(std::move(*cache));
    else
      outcome.errors.push_back(std::move(cache).error());
  }
  return outcome;
}

std::time_t last_used(const DiskCache& cache) {
  return static_cast<std::time_t>(cache.modified_ns / 1'000'000'000);
}

constexpr std::size_t kColumns = 5, kEntries = 2;
using Line = std::array<std::string, kColumns>;

Line line_of(const DiskCache& cache) {
  const std::string when = fmt::format("{:%Y-%m-%d %H:%M}", fmt::localtime(last_used(cache)));
  const std::string in_use = cache.is_in_use ? "yes" : "no";
  if (!cache.is_readable)
    return {printable(cache.folder), fmt::format("{}, not readable", format_bytes(cache.bytes_on_disk)), "",
            in_use, when};
  return {printable(cache.folder),
          fmt::format("{} of {}", format_bytes(cache.used_bytes), format_bytes(cache.capacity_bytes)),
          with_commas(cache.entries), in_use, when};
}

void print_list(const std::vector<DiskCache>& caches) {
  std::vector<Line> lines = {{"folder", "used", "entries", "in use", "last used"}};
  for (const DiskCache& cache : caches) lines.push_back(line_of(cache));
  std::array<std::size_t, kColumns> widths{};
  for (const Line& line : lines)
    for (std::size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], line[i].size());
  for (std::size_t number = 0; number < lines.size(); ++number) {
    std::string text = " ";
    for (std::size_t i = 0; i < kColumns; ++i)
      text += i == kEntries ? fmt::format(" {:>{}} ", lines[number][i], widths[i])
                            : fmt::format(" {:<{}} ", lines[number][i], widths[i]);
    fmt::print("{}\n", text.substr(0, text.find_last_not_of(' ') + 1));
    if (number == 0) continue;
    for (const std::string& words : caches[number - 1].contents) fmt::print("      {}\n", printable(words));
  }
}

void print_screen(const Options& options, const Outcome& outcome) {
  if (options.action == "rm")
    for (const DiskCache& cache : outcome.caches)
      fmt::print("removed {} from {}\n", format_bytes(cache.bytes_on_disk), printable(cache.folder));
  else if (!outcome.caches.empty())
    print_list(outcome.caches);
  // With a single folder, main() prints the error.
  if (options.folders.size() > 1)
    for (const Error& error : outcome.errors) fmt::print("{}\n", printable(error.describe()));
}

nlohmann::ordered_json to_json(const DiskCache& cache) {
  return {{"folder", cache.folder},
          {"is_readable", cache.is_readable},
          {"is_in_use", cache.is_in_use},
          {"capacity_bytes", cache.capacity_bytes},
          {"used_bytes", cache.used_bytes},
          {"entries", cache.entries},
          {"bytes_on_disk", cache.bytes_on_disk},
          {"last_used", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(last_used(cache)))},
          {"contents", cache.contents}};
}

void print_json(const Options& options, const Outcome& outcome) {
  const char* title = options.action == "rm" ? "removed" : "caches";
  nlohmann::ordered_json json = {{title, nlohmann::ordered_json::array()},
                                 {"errors", nlohmann::ordered_json::array()}};
  for (const DiskCache& cache : outcome.caches) json[title].push_back(to_json(cache));
  for (const Error& error : outcome.errors)
    json["errors"].push_back({{"path", error.where.uri}, {"message", error.message}});
  fmt::print("{}\n", json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

Status run(const Options& options) {
  const Outcome outcome = act(options);
  if (options.json)
    print_json(options, outcome);
  else
    print_screen(options, outcome);
  std::fflush(stdout);  // so that the verdict comes after it, also if both go into one file
  if (outcome.errors.empty()) return {};
  return std::unexpected(outcome.errors.front());
}

}  // namespace

Command add_cache(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("cache", "Lists what is cached in folders on disk, or removes it");
  command->add_option("action", options->action, "What to do: ls or rm")
      ->type_name("ls|rm")
      ->required()
      ->check(one_of({"ls", "rm"}));
  command->add_option("folder", options->folders, "As in disk=\"FOLDER:200GiB\"")
      ->type_name("DIR")
      ->required();
  command->add_flag("--json", options->json, "Print one JSON object instead of the screen");
  command->footer(kFooter);
  return {command, [options] { return run(*options); }};
}

}  // namespace penstock::cli
