// Failed system calls on files, as errors.
#pragma once

#include <string_view>

#include "penstock/result.h"

namespace penstock {

// "cannot read (Input/output error)". `number` is the errno of the call; it decides the code of the error and
// whether a later call may succeed.
std::unexpected<Error> file_error(std::string_view action, int number, Where where);

}  // namespace penstock
