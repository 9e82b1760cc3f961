// A store that fails on purpose: the k-th operation, once or from then on.
//
// Operations are counted over all threads, so that a test can run a scenario once to learn how many there are and
// then fail each in turn. read() and start_read() consist of an open() and a read_at(), so they are counted only
// in a plan for them alone (FaultPlan::only).
// Thread-safe, like the store that it wraps and keeps alive.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "store/store.h"

namespace penstock {

enum class Fault : std::uint8_t {
  kEio,       // "cannot read (injected)", retryable
  kTruncate,  // the object is half as long as it was
  kChange,    // another version of the object, with the same bytes
  kMissing,
  kNoAccess,
};

enum class StoreCall : std::uint8_t {
  kOpen,
  kReadAt,
  kStat,
  kList,
  kCreate,
  kWrite,
  kCommit,
  kRead,
  kStartRead,
};

struct FaultPlan {
  std::uint64_t fail_at = 0;  // 1 is the first operation; 0: never
  bool persistent = false;    // all later operations fail as well
  Fault fault = Fault::kEio;
  // Counts and fails only calls of this kind; empty: all but kRead and kStartRead.
  std::optional<StoreCall> only;
};

class FaultStore final : public Store {
 public:
  FaultStore(std::shared_ptr<const Store> inner, FaultPlan plan)
      : inner_(std::move(inner)),
        state_(std::make_shared<State>(plan)) {}

  std::uint64_t operations() const { return state_->operations.load(); }
  std::uint64_t faults() const { return state_->faults.load(); }

  using Store::create;

  StoreTraits traits() const override { return inner_->traits(); }

  Result<std::unique_ptr<Object>> open(const std::string& key) const override {
    const bool hit = state_->hits(StoreCall::kOpen);
    if (hit && state_->is_error_anywhere()) return state_->error("open", key, -1, -1);
    auto object = inner_->open(key);
    if (!object) return object;
    ObjectVersion version = (*object)->version();
    if (hit && state_->plan.fault == Fault::kTruncate) version.size /= 2;
    if (hit && state_->plan.fault == Fault::kChange) version.modified_ns += 1;
    return std::make_unique<FaultObject>(std::move(*object), version, key, state_);
  }

  Result<ObjectVersion> stat(const std::string& key) const override {
    if (state_->hits(StoreCall::kStat) && state_->is_error_anywhere()) return state_->error("stat", key, -1, -1);
    return inner_->stat(key);
  }

  Result<KeyKind> kind_of(const std::string& key) const override {
    if (state_->hits(StoreCall::kStat) && state_->is_error_anywhere()) return state_->error("stat", key, -1, -1);
    return inner_->kind_of(key);
  }

  Status list_pages(const std::string& key, const ListOptions& options, const TakePage& take) const override {
    if (state_->hits(StoreCall::kList) && state_->is_error_anywhere()) return state_->error("list", key, -1, -1);
    return inner_->list_pages(key, options, take);
  }

  std::optional<FolderIdentity> identity_of(const std::string& key) const override { return inner_->identity_of(key); }

  Result<std::unique_ptr<ObjectWriter>> create(const std::string& key, const CreateOptions& options) const override {
    if (state_->hits(StoreCall::kCreate)) return state_->error("create", key, -1, -1);
    auto writer = inner_->create(key, options);
    if (!writer) return writer;
    return std::make_unique<FaultWriter>(std::move(*writer), key, state_);
  }

  Result<ObjectBytes> read(const ObjectRead& wanted, const Allocate& allocate) const override {
    if (state_->hits(StoreCall::kRead)) return state_->error("read", wanted.key, -1, -1);
    return Store::read(wanted, allocate);
  }

  void start_read(ObjectRead wanted, Allocate allocate, std::stop_token stop, Done done) const override {
    if (state_->hits(StoreCall::kStartRead)) return done(state_->error("read", wanted.key, -1, -1));
    if (inner_->reads_ahead() > 0)
      return inner_->start_read(std::move(wanted), std::move(allocate), std::move(stop), std::move(done));
    Store::start_read(std::move(wanted), std::move(allocate), std::move(stop), std::move(done));
  }

