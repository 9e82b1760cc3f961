// The memory that opening a source may use: reserve first, then allocate, as a loader does with its budget.
//
// A source is opened before there is a loader, and a small compressed file may claim to hold anything. Memory that is
// held only while the source is opened (records and archives that are examined, chunks of coordinates and labels,
// decompressors) is reserved from a working area. The index stays and belongs to the source: it grows with the data
// that is stored. If it grows much faster than that, the difference is limited too.
//
// Functions find the OpeningMemory of their thread, as with Interruption; functions that start threads pass it on to
// them. Without one nothing is limited. Several threads may use the same OpeningMemory at the same time; a Scope or a
// Begin belongs to the thread that made it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/memory/ledger.h"
#include "penstock/result.h"

namespace penstock {

class OpeningMemory {
 public:
  // `bytes` 0 means the default budget of a loader.
  explicit OpeningMemory(std::uint64_t bytes);

  std::uint64_t bytes() const { return working_.budget(); }
  Ledger& working() { return working_; }
  // For indexes that are larger than the stored bytes explain. Reservations here are never released.
  Ledger& surplus_index() { return surplus_index_; }

  // Returns the OpeningMemory of this thread, or nullptr if it has none.
  static OpeningMemory* current() { return slot(); }
  // Returns the smaller of this thread's budget, if it has one, and `otherwise`.
  static std::uint64_t at_most(std::uint64_t otherwise);

  // Makes `memory` that of this thread for the lifetime of the scope.
  class Scope {
   public:
    explicit Scope(OpeningMemory* memory) : before_(std::exchange(slot(), memory)) {}
    Scope(const Scope&) = delete;
    ~Scope() { slot() = before_; }

   private:
    OpeningMemory* const before_;
  };

  // Makes a new one for this thread, unless it has one already: a source that opens other sources shares its own with
  // them.
  class Begin {
   public:
    explicit Begin(std::uint64_t bytes)
        : own_(current() != nullptr ? nullptr : std::make_unique<OpeningMemory>(bytes)),
          scope_(own_ ? own_.get() : current()) {}

   private:
    const std::unique_ptr<OpeningMemory> own_;
    const Scope scope_;
  };

 private:
  static OpeningMemory*& slot() {
    thread_local OpeningMemory* mine = nullptr;
    return mine;
  }

  Ledger working_;
  Ledger surplus_index_;
};

// Bytes of the working area, which are released when this is destroyed. Belongs to one thread.
class OpeningReservation {
 public:
  OpeningReservation() = default;
  OpeningReservation(OpeningReservation&& other) noexcept
      : memory_(std::exchange(other.memory_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)) {}
  OpeningReservation& operator=(OpeningReservation&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~OpeningReservation();

  // Reserves more from this thread's memory. Fails with kNoMemory; the message says what does not fit, and where.
  Status add(std::uint64_t bytes, std::string_view what, const Where& where);

 private:
  OpeningMemory* memory_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace penstock
