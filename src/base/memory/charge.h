// Lets a function ask its caller for permission before it allocates.
#pragma once

#include <cstdint>
#include <functional>

#include "penstock/result.h"

namespace penstock {

// Fails if the callee may not allocate this many bytes more. Empty: there is no limit.
using Charge = std::function<Status(std::uint64_t bytes)>;

inline Status ask(const Charge& charge, std::uint64_t bytes) { return charge ? charge(bytes) : Status(); }

}  // namespace penstock