 private:
  struct State {
    explicit State(FaultPlan p) : plan(p) {}

    bool hits(StoreCall call) {
      const bool is_counted =
          plan.only ? call == *plan.only : call != StoreCall::kRead && call != StoreCall::kStartRead;
      if (!is_counted) return false;
      const std::uint64_t number = ++operations;
      const bool hit =
          plan.fail_at != 0 && (plan.persistent ? number >= plan.fail_at : number == plan.fail_at);
      if (hit) ++faults;
      return hit;
    }
    bool is_error_anywhere() const { return plan.fault != Fault::kTruncate && plan.fault != Fault::kChange; }
    std::unexpected<Error> error(const char* action, const std::string& key, std::int64_t offset,
                                 std::int64_t length) const {
      Error error{
          ErrorCode::kIo, std::string("cannot ") + action + " (injected)", {key, offset, length, -1}, true};
      if (plan.fault == Fault::kMissing) error.code = ErrorCode::kNotFound, error.retryable = false;
      if (plan.fault == Fault::kNoAccess) error.code = ErrorCode::kNoAccess, error.retryable = false;
      if (plan.fault == Fault::kTruncate) error.code = ErrorCode::kTruncated, error.retryable = false;
      if (plan.fault == Fault::kChange) error.code = ErrorCode::kChanged, error.retryable = false;
      return std::unexpected(error);
    }

    const FaultPlan plan;
    std::atomic<std::uint64_t> operations{0}, faults{0};
  };

  class FaultObject final : public Object {
   public:
    FaultObject(std::unique_ptr<Object> inner, ObjectVersion version, std::string key,
                std::shared_ptr<State> state)
        : Object(version),
          inner_(std::move(inner)),
          key_(std::move(key)),
          state_(std::move(state)) {}

    using Object::read_at;
    Status read_at(std::uint64_t offset, std::span<const MutableBytes> parts) override {
      const bool hit = state_->hits(StoreCall::kReadAt);
      std::uint64_t wanted = 0;
      for (const auto& part : parts) wanted += part.size();
      if (hit && state_->plan.fault != Fault::kChange)
        return state_->error("read", key_, static_cast<std::int64_t>(offset),
                             static_cast<std::int64_t>(wanted));
      if (version().size < inner_->version().size && offset + wanted > version().size)
        return fail(ErrorCode::kTruncated, "object is cut short (injected)",
                    {key_, static_cast<std::int64_t>(offset), static_cast<std::int64_t>(wanted), -1});
      return inner_->read_at(offset, parts);
    }

   private:
    std::unique_ptr<Object> inner_;
    std::string key_;
    std::shared_ptr<State> state_;
  };

  // A failure abandons the inner writer, as a real one would.
  class FaultWriter final : public ObjectWriter {
   public:
    FaultWriter(std::unique_ptr<ObjectWriter> inner, std::string key, std::shared_ptr<State> state)
        : inner_(std::move(inner)),
          key_(std::move(key)),
          state_(std::move(state)) {}

    Status write(ConstBytes bytes) override {
      return state_->hits(StoreCall::kWrite) ? fail_with("write") : inner_->write(bytes);
    }
    Status commit() override { return state_->hits(StoreCall::kCommit) ? fail_with("commit") : inner_->commit(); }
    void abandon() override { inner_->abandon(); }

   private:
    Status fail_with(const char* action) {
      inner_->abandon();
      return state_->error(action, key_, -1, -1);
    }

    std::unique_ptr<ObjectWriter> inner_;
    std::string key_;
    std::shared_ptr<State> state_;
  };

  std::shared_ptr<const Store> inner_;
  std::shared_ptr<State> state_;
};

}  // namespace penstock
