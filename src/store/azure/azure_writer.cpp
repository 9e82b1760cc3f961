#include "store/azure/azure_writer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <stop_token>

#include "base/guarded.h"
#include "base/random.h"
#include "penstock/interruption.h"
#include "store/azure/azure_answers.h"
#include "store/s3/digest.h"
#include "store/s3/uri_encoding.h"

namespace penstock {
namespace {

// 50,000 blocks are allowed, so that blobs have up to 400 GB here.
constexpr std::uint64_t kBlockBytes = 8 << 20, kMaxBlocks = 50'000;
constexpr std::size_t kMaxBlocksInFlight = 4;
// The service joins the blocks before it answers.
constexpr std::chrono::milliseconds kJoinPatience{120'000};

using BlockBuffer = std::vector<std::byte>;

// The blocks on their way; shared with the requests, which may end after the writer.
class BlockUploads {
 public:
  // Waits until fewer than `most` blocks are in flight. Fails with the error of a block, or when this thread is
  // interrupted.
  Status wait_for_fewer_than(std::size_t most, const std::string& key) PENSTOCK_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    while (!error_ && in_flight_ >= most) {
      ended_.wait_until(mutex_, ConditionVariable::Clock::now() + Interruption::kLookEvery);
      if (Interruption::is_requested()) return fail(ErrorCode::kStopped, "interrupted", {key, -1, -1, -1});
    }
    if (error_) return std::unexpected(*error_);
    return {};
  }
  void wait_for_end() PENSTOCK_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    while (in_flight_ > 0) ended_.wait(mutex_);
  }
  void begin() PENSTOCK_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    ++in_flight_;
  }
  void end(const Result<HttpAnswer>& answer) PENSTOCK_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    --in_flight_;
    if (!answer && !error_) error_ = answer.error();
    ended_.notify_all();
  }

 private:
  Mutex mutex_;
  ConditionVariable ended_;
  std::size_t in_flight_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  std::optional<Error> error_ PENSTOCK_GUARDED_BY(mutex_);
};

// Blocks belong to a blob and not to an upload, so two writers of one blob may not give them the same names. All names
// must have one length.
std::string name_of_upload() {
  static std::atomic<std::uint64_t> uploads{0};
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  Draws draws(static_cast<std::uint64_t>(now), static_cast<std::uint64_t>(::getpid()), ++uploads);
  const std::uint64_t high = draws.next_u32();
  return fmt::format("{:016x}", high << 32 | draws.next_u32());
}

class AzureWriter final : public ObjectWriter {
 public:
  AzureWriter(std::string key, AzureKey name, std::shared_ptr<const HttpStore> http, AzureLocation location)
      : key_(std::move(key)),
        name_(std::move(name)),
        http_(std::move(http)),
        location_(std::move(location)) {}
  ~AzureWriter() override { abandon(); }

  Status write(ConstBytes bytes) override {
    PENSTOCK_CHECK(check_open());
    while (!bytes.empty()) {
      if (buffer_.size() == kBlockBytes) PENSTOCK_CHECK(send_block());
      const std::size_t taken = std::min<std::size_t>(bytes.size(), kBlockBytes - buffer_.size());
      buffer_.insert(buffer_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(taken));
      bytes = bytes.subspan(taken);
    }
    return {};
  }

  Status commit() override {
    PENSTOCK_CHECK(check_open());
    if (ids_.empty()) {
      auto exchange = put({}, buffer_);
      if (!exchange) return std::unexpected(std::move(exchange).error());
      exchange->headers.push_back({"x-ms-blob-type", "BlockBlob"});
      PENSTOCK_CHECK(http_->exchange(*exchange));
    } else {
      if (!buffer_.empty()) PENSTOCK_CHECK(send_block());
      PENSTOCK_CHECK(uploads_->wait_for_fewer_than(1, key_));
      const std::string list = azure_block_list(ids_);
      auto exchange = put("comp=blocklist", text_as_bytes(list));
      if (!exchange) return std::unexpected(std::move(exchange).error());
      exchange->patience = kJoinPatience;
      PENSTOCK_CHECK(http_->exchange(*exchange));
    }
    is_over_ = true;
    return {};
  }

  // The service forgets blocks that were never joined after a week.
  void abandon() override {
    if (is_over_) return;
    is_over_ = true;
    stop_.request_stop();
    uploads_->wait_for_end();
    buffer_ = {};
  }

 private:
  Status check_open() const {
    if (!is_over_) return {};
    return fail(ErrorCode::kInvalidArgument, "the writer is committed or abandoned", {key_, -1, -1, -1});
  }

  Result<HttpExchange> put(const std::string& query, ConstBytes body) const {
    const auto url = location_.url_of(name_, query);
    if (!url) return std::unexpected(url.error());
    HttpExchange exchange;
    exchange.key = key_;
    exchange.url = url->text();
    exchange.method = "PUT";
    exchange.body = body;
    // The service compares the body with it, so that damage on its way is noticed.
    if (const auto sum = md5(body)) exchange.headers.push_back({"Content-MD5", base64(*sum)});
    return exchange;
  }

  Status send_block() {
    if (ids_.size() == kMaxBlocks)
      return fail(ErrorCode::kTooLarge, fmt::format("a blob has at most {} blocks of {} bytes", kMaxBlocks, kBlockBytes),
                  {key_, -1, -1, -1});
    PENSTOCK_CHECK(uploads_->wait_for_fewer_than(kMaxBlocksInFlight, key_));
    const std::string id = base64(text_as_bytes(fmt::format("{}{:08}", upload_, ids_.size())));
    const auto body = std::make_shared<BlockBuffer>(std::move(buffer_));
    buffer_ = {};
    auto exchange = put("comp=block&blockid=" + uri_encoded(id, false), *body);
    if (!exchange) return std::unexpected(std::move(exchange).error());
    ids_.push_back(id);
    uploads_->begin();
    http_->start_exchange(*std::move(exchange), stop_.get_token(),
                          [uploads = uploads_, body](const Result<HttpAnswer>& answer) { uploads->end(answer); });
    return {};
  }

  const std::string key_;
  const AzureKey name_;
  const std::shared_ptr<const HttpStore> http_;
  const AzureLocation location_;
  const std::shared_ptr<BlockUploads> uploads_ = std::make_shared<BlockUploads>();
  const std::string upload_ = name_of_upload();
  std::stop_source stop_;
  BlockBuffer buffer_;
  std::vector<std::string> ids_;  // of the blocks that were sent
  bool is_over_ = false;
};

}  // namespace

Result<std::unique_ptr<ObjectWriter>> make_azure_writer(std::string key, std::shared_ptr<const HttpStore> http,
                                                        AzureLocation location) {
  auto name = parse_azure_key(key);
  if (!name) return std::unexpected(std::move(name).error());
  if (name->blob.empty() || name->blob.ends_with('/'))
    return fail(ErrorCode::kInvalidArgument, "a blob needs a name", {key, -1, -1, -1});
  return std::make_unique<AzureWriter>(std::move(key), *std::move(name), std::move(http), std::move(location));
}

}  // namespace penstock
