#include "pack/source_identity.h"

#include "base/hash.h"
#include "fetch/content_fingerprint.h"

namespace penstock {

Result<std::uint64_t> source_identity(const Source& source) {
  const auto content = content_fingerprint(source);
  if (!content) return std::unexpected(content.error());
  return mix64(source.fingerprint() ^ *content);
}

}  // namespace penstock
