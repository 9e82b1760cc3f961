#include "shared_loader.h"

#include <chrono>
#include <thread>
#include <unordered_set>
#include <utility>

namespace nb = nanobind;

namespace penstock::python {
namespace {

constexpr auto kOthersComeBack = std::chrono::milliseconds(1);

// Held here as well as by Python's object, because an object that the garbage collector is busy with is
// out of Python's sight while its workers still run. Guarded by the GIL. Never destroyed: it may hold
// loaders whose process was left by fork.
std::unordered_set<SharedLoaderPtr>& open_loaders() {
  static auto& all = *new std::unordered_set<SharedLoaderPtr>;
  return all;
}

std::atomic<int> closing_elsewhere{0};

}  // namespace

void SharedLoader::close() {
  loader_->close();
  while (users_ > 0) std::this_thread::sleep_for(kOthersComeBack);
}

SharedLoaderPtr share_loader(std::unique_ptr<Loader> loader) {
  return *open_loaders().insert(std::make_shared<SharedLoader>(std::move(loader))).first;
}

void drop_loader(SharedLoaderPtr loader) {
  if (loader->abandoned()) return;  // still held by open_loaders(), for ever
  if (!Loader::is_worker_thread()) {
    {
      nb::gil_scoped_release release;
      loader->close();
    }
    open_loaders().erase(loader);
    return;
  }
  // Garbage was collected inside a Map: a worker cannot wait for itself, another thread can.
  ++closing_elsewhere;
  open_loaders().erase(loader);
  std::thread([loader = std::move(loader)]() mutable {
    loader->close();
    loader.reset();
    --closing_elsewhere;
  }).detach();
}

void close_all_loaders() {
  auto all = open_loaders();
  nb::gil_scoped_release release;
  for (const SharedLoaderPtr& loader : all)
    if (!loader->abandoned()) loader->close();
  all.clear();
  while (closing_elsewhere > 0) std::this_thread::sleep_for(kOthersComeBack);
}

void abandon_all_loaders() {
  for (const SharedLoaderPtr& loader : open_loaders()) loader->abandon();
}

}  // namespace penstock::python
