// The memory that opening a source may take: reserve, then allocate, as a loader does with its budget.
//
// A source is opened before there is a loader, and a small compressed file may claim to hold anything. What
// is held only while the source is opened (records and archives that are looked at, chunks of coordinates and
// labels, decompressors) is reserved from a working area. What stays, the index, is the source's own: it grows
// with the data that is stored. Where it grows much faster than that, the difference is limited too.
//
// Functions find the one of their thread, as with Interruption; those that start threads hand it to them.
// Without one nothing is limited. Thread-safe.
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
  // 0: as much as a loader takes by default.
  explicit OpeningMemory(std::uint64_t bytes);

  std::uint64_t bytes() const { return working_.budget(); }
  Ledger& working() { return working_; }
  // For indexes beyond what the stored bytes account for; nothing of it is given back.
  Ledger& surplus_index() { return surplus_index_; }

  // Of this thread; nullptr: none.
  static OpeningMemory* current() { return slot(); }
  // The budget of this thread's, or `otherwise` where that is less.
  static std::uint64_t at_most(std::uint64_t otherwise);

  // While it lives, `memory` is that of this thread.
  class Scope {
   public:
    explicit Scope(OpeningMemory* memory) : before_(std::exchange(slot(), memory)) {}
    Scope(const Scope&) = delete;
    ~Scope() { slot() = before_; }

   private:
    OpeningMemory* const before_;
  };

  // Makes one and its scope, unless the thread has one: a source that opens others shares its own with them.
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

// Bytes of the working area, given back when it goes. Belongs to one thread.
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

  // Takes more from the memory of this thread. The error says what does not fit, and names `where`.
  Status add(std::uint64_t bytes, std::string_view what, const Where& where);

 private:
  OpeningMemory* memory_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace penstock
