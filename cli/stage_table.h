// Shows how the workers spent their time, as a table and as JSON.
#pragma once

#include <nlohmann/json.hpp>

#include <array>
#include <string>

#include "penstock/stats.h"

namespace penstock::cli {

using Stages = std::array<StageStats, kStages>;

// Sums the epochs from the given one on.
Stages stages_from(const LoaderStats& stats, std::size_t first_epoch);

// Returns one line per stage, without idle stages.
std::string stage_table(const Stages& stages);

nlohmann::ordered_json to_json(const Stages& stages);

// Returns advice about the bottleneck; empty if there is none.
std::string advice_for(const LoaderStats& stats);

}  // namespace penstock::cli
