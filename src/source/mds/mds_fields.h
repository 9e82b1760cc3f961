// The fields of an MDS data set: what each column of its samples becomes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "penstock/source.h"
#include "source/mds/mds_encoding.h"
#include "source/mds/mds_index.h"

namespace penstock {

struct MdsField {
  FieldInfo info;
  MdsEncoding encoding;
  std::optional<ArraySpec> elements;  // the type and shape that the user gives to bytes
  std::vector<int> columns;           // per layout the position of its column; -1: shards of this layout have none
  // For a column that holds several images: the image of this field, and how many there are in a sample.
  std::uint32_t image = 0, images = 0;
};

// One field per column. Columns that are never read, such as pickles, are left out with a warning, unless the user asks
// for their bytes by kinds=. `count_images` tells how many images the values of such a column have. Fails where
// shards store the same column differently.
Result<std::vector<MdsField>> plan_mds_fields(const MdsIndex& index, const OpenOptions& options, const std::string& uri,
                                              const std::function<Result<std::uint32_t>(const MdsField&)>& count_images);

// Where the value of a column begins and ends in a sample. Fails unless the sizes in the sample add up to its own.
Result<ConstBytes> find_mds_column(const std::vector<MdsColumn>& columns, std::size_t column, ConstBytes sample);

}  // namespace penstock
