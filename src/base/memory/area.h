// A part of the memory budget that is set aside for one purpose and that several users share: none of them
// can take what was promised to another purpose, however much the ledger still has.
#pragma once

#include <memory>

#include "base/memory/ledger.h"

namespace penstock {

// Thread-safe.
class Area {
 public:
  Area(std::shared_ptr<Ledger> ledger, std::uint64_t bytes) : ledger_(std::move(ledger)), own_(bytes) {}

  bool try_reserve(std::uint64_t bytes) {
    if (!own_.try_reserve(bytes)) return false;
    if (ledger_->try_reserve(bytes)) return true;
    own_.release(bytes);
    return false;
  }
  void release(std::uint64_t bytes) {
    ledger_->release(bytes);
    own_.release(bytes);
  }
  std::uint64_t bytes() const { return own_.budget(); }

 private:
  const std::shared_ptr<Ledger> ledger_;
  Ledger own_;
};

}  // namespace penstock
