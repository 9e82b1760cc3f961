// Azure's listings: entries have names, blobs have sizes, pages are sorted and bounded.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "store/azure/azure_answers.h"
#include "store/azure/azure_location.h"

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
  if (const auto page = parse_azure_page(text)) {
    std::string_view before;
    for (const AzureEntry& entry : page->entries) {
      demand(!entry.name.empty(), "every entry has a name");
      demand(before <= entry.name, "entries are sorted");
      before = entry.name;
    }
  } else {
    demand(!page.error().message.empty(), "errors say what is wrong");
  }
  const HttpUrl url;
  const std::vector<HttpHeader> headers;
  const Verdict verdict = AzureJudge().judge({404, url, headers, text, true}, {});
  demand(verdict.next != Verdict::Next::kAccept, "an error is never accepted");
  static_cast<void>(parse_azure_key(text));
  static_cast<void>(parse_azure_connection(text));
  return 0;
}
