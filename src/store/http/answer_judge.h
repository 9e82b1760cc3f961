// Understands the error answers of a service, which say more than their HTTP status does.
//
// S3 answers 400 to an expired token, 403 to a wrong clock, and 404 both to a missing object and to a missing bucket;
// a code in the body tells them apart. The engine reads the beginning of such a body and asks the judge of its store.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "store/http/http_response.h"
#include "store/http/request_signer.h"

namespace penstock {

struct ServiceAnswer {
  int status;
  const HttpUrl& url;                      // that was requested
  const std::vector<HttpHeader>& headers;  // names in lower case
  std::string_view body;                   // of an error, its first 16 KiB
  bool is_exchange;                        // not a read of an object

  std::string_view header(std::string_view name) const {
    for (const HttpHeader& one : headers)
      if (one.name == name) return one.value;
    return {};
  }
};

// Called on the engine's thread; must not block. It must outlive the store's requests, which the shared_ptr in
// HttpOptions ensures.
class AnswerJudge {
 public:
  virtual ~AnswerJudge() = default;

  // `usual` is what the status alone says. It is asked for all answers that are not accepted, and for all answers to
  // exchanges, because some services begin to answer before they know whether they succeed. It returns `usual`, or
  // something better.
  virtual Verdict judge(const ServiceAnswer& answer, Verdict usual) = 0;
};

}  // namespace penstock
