// Lists the bad samples and shards of a data set, as a table and as JSON.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

#include "penstock/source.h"
#include "statistics/visit_samples.h"

namespace penstock::cli {

struct BadRow {
  Error error;
  std::string key;    // of the sample; empty if the error does not concern one sample
  std::string field;  // empty if the error does not concern one field
};

std::vector<BadRow> rows_of(const Source& source, const std::vector<BadValue>& bad);
std::vector<BadRow> rows_of(const std::vector<Error>& shards);

// Returns one line for each of the first `limit` rows, and a line that says how many more there are and, with
// `hint`, which command lists them.
std::string bad_table(const std::vector<BadRow>& rows, std::uint64_t limit, std::string_view hint);

nlohmann::ordered_json to_json(const std::vector<BadRow>& rows);

}  // namespace penstock::cli
