#include "fetch/entries/wanted_samples.h"

#include "source/chunked_array.h"
#include "source/source_storage.h"

namespace penstock {

WantedEntries::State WantedSamples::look(const Has& has, const std::stop_token& stop) {
  const bool is_ended = is_ended_;  // read first: an entry may be added, and then the loader closed, during the look
  const bool is_in = is_settled_ || are_all_in(has, stop);
  if (is_ended && (!is_in || was_copied_)) return State::kGivenUp;
  was_copied_ = is_ended;
  return is_in ? State::kAllIn : State::kNotYet;
}

// Continues where the last look ended, because entries are never evicted.
bool WantedSamples::are_all_in(const Has& has, const std::stop_token& stop) {
  const Source& source = keys_->source();
  const auto& arrays = source.storage().arrays;
  for (; next_array_ < arrays.size(); ++next_array_, next_chunk_ = 0)
    for (; next_chunk_ < arrays[next_array_]->chunks(); ++next_chunk_)
      if (stop.stop_requested() || !has(keys_->of(ChunkId{next_array_, next_chunk_}))) return false;
  if (!arrays.empty()) return true;
  for (; next_sample_ < source.size(); ++next_sample_)
    if (stop.stop_requested() || !keys_->every_key(next_sample_, has)) return false;
  return true;
}

}  // namespace penstock
