// Memory that is not the callee's to decide about: asked for before it is taken.
#pragma once

#include <cstdint>
#include <functional>

#include "penstock/result.h"

namespace penstock {

// Says whether so many bytes more may be taken. Empty: any number.
using Charge = std::function<Status(std::uint64_t bytes)>;

inline Status ask(const Charge& charge, std::uint64_t bytes) { return charge ? charge(bytes) : Status(); }

}  // namespace penstock
