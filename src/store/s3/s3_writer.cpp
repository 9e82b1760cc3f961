#include "store/s3/s3_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <future>
#include <stop_token>

#include "base/crc32c.h"
#include "base/guarded.h"
#include "penstock/interruption.h"
#include "store/s3/digest.h"
#include "store/s3/s3_answers.h"
#include "store/s3/sigv4.h"
#include "store/s3/uri_encoding.h"
#include "store/xml_reader.h"

namespace penstock {
namespace {

constexpr std::uint64_t kFirstPart = 8 << 20, kSameSize = 1000, kMaxParts = 10'000;
constexpr std::uint64_t kMaxInFlight = 32 << 20;  // bytes, or one part that is larger
// Servers join the parts before they answer.
constexpr std::chrono::milliseconds kCompletePatience{120'000};
constexpr std::chrono::seconds kAbandonPatience{5};

using Buffer = std::vector<std::byte>;

std::string crc32c_header(ConstBytes bytes) {
  const std::uint32_t sum = crc32c(bytes);
  const std::array<std::byte, 4> big = {std::byte(sum >> 24), std::byte(sum >> 16), std::byte(sum >> 8), std::byte(sum)};
  return base64(big);
}

// The parts on their way; shared with the requests, which may end after the writer.
class PartUploads {
 public:
  // Waits until `bytes` more may be in flight. Fails with the error of a part, or when this thread is interrupted.
  Status wait_for_room(std::uint64_t bytes, const std::string& key) PENSTOCK_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    while (!error_ && in_flight_bytes_ > 0 && (bytes == 0 || in_flight_bytes_ + bytes > kMaxInFlight)) {
      ended_.wait_until(mutex_, ConditionVariable::Clock::now() + Interruption::kLookEvery);
      if (Interruption::is_requested()) return fail(ErrorCode::kStopped, "interrupted", {key, -1, -1, -1});
    }
    if (error_) return std::unexpected(*error_);
    return {};
  }
  Status wait_for_all(const std::string& key) { return wait_for_room(0, key); }

  // Whatever happens to them.
  void wait_for_end() PENSTOCK_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    while (in_flight_bytes_ > 0) ended_.wait(mutex_);
  }

  Buffer take_buffer() PENSTOCK_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (free_.empty()) return {};
    Buffer buffer = std::move(free_.back());
    free_.pop_back();
    buffer.clear();
    return buffer;
  }

  void begin(S3Part part, std::uint64_t bytes) PENSTOCK_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    in_flight_bytes_ += bytes;
    parts_.push_back(std::move(part));
  }

  void end(int number, const Result<HttpAnswer>& answer, Buffer buffer) PENSTOCK_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    in_flight_bytes_ -= buffer.size();
    S3Part& part = parts_[static_cast<std::size_t>(number - 1)];
    if (answer) part.etag = answer->header("etag");
    if (!answer && !error_) error_ = answer.error();
    if (answer && part.etag.empty() && !error_)
      error_ = Error{ErrorCode::kCorrupt, "the server did not say what part it received", {}, false};
    free_.push_back(std::move(buffer));
    ended_.notify_all();
  }

  std::vector<S3Part> parts() const PENSTOCK_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return parts_;
  }

 private:
  mutable Mutex mutex_;
  ConditionVariable ended_;
  std::uint64_t in_flight_bytes_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  std::vector<S3Part> parts_ PENSTOCK_GUARDED_BY(mutex_);
  std::vector<Buffer> free_ PENSTOCK_GUARDED_BY(mutex_);
  std::optional<Error> error_ PENSTOCK_GUARDED_BY(mutex_);
};

class S3Writer final : public ObjectWriter {
 public:
  S3Writer(std::string key, S3Key name, std::shared_ptr<const HttpStore> http,
           std::shared_ptr<const S3Location> location)
      : key_(std::move(key)),
        name_(std::move(name)),
        http_(std::move(http)),
        location_(std::move(location)) {}
  ~S3Writer() override { abandon(); }

