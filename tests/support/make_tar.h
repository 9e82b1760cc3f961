// Tar archives as programs write them, and as none ever would.
//
//   TarArchive tar;
//   tar.add_file("a.jpg", "...");
//   store.put("shard.tar", tar.finish());
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace penstock {

constexpr std::size_t kTarBlock = 512;

enum class TarFormat : std::uint8_t { kV7, kUstar, kGnu };
enum class TarNumber : std::uint8_t { kOctal, kBase256 };

struct TarHeader {
  std::string name;
  std::uint64_t size = 0;
  char type = '0';
  TarFormat format = TarFormat::kUstar;
  TarNumber size_as = TarNumber::kOctal;
  std::string prefix = {};    // ustar's first part of a name
  std::string link = {};      // where a link leads
  std::string raw_size = {};  // the 12 bytes of the size's field, whatever they are; empty: as it should be
};

// A sum as it was meant, or as compilers with signed chars made it.
enum class TarSum : std::uint8_t { kUnsigned, kSigned };

// Puts the right checksum on a header that a test has changed.
inline std::string with_tar_checksum(std::string block, TarSum kind = TarSum::kUnsigned) {
  block.replace(148, 8, 8, ' ');
  int sum = 0;
  for (const char byte : block)
    sum += kind == TarSum::kSigned ? static_cast<signed char>(byte) : static_cast<unsigned char>(byte);
  for (std::size_t digit = 0; digit < 6; ++digit)
    block[148 + digit] = static_cast<char>('0' + (sum >> (3 * (5 - digit)) & 7));
  block[154] = '\0';
  return block;
}

inline std::string tar_header(const TarHeader& header) {
  std::string block(kTarBlock, '\0');
  const auto put = [&block](std::size_t at, std::string_view text, std::size_t most) {
    block.replace(at, std::min(text.size(), most), text.substr(0, most));
  };
  put(0, header.name, 100);
  put(100, "0000644", 8);
  put(108, "0000000", 8);
  put(116, "0000000", 8);
  for (std::size_t digit = 0; digit < 11; ++digit) {
    block[124 + digit] = static_cast<char>('0' + (header.size >> (3 * (10 - digit)) & 7));
    block[136 + digit] = '0';
  }
  if (header.size_as == TarNumber::kBase256)
    for (std::size_t byte = 0; byte < 12; ++byte)
      block[124 + byte] =
          static_cast<char>(byte < 4 ? (byte == 0 ? 0x80 : 0) : header.size >> (8 * (11 - byte)) & 0xff);
  if (!header.raw_size.empty()) put(124, header.raw_size, 12);
  block[156] = header.type;
  put(157, header.link, 100);
  if (header.format == TarFormat::kUstar) put(257, std::string_view("ustar\00000", 8), 8);
  if (header.format == TarFormat::kGnu) put(257, std::string_view("ustar  \0", 8), 8);
  put(345, header.prefix, 155);
  return with_tar_checksum(std::move(block));
}

// "30 mtime=1321711775.9720594634\n": its length counts itself.
inline std::string pax_record(const std::string& key, const std::string& value) {
  const std::size_t rest = key.size() + value.size() + 3;
  std::size_t length = rest;
  while (length != rest + std::to_string(length).size()) length = rest + std::to_string(length).size();
  return std::to_string(length) + " " + key + "=" + value + "\n";
}

class TarArchive {
 public:
  explicit TarArchive(TarFormat format = TarFormat::kUstar) : format_(format) {}

  void add_file(const std::string& name, std::string_view data) {
    TarHeader header{name, data.size()};
    header.format = format_;
    add(header, data);
  }

  // GNU: 'L' for the name of the next member, 'K' for where it links to.
  void add_long_name(const std::string& name, char type = 'L') {
    TarHeader header{"././@LongLink", name.size() + 1, type};
    header.format = TarFormat::kGnu;
    add(header, std::string_view(name.c_str(), name.size() + 1));
  }

  // PAX: 'x' for the next member, 'g' for all.
  void add_pax(const std::string& records, char type = 'x') {
    add({"PaxHeaders/next", records.size(), type}, records);
  }

  // A header and data that need not agree with each other.
  void add(const TarHeader& header, std::string_view data = {}) {
    add_raw(tar_header(header));
    add_raw(data);
    add_raw(std::string((kTarBlock - data.size() % kTarBlock) % kTarBlock, '\0'));
  }

  void add_raw(std::string_view bytes) { bytes_ += bytes; }

  std::size_t size() const { return bytes_.size(); }
  const std::string& text() const { return bytes_; }

  // With the end-of-archive marker and, as tar does, zeros up to a multiple of `record_bytes`.
  std::vector<std::byte> finish(std::size_t record_bytes = 10240) const {
    std::size_t total = bytes_.size() + 2 * kTarBlock;
    total = (total + record_bytes - 1) / record_bytes * record_bytes;
    auto out = unfinished();
    out.resize(total);
    return out;
  }

  std::vector<std::byte> unfinished() const {
    const auto* raw = reinterpret_cast<const std::byte*>(bytes_.data());
    return {raw, raw + bytes_.size()};
  }

 private:
  TarFormat format_;
  std::string bytes_;
};

}  // namespace penstock
