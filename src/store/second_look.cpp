#include "store/second_look.h"

namespace penstock {
namespace {

bool is_missing(const Result<ObjectBytes>& answer) {
  return !answer && answer.error().code == ErrorCode::kNotFound;
}

class SecondLookStore final : public Store {
 public:
  explicit SecondLookStore(std::shared_ptr<const Store> store) : store_(std::move(store)) {}

  Result<ObjectBytes> read(const ObjectRead& wanted, const Room& room) const override {
    auto answer = store_->read(wanted, room);
    return is_missing(answer) ? store_->read(wanted, room) : std::move(answer);
  }

  void start_read(ObjectRead wanted, Room room, std::stop_token stop, Done done) const override {
    ObjectRead again = wanted;
    Room room_again = room;
    store_->start_read(std::move(wanted), std::move(room), stop,
                       [store = store_.get(), again = std::move(again), room = std::move(room_again), stop,
                        done = std::move(done)](Result<ObjectBytes> answer) {
                         if (!is_missing(answer)) return done(std::move(answer));
                         store->start_read(again, room, stop, done);
                       });
  }

  std::size_t reads_ahead() const override { return store_->reads_ahead(); }
  std::size_t urgent_reads() const override { return store_->urgent_reads(); }
  Result<std::unique_ptr<Object>> open(const std::string& key) const override { return store_->open(key); }
  Result<ObjectVersion> stat(const std::string& key) const override { return store_->stat(key); }
  Result<std::vector<FolderEntry>> list(const std::string& key) const override { return store_->list(key); }

 private:
  std::shared_ptr<const Store> store_;
};

}  // namespace

std::shared_ptr<const Store> with_second_look(std::shared_ptr<const Store> store) {
  if (store->reads_ahead() == 0) return store;
  return std::make_shared<const SecondLookStore>(std::move(store));
}

}  // namespace penstock
