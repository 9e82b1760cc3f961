// The input is a document that an S3 server or STS answered with.
//
// Whatever it holds, parsing ends, and what is accepted keeps the promises that the store relies on.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "store/s3/credential_services.h"
#include "store/s3/s3_answers.h"
#include "store/s3/s3_judge.h"
#include "store/s3/s3_location.h"
#include "store/xml_reader.h"

namespace {

using namespace penstock;

void promise(bool kept, const char* what) {
  if (kept) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

void check_pieces(std::string_view xml) {
  XmlReader reader(xml);
  std::size_t opened = 0, closed = 0;
  while (true) {
    const auto piece = reader.next();
    if (!piece) return;
    promise(reader.depth() <= XmlReader::kMaxDepth, "the depth is limited");
    opened += piece->kind == XmlReader::Kind::kOpen ? 1 : 0;
    closed += piece->kind == XmlReader::Kind::kClose ? 1 : 0;
    promise(piece->text.size() <= xml.size(), "text does not grow");
    if (piece->kind != XmlReader::Kind::kEnd) continue;
    promise(opened == closed && opened > 0, "elements nest");
    return;
  }
}

void check_page(std::string_view xml) {
  const auto page = parse_s3_page(xml);
  if (!page) return promise(page.error().code == ErrorCode::kCorrupt, "only damage is found");
  const S3Entry* before = nullptr;
  for (const S3Entry& entry : page->entries) {
    promise(!entry.key.empty(), "entries have keys");
    promise(before == nullptr || before->key <= entry.key, "entries are sorted");
    promise(entry.etag.empty() || entry.etag.front() == '"', "ETags have quotes");
    before = &entry;
  }
}

void check_error(std::string_view xml) {
  const auto location = S3Location::make({"", "us-east-1", ""});
  S3Judge judge(*location);
  const HttpUrl url = *(*location)->url_of_key("s3://bucket/key");
  for (const int status : {200, 301, 400, 403, 404, 503}) {
    Verdict usual;
    usual.next = status == 200 ? Verdict::Next::kAccept : Verdict::Next::kFail;
    usual.code = status == 404 ? ErrorCode::kNotFound : ErrorCode::kIo;
    usual.message = "request refused";
    const Verdict verdict = judge.judge({status, url, {}, xml, true}, usual);
    promise(verdict.message.size() < 300 && verdict.message.find('\n') == std::string::npos, "errors are one line");
    if (verdict.next != Verdict::Next::kRedirect) continue;
    const auto target = parse_http_url(verdict.location);
    promise(target && (*location)->has(*target), "signed requests stay with the store's servers");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string xml(reinterpret_cast<const char*>(data), size);
  check_pieces(xml);
  check_page(xml);
  check_error(xml);
  (void)parse_sts_answer(xml);
  (void)parse_credentials_json(xml, "the endpoint");
  return 0;
}
