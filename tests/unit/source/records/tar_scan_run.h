// Scans of archives in memory, for the tests of tar_scan.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "source/records/tar_scan.h"
#include "store/memory_store.h"
#include "support/make_tar.h"

namespace penstock {

using Bytes = std::vector<std::byte>;

struct Found {
  std::string name;
  std::uint64_t header_offset, data_offset, size;
  bool operator==(const Found&) const = default;
};

struct Scan {
  Result<TarSummary> summary;
  std::vector<Found> files;

  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const Found& file : files) out.push_back(file.name);
    return out;
  }
};

inline Scan scan(const Store& store) {
  Scan out;
  const auto object = store.open("shard.tar");
  if (!object) return {std::unexpected(object.error()), {}};
  const auto reader = make_object_reader(**object);
  out.summary = scan_tar(*reader, "mem://shard.tar", [&out](const TarMember& member) -> Status {
    out.files.push_back({std::string(member.name), member.header_offset, member.data_offset, member.size});
    return {};
  });
  return out;
}

inline Scan scan(Bytes archive) {
  MemoryStore store;
  store.put("shard.tar", std::move(archive));
  return scan(store);
}

inline Error error_of(Bytes archive) {
  const Scan got = scan(std::move(archive));
  if (!got.summary) return got.summary.error();
  ADD_FAILURE() << "no error";
  return {};
}

inline std::string data_of(const Bytes& archive, const Found& file) {
  return {reinterpret_cast<const char*>(archive.data()) + file.data_offset,
          static_cast<std::size_t>(file.size)};
}

inline Bytes first_bytes(const Bytes& bytes, std::size_t size) {
  return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)};
}

inline std::string name_of(int i) { return "sample_" + std::to_string(i) + (i % 2 == 0 ? ".jpg" : ".cls"); }

// Sizes around the block's, no end.
inline TarArchive files_of_many_sizes(int count) {
  constexpr std::size_t kSizes[] = {0, 1, 511, 512, 513, 1700};
  TarArchive tar;
  for (int i = 0; i < count; ++i)
    tar.add_file(name_of(i), std::string(kSizes[i % 6], static_cast<char>('a' + i % 26)));
  return tar;
}

// All kinds of members and extended headers, without the end.
inline TarArchive all_kinds(int files) {
  TarArchive tar = files_of_many_sizes(files);
  tar.add_long_name(std::string(600, 'n'));
  tar.add_file("long", "x");
  tar.add_pax(pax_record("comment", "all"), 'g');
  tar.add_pax(pax_record("path", "na\xC3\xAFve") + pax_record("size", "3"));
  tar.add_file("pax", "abc");
  tar.add({"link", 0, '2'});
  tar.add({"folder/", 0, '5'});
  TarHeader header{"binary \xC3\xAF", 800};
  header.size_as = TarNumber::kBase256;
  header.format = TarFormat::kGnu;
  tar.add(header, std::string(800, 'b'));
  return tar;
}

inline Bytes bytes_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const auto raw = as_bytes(text.data(), text.size());
  return {raw.begin(), raw.end()};
}

inline bool succeeds(const std::string& command) { return std::system((command + " >/dev/null 2>&1").c_str()) == 0; }

}  // namespace penstock
