// One read of an HTTP store, and the requests it is made of.
//
// A read is one request, or several for parts of a large one. A request is tried until it succeeds
// or fails for good. All of this lives on the store's own thread.
#pragma once

#include <stop_token>

#include "base/stats.h"
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
  bool left_its_server = false;  // no credentials for where we are now
  bool from_inner = false;       // the first server is within the inner network

  int tries = 0, failures = 0, odd_answers = 0, hedges = 0;
  bool fresh_connection = false;  // the last one failed us
  Clock::time_point first_failure{};
  bool is_waiting = false;  // in one of the engine's queues
  bool is_parked = false;   // failed, but it may lie beyond the end of the object
  bool is_void = false;     // nothing is left to ask for

  // Whether there are such bytes is not known yet.
  bool is_guess() const { return asked.is_piece && position > 0; }

  HttpTransfer* on_wire[2] = {};     // a second one where the first gives no answer
  HttpTransfer* answered = nullptr;  // the one whose answer was accepted
  Error last_error;

  int transfers() const { return (on_wire[0] != nullptr) + (on_wire[1] != nullptr); }
};

struct HttpRead {
  // Parts below this are not worth a request; above the other, losing one costs too much.
  static constexpr std::uint64_t kLeastPart = 2 << 20, kMaxPart = 8 << 20, kLarge = 8 << 20;
  // Of reads that somebody waits for.
  static constexpr std::uint64_t kLeastUrgentPart = 128 << 10;

  enum class Kind : std::uint8_t { kVersion, kBytes };
  Kind kind = Kind::kBytes;
  ObjectRead wanted;
  HttpUrl url;
  Store::Room room;
  std::vector<MutableBytes> memory;  // from `room`, or given beforehand
  std::stop_token stop;
  Store::Done done;
  std::optional<std::stop_callback<std::function<void()>>> on_stop;

  // Known from the beginning or learnt from the first answer.
  std::optional<std::uint64_t> offset, length;
  std::optional<ObjectVersion> version;
  bool has_open_pieces = false;  // an answer told the size; the pieces do not know it yet

  std::vector<std::unique_ptr<HttpRequest>> requests;
  std::size_t requests_left = 0;

  bool is_urgent() const { return wanted.urgent_requests > 0; }
  Where where() const;
  Error error(ErrorCode code, std::string message) const;

  // Offset and length as far as they are known without asking; an error where they make no sense.
  Status resolve();
  // The first requests; `free_slots` more requests may be sent at once.
  void plan(std::size_t free_slots);
  // Now that an answer tells the size: pieces become parts like others, or void; what follows them is
  // added.
  void settle_pieces(std::size_t free_slots);

  // An answer was accepted: memory is made, the version noted. An error is final.
  Status accept(const HttpRequest& request, const Verdict& verdict);
  // Bytes at `position` of the read's memory; false where they do not fit.
  bool write(std::uint64_t position, ConstBytes bytes);
  ObjectBytes result() const;

 private:
  void add_pieces();
  void add_parts(std::uint64_t from, std::uint64_t position, std::uint64_t size, std::size_t slots,
                 std::uint64_t least);
  Status make_room(std::uint64_t size);

  std::uint64_t piece_bytes_ = 0;
  bool first_brings_all_ = false;  // the answer to the first piece
  std::uint64_t room_bytes_ = 0;
  bool has_room_ = false;
};

}  // namespace penstock
