// An Area is a part of the memory budget for one purpose, which several users share.
//
// A reservation must fit in the area and in the ledger. So no purpose can take the memory that was promised to another
// one, however much the ledger still has. An Area shares ownership of its ledger. Thread-safe.
#pragma once

#include <memory>

#include "base/memory/ledger.h"

namespace penstock {

class Area {
 public:
  Area(std::shared_ptr<Ledger> ledger, std::uint64_t bytes) : ledger_(std::move(ledger)), own_(bytes) {}

  // Returns false, and reserves nothing, if the bytes do not fit.
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
  // The size of the area.
  std::uint64_t bytes() const { return own_.budget(); }

 private:
  const std::shared_ptr<Ledger> ledger_;
  Ledger own_;
};

}  // namespace penstock
