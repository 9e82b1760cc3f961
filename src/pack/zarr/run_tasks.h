// Runs numbered tasks on a few threads.
#pragma once

#include <cstdint>
#include <functional>

#include "penstock/result.h"

namespace penstock {

// Calls work(thread, task) for every task, in ascending order of claims, on as many threads. Stops after the first
// failure and returns it. `go_on` is called on the calling thread now and then; once it returns false, and once this
// thread is interrupted, no task is begun any more, reads of the threads are interrupted, and kStopped is returned.
Status run_tasks(unsigned threads, std::uint64_t tasks,
                 const std::function<Status(unsigned thread, std::uint64_t task)>& work,
                 const std::function<bool()>& go_on);

}  // namespace penstock
