// How a decoder learns that nobody wants its result any more: it looks at the interruption of its thread,
// every few rows.
#pragma once

#include "penstock/interruption.h"
#include "penstock/result.h"

namespace penstock {

constexpr const char* kDecodingInterrupted = "decoding was interrupted";

inline Status check_decoding_wanted() {
  if (!Interruption::is_requested()) return {};
  return fail(ErrorCode::kStopped, kDecodingInterrupted);
}

}  // namespace penstock
