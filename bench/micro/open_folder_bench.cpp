// How fast a data set of 100,000 files is opened: a flat folder, class folders, and a pattern, without a saved index.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "penstock/source.h"

namespace penstock {
namespace {

constexpr int kFiles = 100'000;

// The files stay until the process ends, because making them takes longer than the benchmark.
class Folders {
 public:
  ~Folders() {
    std::error_code ignored;
    for (const auto& [count, path] : paths_) std::filesystem::remove_all(path, ignored);
  }

  const std::string& of(int count) {
    auto [found, is_new] = paths_.try_emplace(count);
    if (!is_new) return found->second;
    std::string name = (std::filesystem::temp_directory_path() / "penstock-open-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) return found->second;
    found->second = name;
    for (int file = 0; file < kFiles; ++file) {
      const std::string folder = count == 1 ? name : fmt::format("{}/class{:04}", name, file % count);
      if (count > 1 && file < count) std::filesystem::create_directory(folder);
      std::ofstream(fmt::format("{}/ILSVRC2012_train_{:08}.JPEG", folder, file)) << 'x';
    }
    return found->second;
  }

 private:
  std::map<int, std::string> paths_;
};

Folders& folders() {
  static Folders made;
  return made;
}

void open(benchmark::State& state, const std::string& path) {
  OpenOptions options;
  options.keep_index = false;
  for (auto _ : state) {
    const auto source = open_source(path, options);
    if (!source || (*source)->size() != kFiles) return state.SkipWithError("not opened");
  }
  state.SetItemsProcessed(state.iterations() * kFiles);
}

void open_folder(benchmark::State& state) { open(state, folders().of(static_cast<int>(state.range(0)))); }
BENCHMARK(open_folder)->ArgName("folders")->Arg(1)->Arg(100)->UseRealTime()->Unit(benchmark::kMillisecond);

void open_pattern(benchmark::State& state) {
  const auto count = static_cast<int>(state.range(0));
  open(state, folders().of(count) + (count == 1 ? "/*.JPEG" : "/*/*.JPEG"));
}
BENCHMARK(open_pattern)->ArgName("folders")->Arg(1)->Arg(100)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace penstock
