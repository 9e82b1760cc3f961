// What is bad in a data set, on the screen and in JSON.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

#include "penstock/source.h"
#include "statistics/visit_samples.h"

namespace penstock::cli {

struct BadRow {
  Error error;
  std::string key;    // of the sample; empty: not of one sample
  std::string field;  // empty: not of one field
};

std::vector<BadRow> rows_of(const Source& source, const std::vector<BadValue>& bad);
std::vector<BadRow> rows_of(const std::vector<Error>& shards);

// A line for each of the first `limit`, and one that says how many are left and, by `hint`, who
// lists them.
std::string bad_table(const std::vector<BadRow>& rows, std::uint64_t limit, std::string_view hint);

nlohmann::ordered_json to_json(const std::vector<BadRow>& rows);

}  // namespace penstock::cli
