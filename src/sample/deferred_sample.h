// A sample that is finished later, elsewhere: by a device queue, or by another process.
//
// A maker that wants to finish a sample later asks the Deferral that comes with it. It gets a DeferredSample, which
// holds memory of a bounded area that was divided off when the loader was opened, and no scratch of the worker. Whoever
// finishes the sample writes it into its slot of the batch and calls complete(), from any thread, exactly once. Until
// then the batch, its memory and the epoch stay.
//
//   Result<Outcome> GpuMaker::make(const SampleTask& task, const BatchTarget& batch, std::uint64_t index, Deferral& deferral) {
//     DeferredSample later = deferral.defer(encoded_bytes);
//     if (!later) return make_here(task, batch, index);   // too much is in flight
//     read_into(later.memory());
//     queue_.push(std::move(later), slot_of(batch, index));
//     return Outcome::kDeferred;
//   }
//
// When the epoch is cancelled, revoked() is requested. The work may be broken off then; complete() is called all the
// same, and cancelling waits for it.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <utility>

#include "base/bytes.h"
#include "base/memory/area_memory.h"
#include "penstock/result.h"

namespace penstock {

// Movable; not thread-safe, but it may be handed from thread to thread.
class DeferredSample {
 public:
  using Done = std::function<void(Status)>;

  DeferredSample() = default;  // empty
  DeferredSample(AreaMemory memory, std::size_t bytes, std::stop_token revoked, Done done)
      : memory_(std::move(memory)),
        bytes_(bytes),
        revoked_(std::move(revoked)),
        done_(std::move(done)) {}
  DeferredSample(DeferredSample&& other) noexcept { *this = std::move(other); }
  DeferredSample& operator=(DeferredSample&& other) noexcept {
    abandon();
    memory_ = std::move(other.memory_);
    bytes_ = std::exchange(other.bytes_, 0);
    revoked_ = std::move(other.revoked_);
    done_ = std::exchange(other.done_, nullptr);
    return *this;
  }
  ~DeferredSample() { abandon(); }

  explicit operator bool() const { return done_ != nullptr; }
  MutableBytes memory() const { return {memory_.data(), bytes_}; }
  // Nobody wants the sample any more.
  const std::stop_token& revoked() const { return revoked_; }

  // The sample is in its slot, or failed. Gives the memory back first, so that the next sample finds it.
  void complete(Status status) {
    memory_ = AreaMemory();
    const Done done = std::exchange(done_, nullptr);
    done(std::move(status));
  }

 private:
  // A sample that is dropped must not leave its batch waiting for ever.
  void abandon() {
    if (done_) complete(fail(ErrorCode::kStopped, "the sample was not finished"));
  }

  AreaMemory memory_;
  std::size_t bytes_ = 0;
  std::stop_token revoked_;
  Done done_;
};

// The offer to finish one sample later. Borrowed for one call of SampleMaker::make().
class Deferral {
 public:
  virtual ~Deferral() = default;
  // Empty where the area for samples in flight has no memory left. At most once for each sample; the maker must then
  // return kDeferred.
  virtual DeferredSample defer(std::size_t bytes) = 0;
};

}  // namespace penstock
