// Where the workers' time went, on the screen and in JSON.
#pragma once

#include <nlohmann/json.hpp>

#include <array>
#include <string>

#include "penstock/stats.h"

namespace penstock::cli {

using Stages = std::array<StageStats, kStages>;

// Sums the epochs from the given one on.
Stages stages_from(const LoaderStats& stats, std::size_t first_epoch);

// One line a stage; those that did nothing are left out.
std::string stage_table(const Stages& stages);

nlohmann::ordered_json to_json(const Stages& stages);

// What may be done about a bottleneck; "" where nothing useful can be said.
std::string advice_for(const LoaderStats& stats);

}  // namespace penstock::cli
