// The stage as Python sees it, and the opening of sources through it.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>
#include <vector>

#include "penstock/stage.h"

namespace penstock::python {

struct StageHandle {
  std::shared_ptr<StagedFolder> stage;
};

// nullptr for None.
inline std::shared_ptr<StagedFolder> stage_of(const nanobind::object& stage) {
  return stage.is_none() ? nullptr : nanobind::cast<StageHandle&>(stage).stage;
}

// `uris` are all paths and URLs that the source is made of; empty ones do not count.
template <typename Open>
Result<SourcePtr> open_perhaps_staged(const std::shared_ptr<StagedFolder>& stage, std::vector<std::string> uris, Open open) {
  if (!stage) return open();
  std::erase(uris, "");
  return open_staged(stage, uris, open);
}

}  // namespace penstock::python
