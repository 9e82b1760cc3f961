// Lets a decoder stop early: every few rows it checks whether its thread was interrupted.
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
