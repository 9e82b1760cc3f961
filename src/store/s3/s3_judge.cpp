#include "store/s3/s3_judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "store/xml_reader.h"

namespace penstock {
namespace {

using Next = Verdict::Next;

struct CodeRule {
  std::string_view code;
  Next next;
  ErrorCode error;
  std::string_view what;
};

// Codes that are not listed keep what their status says.
constexpr std::array kRules = {
    CodeRule{"SlowDown", Next::kRetry, ErrorCode::kIo, "server asks to come later"},
    CodeRule{"RequestTimeout", Next::kRetry, ErrorCode::kIo, "the request took the server too long"},
    CodeRule{"InternalError", Next::kRetry, ErrorCode::kIo, "server failed"},
    CodeRule{"ServiceUnavailable", Next::kRetry, ErrorCode::kIo, "server asks to come later"},
    CodeRule{"Busy", Next::kRetry, ErrorCode::kIo, "server asks to come later"},
    CodeRule{"RequestLimitExceeded", Next::kRetry, ErrorCode::kIo, "server asks to come later"},
    CodeRule{"BandwidthLimitExceeded", Next::kRetry, ErrorCode::kIo, "server asks to come later"},
    CodeRule{"Throttling", Next::kRetry, ErrorCode::kIo, "server asks to come later"},
    CodeRule{"ThrottlingException", Next::kRetry, ErrorCode::kIo, "server asks to come later"},
    CodeRule{"OperationAborted", Next::kRetry, ErrorCode::kIo, "another operation is in the way"},
    CodeRule{"BadDigest", Next::kRetryBriefly, ErrorCode::kCorrupt, "the body was damaged on its way"},
    CodeRule{"XAmzContentSHA256Mismatch", Next::kRetryBriefly, ErrorCode::kCorrupt, "the body was damaged on its way"},
    CodeRule{"IncompleteBody", Next::kRetryBriefly, ErrorCode::kIo, "the body did not arrive"},
    CodeRule{"ExpiredToken", Next::kRenew, ErrorCode::kNoAccess, "the credentials have expired"},
    CodeRule{"TokenRefreshRequired", Next::kRenew, ErrorCode::kNoAccess, "the credentials have expired"},
    CodeRule{"RequestTimeTooSkewed", Next::kSignAgain, ErrorCode::kNoAccess, "the clock of this machine is wrong"},
    CodeRule{"RequestExpired", Next::kSignAgain, ErrorCode::kNoAccess, "the clock of this machine is wrong"},
    CodeRule{"NoSuchKey", Next::kFail, ErrorCode::kNotFound, "no such object"},
    CodeRule{"NoSuchVersion", Next::kFail, ErrorCode::kNotFound, "no such object"},
    CodeRule{"NoSuchUpload", Next::kFail, ErrorCode::kNotFound, "no such upload"},
    // Not kNotFound: a missing chunk of an array has a meaning, and a missing bucket must never be taken for one.
    CodeRule{"NoSuchBucket", Next::kFail, ErrorCode::kInvalidArgument, "there is no such bucket"},
    CodeRule{"InvalidBucketName", Next::kFail, ErrorCode::kInvalidArgument, "there is no such bucket"},
    CodeRule{"AccessDenied", Next::kFail, ErrorCode::kNoAccess, "access refused"},
    CodeRule{"AllAccessDisabled", Next::kFail, ErrorCode::kNoAccess, "access refused"},
    CodeRule{"AccountProblem", Next::kFail, ErrorCode::kNoAccess, "access refused"},
    CodeRule{"InvalidAccessKeyId", Next::kFail, ErrorCode::kNoAccess, "the server does not know these credentials"},
    CodeRule{"InvalidToken", Next::kFail, ErrorCode::kNoAccess, "the server does not know these credentials"},
    CodeRule{"InvalidSecurity", Next::kFail, ErrorCode::kNoAccess, "the server does not know these credentials"},
    CodeRule{"SignatureDoesNotMatch", Next::kFail, ErrorCode::kNoAccess,
             "the secret key does not fit the access key"},
    CodeRule{"AuthorizationHeaderMalformed", Next::kFail, ErrorCode::kNoAccess,
             "the server wants another signature; is the region right?"},
    CodeRule{"InvalidObjectState", Next::kFail, ErrorCode::kNoAccess, "the object is archived; restore it first"},
};

// A code as it may be shown: the server's other texts may quote the request with its signature.
std::string shown_code(std::string code) {
  const auto is_letter_or_digit = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.';
  };
  if (code.size() > 64 || !std::ranges::all_of(code, is_letter_or_digit)) return {};
  return code;
}

// Servers send blanks, for minutes, while they join the parts of an upload, and only then whether it worked.
bool is_error_document(std::string_view body) {
  XmlReader reader(body);
  const auto root = reader.next();
  return root && root->kind == XmlReader::Kind::kOpen && root->name == "Error";
}

}  // namespace

Verdict S3Judge::judge(const ServiceAnswer& answer, Verdict usual) {
  const bool is_error = answer.status >= 300;
  // An answer of success is an error if its document is one.
  if (!is_error && !is_error_document(answer.body)) return usual;
  const std::string code = shown_code(xml_text_at(answer.body, "Error/Code"));
  std::string region(answer.header("x-amz-bucket-region"));
  if (region.empty()) region = xml_text_at(answer.body, "Error/Region");
  const bool is_misplaced = answer.status == 301 || answer.status == 307 || answer.status == 400;
  if (is_misplaced && !region.empty() && answer.header("location").empty() && region != location_->region_of(answer.url)) {
    const auto there = location_->learn(answer.url, region);
    usual.next = there && there->host != answer.url.host ? Next::kRedirect : Next::kSignAgain;
    if (usual.next == Next::kRedirect) usual.location = there->text();
    usual.code = ErrorCode::kNoAccess;
    usual.message = "the bucket is in another region";
    return usual;
  }
  if (is_misplaced && !region.empty() && answer.header("location").empty()) {
    // The region was learned by another request meanwhile.
    if (const auto there = location_->learn(answer.url, region)) {
      usual.next = Next::kRedirect;
      usual.location = there->text();
      return usual;
    }
  }
  if (usual.next == Next::kRedirect) return usual;
  if (code.empty() && !is_error) {
    usual.next = Next::kRetryBriefly;
    usual.code = ErrorCode::kIo;
    usual.message = "server failed in the middle of its answer";
    return usual;
  }
  if (code.empty()) {
    // A proxy knows nothing of objects. The body of an error to a HEAD request never comes here.
    if (usual.code != ErrorCode::kNotFound) return usual;
    usual.next = Next::kRetryBriefly;
    usual.code = ErrorCode::kIo;
    usual.message = fmt::format("an answer without a code of S3 (HTTP {})", answer.status);
    return usual;
  }
  const auto rule = std::ranges::find(kRules, code, &CodeRule::code);
  // What an HTTP store makes of 416 it knows best.
  if (rule == kRules.end() && answer.status == 416) return usual;
  if (rule == kRules.end() && usual.code == ErrorCode::kNotFound) {
    usual.code = ErrorCode::kIo;
    usual.message = "the server does not find what the request is about";
  }
  const std::string_view what = rule != kRules.end() ? rule->what : std::string_view(usual.message);
  const std::size_t status = what.find(" (HTTP");
  usual.message = fmt::format("{} (HTTP {}, {})", what.substr(0, status), answer.status, code);
  if (rule != kRules.end()) {
    usual.next = rule->next;
    usual.code = rule->error;
  }
  return usual;
}

}  // namespace penstock
