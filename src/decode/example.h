// tf.train.Example and SequenceExample, read by feature name straight from their bytes.
//
// An Example is a SequenceExample without feature lists on the wire (features = 1, context = 1), so
// one reader serves both. Borrowed bytes throughout.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "penstock/result.h"

namespace penstock {

enum class FeatureType : std::uint8_t { kNone, kBytes, kFloat, kInteger };

// One feature as it stands in one example. A plain feature allocates nothing.
struct Feature {
  FeatureType type = FeatureType::kNone;  // kNone: present but empty, its type unsaid
  bool is_sequence = false;
  std::vector<std::uint64_t> counts;  // of a feature list: the values in each step
  std::uint64_t total = 0;
  ConstBytes entry;  // the map entry that holds it

  std::uint64_t values() const { return total; }  // over all steps
};

struct NamedFeature {
  std::string name;
  Feature feature;
};

// All features, context first, each sorted by name. A name that occurs twice counts once: the last
// one, as protobuf maps have it.
Result<std::vector<NamedFeature>> list_features(ConstBytes example);

// The feature of this name, that of the context where a feature list has the same; fails with
// kNotFound where the example lacks it.
Result<Feature> find_feature(ConstBytes example, std::string_view name);

// The values of all steps, one after another. `out` holds exactly values().
Status read_integers(const Feature& feature, std::span<std::int64_t> out);
Status read_floats(const Feature& feature, std::span<float> out);
Status read_bytes(const Feature& feature, std::span<ConstBytes> out);
Result<std::vector<ConstBytes>> read_bytes(const Feature& feature);

}  // namespace penstock
