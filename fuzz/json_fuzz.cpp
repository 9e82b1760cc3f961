// Texts of all kinds: JSON, and with it UTF-8 and numbers, which JSON contains.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "decode/text.h"

namespace {

void promise(bool kept, const char* what) {
  if (kept) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penstock;
  const ConstBytes bytes = as_bytes(data, size);
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto utf8 = check_utf8(bytes);
  const auto json = check_json(bytes);
  const auto within = [&](const Status& status) {
    return status || (status.error().where.offset >= 0 &&
                      status.error().where.offset <= static_cast<std::int64_t>(size));
  };
  promise(within(utf8) && within(json), "errors lie within the text");
  promise(!json || utf8, "JSON is UTF-8");
  const auto tree = nlohmann::json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  promise(!json || !tree.is_discarded(), "what passes is parsed");
  const auto number = parse_integer(bytes);
  if (number && json)
    promise(tree.is_number_integer() && tree.get<std::int64_t>() == *number, "the same number");
  return 0;
}
