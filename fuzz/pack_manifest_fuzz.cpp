// The manifest of a packed data set, and the description in it: whatever the text is, an error or a manifest that can be
// written and read again.
#include <string_view>

#include "source/packed/pack_manifest.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penstock;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto description = PackDescription::parse(text, "manifest")) {
    const auto again = PackDescription::parse(description->to_text(), "manifest");
    if (!again || again->fields != description->fields) __builtin_trap();
    // A manifest without shards around it, whose checksum is right.
    PackManifest manifest{*description, {}};
    manifest.description.samples = manifest.description.shards = 0;
    const auto parsed = PackManifest::parse(manifest.to_text(), "manifest");
    if (!parsed || parsed->description.classes != description->classes) __builtin_trap();
  }
  (void)PackManifest::parse(text, "manifest");
  return 0;
}
