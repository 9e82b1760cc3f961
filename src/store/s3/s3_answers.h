// The documents by which S3 answers: pages of listings, the id of an upload. The bytes cannot be trusted.
// Pure functions; thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "penstock/result.h"

namespace penstock {

struct S3Entry {
  std::string key;  // decoded; of a folder, with the '/' at its end
  bool is_folder = false;
  std::uint64_t size = 0;
  std::string etag;  // with its quotes, as the header of the object has it
};

struct S3Page {
  std::vector<S3Entry> entries;  // in the order of their keys
  std::string next;              // the continuation token; empty: this is the last page
};

// A page of ListObjectsV2 that was asked for with encoding-type=url. Fails with kCorrupt.
Result<S3Page> parse_s3_page(std::string_view xml);

// The document that ends an upload of these parts.
struct S3Part {
  int number = 0;
  std::string etag, crc32c;  // the latter in base 64; may be empty
};
std::string complete_upload_xml(const std::vector<S3Part>& parts);

// The ETag that servers give to an object of these parts, without quotes; empty if they are not MD5 sums.
std::string etag_of_parts(const std::vector<S3Part>& parts);

}  // namespace penstock
