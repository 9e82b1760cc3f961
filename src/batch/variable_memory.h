// Memory for what varies from sample to sample (texts, ragged arrays), within an area of the budget.
//
// Batches leave in order, so the next one to leave must always be able to go on: it may use half of
// the area, all batches behind it together the other half. Whether a batch fits is thus decided by
// the budget alone. Where several epochs are under way, each has a next batch; they may be refused too
// while others of them hold memory, which the scheduler then takes from them. A worker that is refused
// drops the sample, and it is made again later; nobody ever waits here. Thread-safe; lives as long as
// the last batch that was lent.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "base/memory/ledger.h"

namespace penstock {

// What one batch holds. Touched only by VariableMemory.
struct VariableShare {
  std::uint64_t bytes = 0;
  bool is_next = false;
};

class VariableMemory : public std::enable_shared_from_this<VariableMemory> {
 public:
  VariableMemory(std::shared_ptr<Ledger> ledger, std::uint64_t area_bytes)
      : ledger_(std::move(ledger)),
        half_bytes_(area_bytes / 2) {}

  enum class Answer : std::uint8_t {
    kYes,
    kLater,  // not while other batches stand before this one, or other epochs hold the memory
    kNever,  // this batch takes more than any batch may
  };
  Answer take(VariableShare& share, std::uint64_t bytes);
  void give_back(VariableShare& share, std::uint64_t bytes);
  // All of it: the batch is not made after all.
  void drop(VariableShare& share);
  // Is a batch behind the next one to leave worth going on with?
  bool is_short() const;
  // Is a next batch that was refused worth trying again?
  bool is_short_for_next() const;

  // The batch is the next one to leave.
  void promote(VariableShare& share);
  // To the user: what the token's last copy takes along.
  std::shared_ptr<void> lend(VariableShare& share);

  std::uint64_t max_bytes_per_batch() const { return half_bytes_; }
  std::string describe_too_large(const char* what) const;
  // Called (from any thread) when lent memory came back. Empty: nobody.
  void on_return(std::function<void()> callback);

 private:
  void receive(std::uint64_t bytes);

  const std::shared_ptr<Ledger> ledger_;
  const std::uint64_t half_bytes_;
  mutable std::mutex mutex_;
  std::uint64_t next_ = 0, behind_ = 0, lent_ = 0;
  bool is_short_ = false, is_short_for_next_ = false;
  std::mutex callback_mutex_;  // of its own: the callback takes the mutex of whoever calls take()
  std::function<void()> callback_;
};

}  // namespace penstock
