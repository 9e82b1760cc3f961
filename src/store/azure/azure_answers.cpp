#include "store/azure/azure_answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "store/http/http_response.h"
#include "store/xml_reader.h"

namespace penstock {
namespace {

constexpr std::size_t kMaxAzureEntries = 10'000;  // the service answers with five thousand
constexpr std::int64_t kMaxClockError = 300;      // seconds; the service refuses more than fifteen minutes

std::unexpected<Error> odd_azure_listing(std::string_view what) {
  return fail(ErrorCode::kCorrupt, fmt::format("the server's listing has {}", what));
}

struct AzureRule {
  std::string_view code;
  Verdict::Next next;
  ErrorCode error;
  std::string_view what;
};

using Next = Verdict::Next;

constexpr std::array kAzureRules = {
    AzureRule{"BlobNotFound", Next::kFail, ErrorCode::kNotFound, "no such blob"},
    AzureRule{"ResourceNotFound", Next::kFail, ErrorCode::kNotFound, "no such blob"},
    // Not kNotFound: a missing chunk of an array has a meaning, and a missing container must never be taken for one.
    AzureRule{"ContainerNotFound", Next::kFail, ErrorCode::kInvalidArgument, "there is no such container"},
    AzureRule{"ContainerBeingDeleted", Next::kFail, ErrorCode::kInvalidArgument, "the container is being deleted"},
    AzureRule{"AuthenticationFailed", Next::kFail, ErrorCode::kNoAccess, "the account's key or token is not right, or has expired"},
    AzureRule{"AuthorizationFailure", Next::kFail, ErrorCode::kNoAccess, "access refused"},
    AzureRule{"AuthorizationPermissionMismatch", Next::kFail, ErrorCode::kNoAccess, "the token does not allow this"},
    AzureRule{"NoAuthenticationInformation", Next::kFail, ErrorCode::kNoAccess, "the container is not public; a key or token is needed"},
    AzureRule{"BlobArchived", Next::kFail, ErrorCode::kNoAccess, "the blob is archived; restore it first"},
    AzureRule{"ServerBusy", Next::kRetry, ErrorCode::kIo, "server asks to come later"},
    AzureRule{"OperationTimedOut", Next::kRetry, ErrorCode::kIo, "the request took the server too long"},
    AzureRule{"InternalError", Next::kRetry, ErrorCode::kIo, "server failed"},
    AzureRule{"Md5Mismatch", Next::kRetryBriefly, ErrorCode::kCorrupt, "the body was damaged on its way"},
};

}  // namespace

Result<AzurePage> parse_azure_page(std::string_view xml) {
  // The service begins its documents with a byte order mark.
  if (xml.starts_with("\xEF\xBB\xBF")) xml.remove_prefix(3);
  XmlReader reader(xml);
  AzurePage page;
  AzureEntry entry;
  std::string text, size;
  bool is_listing = false, is_folder_object = false;
  while (true) {
    auto piece = reader.next();
    if (!piece) return std::unexpected(std::move(piece).error());
    if (piece->kind == XmlReader::Kind::kEnd) break;
    if (piece->kind == XmlReader::Kind::kText) {
      text += piece->text;
      continue;
    }
    const std::string_view name = piece->name;
    if (piece->kind == XmlReader::Kind::kOpen) {
      text.clear();
      if (reader.depth() == 1) is_listing = name == "EnumerationResults";
      if (reader.depth() == 3) {  // an entry of Blobs
        entry = {};
        size.clear();
        is_folder_object = false;
      }
      continue;
    }
    if (reader.depth() == 3 && name == "Name") entry.name = text;
    if (reader.depth() == 4) {
      if (name == "Content-Length") size = text;
      if (name == "Etag") entry.etag = text;
      if (name == "ResourceType") is_folder_object = text == "directory";
    }
    if (reader.depth() == 1 && name == "NextMarker") page.next = text;
    if (reader.depth() == 2 && (name == "Blob" || name == "BlobPrefix") && !is_folder_object) {
      if (page.entries.size() == kMaxAzureEntries) return odd_azure_listing("too many entries in one page");
      if (entry.name.empty()) return odd_azure_listing("a blob without a name");
      entry.is_folder = name == "BlobPrefix";
      if (!entry.is_folder) {
        const auto bytes = parse_length(size);
        if (!bytes) return odd_azure_listing("a blob without a size");
        entry.size = *bytes;
        if (!entry.etag.empty() && !entry.etag.starts_with('"')) entry.etag = '"' + entry.etag + '"';
      }
      page.entries.push_back(std::move(entry));
    }
    text.clear();
  }
  if (!is_listing) return odd_azure_listing("another form than a listing of Azure");
  std::ranges::stable_sort(page.entries, {}, &AzureEntry::name);
  return page;
}

std::string azure_block_list(const std::vector<std::string>& ids) {
  std::string xml = "<?xml version=\"1.0\" encoding=\"utf-8\"?><BlockList>";
  for (const std::string& id : ids) xml += fmt::format("<Latest>{}</Latest>", id);
  return xml + "</BlockList>";
}

Verdict AzureJudge::judge(const ServiceAnswer& answer, Verdict usual) {
  if (answer.status < 400) return usual;
  std::string code(answer.header("x-ms-error-code"));
  if (code.empty()) code = xml_text_at(answer.body, "Error/Code");
  const auto rule = std::ranges::find(kAzureRules, code, &AzureRule::code);
  if (rule == kAzureRules.end()) {
    // A proxy knows nothing of blobs.
    if (code.empty() && usual.code == ErrorCode::kNotFound && usual.next == Next::kFail) {
      usual.next = Next::kRetryBriefly;
      usual.code = ErrorCode::kIo;
      usual.message = fmt::format("an answer without a code of Azure (HTTP {})", answer.status);
    }
    return usual;
  }
  usual.next = rule->next;
  usual.code = rule->error;
  usual.message = fmt::format("{} (HTTP {}, {})", rule->what, answer.status, code);
  if (code == "AuthenticationFailed")
    if (const auto there = parse_http_date(answer.header("date"))) {
      const auto here = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch());
      if (std::abs(*there - here.count()) > kMaxClockError) usual.next = Next::kSignAgain;
    }
  return usual;
}

}  // namespace penstock
