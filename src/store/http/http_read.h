// One read of an HTTP store, and its requests.
//
// A read is one request, or several requests for the parts of a large object. A request is tried until it succeeds or
// fails permanently. Reads and requests belong to the store's thread.
#pragma once

#include <stop_token>

#include "base/stats.h"
#include "store/http/http_exchange.h"
#include "store/http/http_response.h"
#include "store/http/http_url.h"

namespace penstock {

class HttpTransfer;
struct HttpRead;

struct HttpRequest {
  HttpRequest(HttpRead& read_, Asked asked_, std::uint64_t position_);

  HttpRead& read;
  Asked asked;
  std::uint64_t position;  // of its first byte in the memory of the read

  HttpUrl url;  // after redirects
  int redirects = 0;
  bool left_its_server = false;  // so it gets no credentials any more
  bool from_inner = false;       // the first server is within the inner network
  bool is_shortcut = false;      // begins at the target of a redirect that was remembered

  int tries = 0, failures = 0, odd_answers = 0, hedges = 0;
  bool fresh_connection = false;  // because the last one failed
  Clock::time_point first_failure{};
  Clock::time_point unsigned_since{};  // the signer has no credential yet
  bool is_waiting = false;  // in one of the engine's queues
  bool is_parked = false;   // failed, but it may lie beyond the end of the object
  bool is_void = false;     // nothing is left to ask for

  // Whether the object has these bytes is not known yet.
  bool is_guess() const { return asked.is_piece && position > 0; }

  HttpTransfer* on_wire[2] = {};     // the second one is sent when the first gives no answer
  HttpTransfer* answered = nullptr;  // the one whose answer was accepted
  Error last_error;

  int transfers() const { return (on_wire[0] != nullptr) + (on_wire[1] != nullptr); }
};

struct HttpRead {
  // A smaller part is not worth a request; if a larger one is lost, that costs too much.
  static constexpr std::uint64_t kLeastPart = 2 << 20, kMaxPart = 8 << 20, kLarge = 8 << 20;
  // For urgent reads.
  static constexpr std::uint64_t kLeastUrgentPart = 128 << 10;

  enum class Kind : std::uint8_t { kVersion, kBytes, kExchange };
  Kind kind = Kind::kBytes;
  ObjectRead wanted;
  HttpUrl url;
  Store::Allocate allocate;
  std::vector<MutableBytes> memory;  // from `allocate`, or given in advance
  std::stop_token stop;
  Store::Done done;
  HttpExchange exchange;  // of the kind kExchange, as are the next two
  HttpAnswer answer;
  std::function<void(Result<HttpAnswer>)> exchange_done;
  bool wants_reasons = false;  // as in Asked
  std::optional<std::stop_callback<std::function<void()>>> on_stop;

  // Known from the beginning, or from the first answer.
  std::optional<std::uint64_t> offset, length;
  std::optional<ObjectVersion> version;
  bool has_open_pieces = false;  // an answer told the size, and the pieces are not adapted to it yet

  std::vector<std::unique_ptr<HttpRequest>> requests;
  std::size_t requests_left = 0;

  bool is_urgent() const { return wanted.urgent_requests > 0; }
  bool is_exchange() const { return kind == Kind::kExchange; }
  // Whether it does no harm, and costs little, to send a request a second time while the first has no answer.
  bool may_hedge() const { return !is_exchange() || exchange.method == "GET" || exchange.method == "HEAD"; }
  Where where() const;
  Error error(ErrorCode code, std::string message) const;

  // Computes offset and length as far as they are known without a request. Fails if they make no sense.
  Status resolve();
  // Makes the first requests. `free_slots` more requests may be sent at once.
  void plan(std::size_t free_slots);
  // Called when an answer has told the size: pieces become ordinary parts, or void, and the rest is added.
  void settle_pieces(std::size_t free_slots);

  // Called when an answer was accepted. Allocates the memory and stores the version. An error is final.
  Status accept(const HttpRequest& request, const Verdict& verdict);
  // Writes bytes at `position` of the read's memory. Returns false if they do not fit.
  bool write(std::uint64_t position, ConstBytes bytes);
  ObjectBytes result() const;

 private:
  void add_pieces();
  void add_parts(std::uint64_t from, std::uint64_t position, std::uint64_t size, std::size_t slots,
                 std::uint64_t least);
  Status allocate_memory(std::uint64_t size);

  std::uint64_t piece_bytes_ = 0;
  bool first_brings_all_ = false;  // the answer to the first piece
  std::uint64_t memory_bytes_ = 0;
  bool has_memory_ = false;
};

}  // namespace penstock
