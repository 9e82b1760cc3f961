// The input is an archive, gzip or zstd by its first byte. The checksums of a plain one are put right
// wherever the scan stops at one: past them is where bugs would be.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "source/records/tar_scan.h"
#include "store/memory_store.h"

namespace {

using namespace penstock;

constexpr std::size_t kBlock = 512;

void promise(bool kept, const char* what) {
  if (kept) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

// The scan's own error, if any, after what it promises was checked.
Status scan(const std::vector<std::byte>& bytes, Compression compression) {
  MemoryStore store;
  store.put("shard", bytes);
  const auto object = *store.open("shard");
  const auto reader = make_forward_reader(*object, "shard", compression);
  std::uint64_t behind = 0, files = 0;
  const auto summary = scan_tar(*reader, "shard", [&](const TarMember& member) -> Status {
    promise(member.header_offset >= behind, "members in order");
    promise(member.header_offset + kBlock <= member.data_offset, "a header before the data");
    promise(member.header_offset % kBlock == 0 && member.data_offset % kBlock == 0, "whole blocks");
    promise(member.name.size() <= 1 << 20, "a name of bounded length");
    behind = member.data_offset + member.size;
    ++files;
    return {};
  });
  if (!summary) {
    promise(summary.error().where.uri == "shard" && summary.error().where.offset >= 0,
            "an error with a place");
    return std::unexpected(summary.error());
  }
  promise(behind <= reader->end(), "all data within the archive");
  promise(files == summary->files, "a right count");
  return {};
}

void put_checksum(std::byte* block) {
  std::memset(block + 148, ' ', 8);
  unsigned sum = 0;
  for (std::size_t i = 0; i < kBlock; ++i) sum += std::to_integer<unsigned>(block[i]);
  char text[8];
  std::snprintf(text, sizeof text, "%06o", sum);
  std::memcpy(block + 148, text, 7);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ConstBytes input = as_bytes(data, size);
  std::vector<std::byte> bytes(input.begin(), input.end());
  if (size > 0 && (data[0] == 0x1f || data[0] == 0x28)) {
    (void)scan(bytes, data[0] == 0x1f ? Compression::kGzip : Compression::kZstd);
    return 0;
  }
  for (std::size_t repairs = 0; repairs <= size / kBlock; ++repairs) {
    const Status status = scan(bytes, Compression::kNone);
    if (status || status.error().message.find("checksum") == std::string::npos) break;
    put_checksum(bytes.data() + status.error().where.offset);
  }
  return 0;
}
