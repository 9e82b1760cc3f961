// tf.train.Example and SequenceExample, read by feature name straight from their bytes.
//
// An Example is a SequenceExample without feature lists on the wire (features = 1, context = 1), so
// one reader serves both. Borrowed bytes throughout.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/memory/charge.h"
#include "penstock/result.h"

namespace penstock {

enum class FeatureType : std::uint8_t { kNone, kBytes, kFloat, kInteger };

// One feature as it stands in one example. Allocates nothing, however many values and steps it has.
struct Feature {
  FeatureType type = FeatureType::kNone;  // kNone: present but empty, its type unsaid
  bool is_sequence = false;
  std::uint64_t steps = 0;           // of a feature list
  std::uint64_t first_width = 0;     // values in its first step
  bool is_even = true;               // all steps have as many as the first
  std::uint64_t last_width_not_1 = 1;  // of the last step that has another number of values; 1: all have one
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
// `charge` is asked before the list grows.
Result<std::vector<NamedFeature>> list_features(ConstBytes example, const Charge& charge = {});

// The feature of this name, that of the context where a feature list has the same; fails with
// kNotFound where the example lacks it.
Result<Feature> find_feature(ConstBytes example, std::string_view name);

// The values of all steps, one after another. `out` holds exactly values().
Status read_integers(const Feature& feature, std::span<std::int64_t> out);
Status read_floats(const Feature& feature, std::span<float> out);
Status read_bytes(const Feature& feature, std::span<ConstBytes> out);
// One after another, without a list of them: empty ones take two bytes in a record and sixteen in a list. An
// error of `look` ends it.
Status for_each_bytes(const Feature& feature, const std::function<Status(ConstBytes)>& look);

}  // namespace penstock