  Status write(ConstBytes bytes) override {
    PENSTOCK_CHECK(check_open());
    while (!bytes.empty()) {
      if (buffer_.size() == part_bytes()) PENSTOCK_CHECK(send_part());
      if (buffer_.capacity() == 0) buffer_ = uploads_->take_buffer();
      const std::size_t taken = std::min<std::size_t>(bytes.size(), part_bytes() - buffer_.size());
      // A small object takes little more memory than it has bytes; a part is allocated once.
      if (buffer_.capacity() < buffer_.size() + taken)
        buffer_.reserve(std::min<std::size_t>(part_bytes(), std::max(2 * buffer_.capacity(), buffer_.size() + taken)));
      buffer_.insert(buffer_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(taken));
      bytes = bytes.subspan(taken);
    }
    return {};
  }

  Status commit() override {
    PENSTOCK_CHECK(check_open());
    if (upload_id_.empty()) {
      auto exchange = body_exchange("PUT", {}, buffer_);
      if (!exchange) return std::unexpected(std::move(exchange).error());
      PENSTOCK_CHECK(http_->exchange(*exchange));
    } else {
      if (!buffer_.empty()) PENSTOCK_CHECK(send_part());
      PENSTOCK_CHECK(uploads_->wait_for_all(key_));
      PENSTOCK_CHECK(complete());
    }
    is_over_ = true;
    return {};
  }

  void abandon() override {
    if (is_over_) return;
    is_over_ = true;
    stop_.request_stop();
    uploads_->wait_for_end();
    buffer_ = {};
    if (upload_id_.empty()) return;
    // Nobody hears of a failure: the upload is invisible, and rules of the bucket remove it.
    const auto exchange = bare_exchange("DELETE", "uploadId=" + uri_encoded(upload_id_, false));
    if (!exchange) return;
    const auto ended = std::make_shared<std::promise<void>>();
    http_->start_exchange(*exchange, {}, [ended, http = http_](const Result<HttpAnswer>&) { ended->set_value(); });
    ended->get_future().wait_for(kAbandonPatience);
  }

 private:
  Status check_open() const {
    if (!is_over_) return {};
    return fail(ErrorCode::kInvalidArgument, "the writer is committed or abandoned", {key_, -1, -1, -1});
  }

  std::uint64_t part_bytes() const { return kFirstPart << (parts_sent_ / kSameSize); }

  Result<HttpExchange> bare_exchange(std::string method, const std::string& query) const {
    const auto url = location_->url_of(name_, query);
    if (!url) return std::unexpected(url.error());
    HttpExchange exchange;
    exchange.key = key_;
    exchange.url = url->text();
    exchange.method = std::move(method);
    exchange.payload_sha256 = kEmptySha256;
    return exchange;
  }

  Result<HttpExchange> body_exchange(std::string method, const std::string& query, ConstBytes body) const {
    auto exchange = bare_exchange(std::move(method), query);
    if (!exchange) return exchange;
    exchange->body = body;
    // Encryption protects the body on its way; without it, the signature covers its digest.
    exchange->payload_sha256 = location_->is_encrypted() ? std::string(kUnsignedPayload) : hexadecimal(sha256(body));
    if (location_->is_aws()) exchange->headers.push_back({"x-amz-checksum-crc32c", crc32c_header(body)});
    return exchange;
  }

  Status begin_upload() {
    auto exchange = bare_exchange("POST", "uploads=");
    if (!exchange) return std::unexpected(std::move(exchange).error());
    if (location_->is_aws()) exchange->headers.push_back({"x-amz-checksum-algorithm", "CRC32C"});
    const auto answer = http_->exchange(*exchange);
    if (!answer) return std::unexpected(answer.error());
    upload_id_ = xml_text_at(answer->body, "InitiateMultipartUploadResult/UploadId");
    if (!upload_id_.empty()) return {};
    return fail(ErrorCode::kCorrupt, "the server began an upload and did not say which", {key_, -1, -1, -1});
  }

