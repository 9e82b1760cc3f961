#include "store/second_look.h"

namespace penstock {
namespace {

bool is_missing(const Result<ObjectBytes>& answer) {
  return !answer && answer.error().code == ErrorCode::kNotFound;
}

class SecondLookStore final : public Store {
 public:
  explicit SecondLookStore(std::shared_ptr<const Store> store) : store_(std::move(store)) {}

  Result<ObjectBytes> read(const ObjectRead& wanted, const Allocate& allocate) const override {
    auto answer = store_->read(wanted, allocate);
    return is_missing(answer) ? store_->read(wanted, allocate) : std::move(answer);
  }

  void start_read(ObjectRead wanted, Allocate allocate, std::stop_token stop, Done done) const override {
    ObjectRead again = wanted;
    Allocate allocate_again = allocate;
    store_->start_read(std::move(wanted), std::move(allocate), stop,
                       [store = store_.get(), again = std::move(again), allocate = std::move(allocate_again), stop,
                        done = std::move(done)](Result<ObjectBytes> answer) {
                         if (!is_missing(answer)) return done(std::move(answer));
                         store->start_read(again, allocate, stop, done);
                       });
  }

  StoreTraits traits() const override { return store_->traits(); }
  Result<std::unique_ptr<Object>> open(const std::string& key) const override { return store_->open(key); }
  Result<ObjectVersion> stat(const std::string& key) const override { return store_->stat(key); }
  Result<KeyKind> kind_of(const std::string& key) const override { return store_->kind_of(key); }
  Status list_pages(const std::string& key, const ListOptions& options, const TakePage& take) const override {
    return store_->list_pages(key, options, take);
  }
  std::optional<FolderIdentity> identity_of(const std::string& key) const override { return store_->identity_of(key); }
  Result<std::unique_ptr<ObjectWriter>> create(const std::string& key, const CreateOptions& options) const override {
    return store_->create(key, options);
  }

 private:
  std::shared_ptr<const Store> store_;
};

}  // namespace

std::shared_ptr<const Store> with_second_look(std::shared_ptr<const Store> store) {
  if (store->traits().has_cheap_random_access) return store;
  return std::make_shared<const SecondLookStore>(std::move(store));
}

}  // namespace penstock
