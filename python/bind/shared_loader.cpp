#include "shared_loader.h"

#include <chrono>
#include <thread>
#include <unordered_set>
#include <utility>

namespace nb = nanobind;

namespace penstock::python {
namespace {

constexpr auto kOthersComeBack = std::chrono::milliseconds(1);

// All open loaders, guarded by the GIL. Python's object alone would not do: while the garbage collector destroys
// the object, Python cannot find it, but its workers still run. The set is never destroyed, because it may hold
// loaders of the parent of a forked child.
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
  if (loader->abandoned()) return;  // open_loaders() refers to it until the process ends
  if (!Loader::is_worker_thread()) {
    {
      nb::gil_scoped_release release;
      loader->close();
    }
    open_loaders().erase(loader);
    return;
  }
  // Python collected garbage inside a Map. A worker cannot wait for itself, but another thread can.
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
