// What is worth knowing of one field, by its kind: channels of images and arrays, counts of labels
// and mask classes, lengths of texts.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <variant>
#include <vector>

#include "channel_statistics.h"
#include "penstock/source.h"
#include "pipeline/sample_worker.h"
#include "value_counts.h"

namespace penstock::cli {

// Belongs to one thread until it is joined to another.
class FieldStatistics {
 public:
  explicit FieldStatistics(const FieldInfo& field);

  void add(const SampleWorker::Seen& seen);
  void add(const FieldStatistics& other);
  std::uint64_t samples() const;
  const FieldInfo& field() const { return field_; }

  // Several lines; class names stand beside the labels they belong to.
  std::string describe(const std::vector<std::string>& classes) const;
  nlohmann::ordered_json to_json(const std::vector<std::string>& classes) const;

 private:
  struct TextLengths {
    Moments lengths;
  };

  FieldInfo field_;
  std::variant<ChannelStatistics, ValueCounts, TextLengths> statistics_;
};

}  // namespace penstock::cli
