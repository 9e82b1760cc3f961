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

// Describes one feature of one example. Its size does not depend on the number of values and steps.
struct Feature {
  FeatureType type = FeatureType::kNone;  // kNone: present but empty, so that its type is unknown
  bool is_sequence = false;
  std::uint64_t steps = 0;           // number of steps of a feature list
  std::uint64_t first_width = 0;     // values in its first step
  bool is_even = true;               // all steps have as many values as the first
  std::uint64_t last_width_not_1 = 1;  // width of the last step whose width is not 1; 1 if there is none
  std::uint64_t total = 0;
  ConstBytes entry;  // the map entry that holds it

  std::uint64_t values() const { return total; }  // over all steps
};

struct NamedFeature {
  std::string name;
  Feature feature;
};

// Returns all features: those of the context first, then the feature lists, each sorted by name. If a name
// occurs twice, the last one counts, as in protobuf maps. `charge` is called before the list grows.
Result<std::vector<NamedFeature>> list_features(ConstBytes example, const Charge& charge = {});

// Returns the feature with this name; the context takes precedence over feature lists. Fails with kNotFound
// if the example does not have it.
Result<Feature> find_feature(ConstBytes example, std::string_view name);

// Reads the values of all steps, one after another. `out` must have values() elements.
Status read_integers(const Feature& feature, std::span<std::int64_t> out);
Status read_floats(const Feature& feature, std::span<float> out);
Status read_bytes(const Feature& feature, std::span<ConstBytes> out);
// Calls `look` for each value, and stops at its first error. No list of the values is made, because an empty
// value takes two bytes in a record but sixteen in a list.
Status for_each_bytes(const Feature& feature, const std::function<Status(ConstBytes)>& look);

}  // namespace penstock
