// A sample that is finished later and elsewhere, for example by a device queue or by another process.
//
// A maker that wants to finish a sample later asks the Deferral of the call for a DeferredSample. That holds memory of
// a bounded area, which was reserved when the loader was opened, and no scratch of the worker. Any thread may finish
// the sample: it writes the sample into its slot of the batch and calls complete() exactly once. Until then the batch,
// its memory and the epoch exist.
//
//   Result<Outcome> GpuMaker::make(const SampleTask& task, const BatchTarget& batch, std::uint64_t index, Deferral& deferral) {
//     DeferredSample later = deferral.defer(encoded_bytes);
//     if (!later) return make_here(task, batch, index);   // too much is in flight
//     read_into(later.memory());
//     queue_.push(std::move(later), slot_of(batch, index));
//     return Outcome::kDeferred;
//   }
//
// When the epoch is cancelled, a stop is requested from revoked(). The work may then be aborted, but complete() must
// still be called, and cancelling waits for it.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <utility>

#include "base/bytes.h"
#include "base/memory/area_memory.h"
#include "penstock/result.h"

namespace penstock {

// Move-only. Not thread-safe, but it may be passed from one thread to another.
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
  // A stop is requested from this token when the epoch is cancelled and the sample is not needed any more.
  const std::stop_token& revoked() const { return revoked_; }

  // Reports that the sample is in its slot, or failed. Releases the memory first, so that the next sample can have it.
  void complete(Status status) {
    memory_ = AreaMemory();
    const Done done = std::exchange(done_, nullptr);
    done(std::move(status));
  }

 private:
  // Fails a sample that is dropped without complete(), because its batch would wait forever.
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
  // May be called once per sample. If the result is not empty, the maker must return kDeferred. It is empty if the area
  // for samples in flight has no memory left.
  virtual DeferredSample defer(std::size_t bytes) = 0;
};

}  // namespace penstock
