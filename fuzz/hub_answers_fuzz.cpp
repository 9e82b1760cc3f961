// The Hub's answers and names: paths of entries stay below the repository, and URLs on the server.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "store/hub/hub_answers.h"
#include "store/hub/hub_location.h"

namespace {

void demand(bool kept, const char* promise) {
  if (kept) return;
  std::fprintf(stderr, "broken promise: %s\n", promise);
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penstock;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto entries = parse_hub_entries(text))
    for (const HubEntry& entry : *entries)
      demand(!entry.path.empty() && !entry.path.starts_with('/') && !entry.path.ends_with('/'), "entries have proper paths");
  if (const auto commit = parse_hub_commit(text)) demand(commit->size() == 40, "a commit has 40 digits");
  static_cast<void>(next_hub_page(text));
  static const HubLocation location = *HubLocation::make("https://hub.example");
  if (const auto key = parse_hub_key(text)) {
    for (const std::string& made : {location.resolve_url(*key, key->revision), location.tree_url(*key, key->revision, true)}) {
      const auto url = parse_http_url(made);
      demand(url.has_value() && location.has(*url), "a name leads to the Hub");
      demand(url->target.find("/../") == std::string::npos, "a name stays in its repository");
    }
  }
  return 0;
}
