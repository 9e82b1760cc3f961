#include "store/s3/s3_answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "store/http/http_response.h"
#include "store/s3/digest.h"
#include "store/s3/uri_encoding.h"
#include "store/xml_reader.h"

namespace penstock {
namespace {

constexpr std::size_t kMaxEntries = 10'000;  // servers answer with a thousand

std::unexpected<Error> odd_listing(std::string_view what) {
  return fail(ErrorCode::kCorrupt, fmt::format("the server's listing has {}", what));
}

struct EntryTexts {
  std::string key, size, etag;
};

Status add_entry(S3Page& page, const EntryTexts& texts, bool is_folder, bool is_encoded) {
  if (page.entries.size() == kMaxEntries) return odd_listing("too many entries in one page");
  S3Entry entry;
  entry.is_folder = is_folder;
  auto key = is_encoded ? listing_decoded(texts.key) : std::optional(texts.key);
  if (!key || key->empty()) return odd_listing("an entry without a proper key");
  entry.key = *std::move(key);
  if (!is_folder) {
    const auto size = parse_length(texts.size);
    if (!size) return odd_listing("an object without a size");
    entry.size = *size;
    entry.etag = texts.etag;
    if (!entry.etag.empty() && !entry.etag.starts_with('"')) entry.etag = '"' + entry.etag + '"';
  }
  page.entries.push_back(std::move(entry));
  return {};
}

}  // namespace

Result<S3Page> parse_s3_page(std::string_view xml) {
  XmlReader reader(xml);
  S3Page page;
  EntryTexts texts;
  std::string text;
  std::string_view entry_name;
  bool is_truncated = false, is_encoded = false, is_listing = false;
  std::vector<std::pair<EntryTexts, bool>> found;
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
      if (reader.depth() == 1) is_listing = name == "ListBucketResult";
      if (reader.depth() == 2) {
        entry_name = name;
        texts = {};
      }
      continue;
    }
    if (reader.depth() == 2) {  // an element within an entry was closed
      if (name == "Key" || name == "Prefix") texts.key = text;
      if (name == "Size") texts.size = text;
      if (name == "ETag") texts.etag = text;
    } else if (reader.depth() == 1) {
      if (name == "IsTruncated") is_truncated = text == "true";
      if (name == "NextContinuationToken") page.next = text;
      if (name == "EncodingType") is_encoded = text == "url";
      // The encoding may be told after the entries.
      const bool is_folder = entry_name == "CommonPrefixes";
      if (is_folder || entry_name == "Contents") found.emplace_back(std::move(texts), is_folder);
      if (found.size() > kMaxEntries) return odd_listing("too many entries in one page");
    }
    text.clear();
  }
  if (!is_listing) return odd_listing("another form than a listing of S3");
  for (const auto& [entry, is_folder] : found) PENSTOCK_CHECK(add_entry(page, entry, is_folder, is_encoded));
  if (!is_truncated) page.next.clear();
  if (is_truncated && page.next.empty()) return odd_listing("more pages and no way to them");
  std::ranges::stable_sort(page.entries, {}, &S3Entry::key);
  return page;
}

std::string complete_upload_xml(const std::vector<S3Part>& parts) {
  std::string xml = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";
  for (const S3Part& part : parts) {
    std::string etag;
    for (const char c : part.etag) {
      if (c == '"') etag += "&quot;";
      else if (c == '&') etag += "&amp;";
      else if (c == '<') etag += "&lt;";
      else etag += c;
    }
    xml += fmt::format("<Part><PartNumber>{}</PartNumber><ETag>{}</ETag>", part.number, etag);
    if (!part.crc32c.empty()) xml += fmt::format("<ChecksumCRC32C>{}</ChecksumCRC32C>", part.crc32c);
    xml += "</Part>";
  }
  return xml + "</CompleteMultipartUpload>";
}

std::string etag_of_parts(const std::vector<S3Part>& parts) {
  std::string sums;
  for (const S3Part& part : parts) {
    std::string_view etag = part.etag;
    if (etag.starts_with('"') && etag.ends_with('"') && etag.size() >= 2) etag = etag.substr(1, etag.size() - 2);
    const auto sum = from_hexadecimal(etag);
    if (!sum || sum->size() != 16) return {};
    sums += *sum;
  }
  const auto sum = md5(text_as_bytes(sums));
  return sum ? fmt::format("{}-{}", hexadecimal(*sum), parts.size()) : "";
}

}  // namespace penstock
