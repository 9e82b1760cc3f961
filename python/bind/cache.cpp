#include "penstock/cache.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind.h"
#include "cache_handle.h"
#include "errors.h"
#include "source_handle.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace penstock::python {
namespace {

CacheHandle open(std::uint64_t ram_bytes, const nb::bytes& disk_folder, std::uint64_t disk_bytes,
                 const std::string& policy, bool revalidate) {
  CacheHandle handle;
  handle.warnings = std::make_shared<Warnings>();
  CacheOptions options;
  options.ram_bytes = ram_bytes;
  options.disk_folder = text_of(disk_folder);
  options.disk_bytes = disk_bytes;
  if (policy != "keep" && policy != "lru")
    raise({ErrorCode::kInvalidArgument, "policy=\"" + policy + "\": wants \"keep\" or \"lru\"", {}, false});
  options.policy = policy == "lru" ? CachePolicy::kLru : CachePolicy::kKeep;
  options.revalidate = revalidate;
  options.warn = [warnings = handle.warnings](const std::string& message) { warnings->add(message); };
  handle.cache = value_or_raise(Cache::open(options));
  return handle;
}

}  // namespace

nb::dict tiers_dict(const std::vector<TierState>& tiers) {
  nb::dict out;
  for (const TierState& tier : tiers) {
    nb::dict one;
    one["capacity"] = tier.capacity_bytes;
    one["used"] = tier.used_bytes;
    one["entries"] = tier.entries;
    one["damaged"] = tier.damaged;
    one["shared"] = tier.is_shared;
    one["copied"] = tier.copied;
    one["lock_timeouts"] = tier.lock_timeouts;
    out[tier.name.c_str()] = one;
  }
  return out;
}

void bind_cache(nb::module_& m) {
  nb::class_<CacheHandle>(m, "CacheHandle", "The engine's cache; penstock.Cache wraps it.")
      .def("tiers",
           [](const CacheHandle& handle) -> nb::typed<nb::dict, nb::str, nb::typed<nb::dict, nb::str, nb::any>> {
             return tiers_dict(handle.cache ? handle.cache->tiers() : std::vector<TierState>());
           })
      .def("close",
           [](CacheHandle& handle) {
             auto cache = std::move(handle.cache);
             nb::gil_scoped_release release;
             cache.reset();
           })
      .def("take_warnings", [](const CacheHandle& handle) { return handle.warnings->take(); });
  m.def("open_cache", &open, "ram"_a, "disk_folder"_a, "disk"_a, "policy"_a, "revalidate"_a);
}

}  // namespace penstock::python
