#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "decode/example.h"

namespace {

using namespace penstock;

void promise(bool kept, const char* what) {
  if (kept) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

void read_values(const Feature& feature, ConstBytes example) {
  if (feature.is_sequence)
    promise(!feature.is_even || feature.steps * feature.first_width == feature.values(), "steps add up");
  promise(feature.values() <= example.size(), "a value takes a byte at least");
  std::vector<std::int64_t> integers(feature.values());
  std::vector<float> floats(feature.values());
  std::vector<ConstBytes> parts(feature.values());
  const bool read_as_integers = read_integers(feature, integers).has_value();  // numbers may be too long
  const bool read_as_floats = read_floats(feature, floats).has_value();
  const bool read_as_bytes = read_bytes(feature, parts).has_value();
  if (feature.values() == 0) return;
  promise(!read_as_integers || feature.type == FeatureType::kInteger, "integers only where they are");
  promise(read_as_floats == (feature.type == FeatureType::kFloat), "floats where they are");
  promise(read_as_bytes == (feature.type == FeatureType::kBytes), "bytes where they are");
  if (!read_as_bytes) return;
  for (const ConstBytes part : parts)
    promise(part.empty() || (part.data() >= example.data() &&
                             part.data() + part.size() <= example.data() + example.size()),
            "bytes lie within the example");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ConstBytes example = as_bytes(data, size);
  const auto features = list_features(example);
  for (const char* name : {"", "image", "label"})
    if (const auto feature = find_feature(example, name)) read_values(*feature, example);
  if (!features) return 0;
  bool in_context = true;
  for (const auto& [name, feature] : *features) {
    promise(in_context || feature.is_sequence, "context first");
    in_context = !feature.is_sequence;
    read_values(feature, example);
    const auto found = find_feature(example, name);
    promise(found.has_value(), "what is listed is found");
    if (found->is_sequence == feature.is_sequence)
      promise(found->entry.data() == feature.entry.data() && found->values() == feature.values(),
              "and is the same");
  }
  return 0;
}
