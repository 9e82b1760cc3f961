// The statistics of one field, which depend on its kind: channels of images and arrays, counts of labels and mask
// classes, lengths of texts.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <variant>
#include <vector>

#include "penstock/source.h"
#include "statistics/channel_statistics.h"
#include "sample/sample_worker.h"
#include "statistics/value_counts.h"

namespace penstock {

// The arguments of Normalize. It divides uint8 by 255 before anything else, so these values are divided too.
struct NormalizeValues {
  std::vector<double> mean, std;
  bool has_constant = false;  // a channel has no spread to divide by
  bool is_empty = false;      // a channel has no finite value
};

NormalizeValues normalize_values(const ChannelStatistics& statistics);

// Returns the number by which the values of a field are divided before they are shown: images are shown from 0 to 1, as
// Normalize uses them, and arrays unchanged.
double shown_divisor(FieldKind kind);

NumberSummary divided(NumberSummary summary, double divisor);

// Belongs to one thread until it is added to another.
class FieldStatistics {
 public:
  struct TextLengths {
    NumberSummary lengths;
  };
  using Contents = std::variant<ChannelStatistics, ValueCounts, TextLengths>;

  explicit FieldStatistics(const FieldInfo& field);

  void add(const SeenField& seen);
  void add(const FieldStatistics& other);
  std::uint64_t samples() const;
  const FieldInfo& field() const { return field_; }
  const Contents& contents() const { return contents_; }

  // The JSON that `penstock statistics --json` prints and that ps.statistics() is made from. `classes` are the names of
  // labels.
  nlohmann::ordered_json to_json(const std::vector<std::string>& classes) const;

 private:
  FieldInfo field_;
  Contents contents_;
};

}  // namespace penstock