  Status send_part() {
    if (upload_id_.empty()) PENSTOCK_CHECK(begin_upload());
    if (parts_sent_ == kMaxParts)
      return fail(ErrorCode::kTooLarge, "the object is larger than S3 allows", {key_, -1, -1, -1});
    PENSTOCK_CHECK(uploads_->wait_for_room(buffer_.size(), key_));
    const int number = static_cast<int>(++parts_sent_);
    const auto buffer = std::make_shared<Buffer>(std::move(buffer_));
    buffer_ = {};
    auto exchange = body_exchange(
        "PUT", fmt::format("partNumber={}&uploadId={}", number, uri_encoded(upload_id_, false)), *buffer);
    if (!exchange) return std::unexpected(std::move(exchange).error());
    S3Part part;
    part.number = number;
    if (location_->is_aws()) part.crc32c = exchange->headers.back().value;
    uploads_->begin(std::move(part), buffer->size());
    http_->start_exchange(*std::move(exchange), stop_.get_token(),
                          [uploads = uploads_, buffer, number](const Result<HttpAnswer>& answer) {
                            uploads->end(number, answer, std::move(*buffer));
                          });
    return {};
  }

  Status complete() {
    const std::vector<S3Part> parts = uploads_->parts();
    const std::string xml = complete_upload_xml(parts);
    auto exchange = bare_exchange("POST", "uploadId=" + uri_encoded(upload_id_, false));
    if (!exchange) return std::unexpected(std::move(exchange).error());
    exchange->body = text_as_bytes(xml);
    exchange->payload_sha256 = hexadecimal(sha256(exchange->body));
    exchange->headers.push_back({"Content-Type", "application/xml"});
    exchange->patience = kCompletePatience;
    const auto answer = http_->exchange(*exchange);
    if (answer && !xml_text_at(answer->body, "CompleteMultipartUploadResult/ETag").empty()) return {};
    // The answer to an earlier try may have been lost, and the upload is gone because it was completed.
    const bool may_be_complete = answer || answer.error().code == ErrorCode::kNotFound || answer.error().retryable;
    if (may_be_complete && is_there(etag_of_parts(parts))) return {};
    if (answer) return fail(ErrorCode::kIo, "the server did not say that the upload is complete", {key_, -1, -1, -1});
    Error error = answer.error();
    // A missing upload is not a missing object.
    if (error.code == ErrorCode::kNotFound) error.code = ErrorCode::kIo;
    return std::unexpected(std::move(error));
  }

  bool is_there(const std::string& etag) const {
    if (etag.empty()) return false;
    const auto exchange = bare_exchange("HEAD", "");
    if (!exchange) return false;
    const auto answer = http_->exchange(*exchange);
    return answer && answer->header("etag").find(etag) != std::string_view::npos;
  }

  const std::string key_;
  const S3Key name_;
  const std::shared_ptr<const HttpStore> http_;
  const std::shared_ptr<const S3Location> location_;
  const std::shared_ptr<PartUploads> uploads_ = std::make_shared<PartUploads>();
  std::stop_source stop_;
  Buffer buffer_;
  std::string upload_id_;  // empty: no upload was begun
  std::uint64_t parts_sent_ = 0;
  bool is_over_ = false;
};

}  // namespace

Result<std::unique_ptr<ObjectWriter>> make_s3_writer(std::string key, std::shared_ptr<const HttpStore> http,
                                                     std::shared_ptr<const S3Location> location) {
  auto name = parse_s3_key(key);
  if (!name) return std::unexpected(std::move(name).error());
  if (name->name.empty() || name->name.ends_with('/'))
    return fail(ErrorCode::kInvalidArgument, "an object needs a name", {key, -1, -1, -1});
  return std::make_unique<S3Writer>(std::move(key), *std::move(name), std::move(http), std::move(location));
}

}  // namespace penstock
