// A disk tier as tests use it: entries that all can check, its files, and processes that share it.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/text/byte_units.h"
#include "cache/disk_tier.h"
#include "cache/shared/entry_table.h"
#include "support/temporary_folder.h"

namespace penstock {

namespace fs = std::filesystem;

// The entry that everybody makes of this key: all can check all.
inline std::vector<std::byte> entry_of(const EntryKey& key, std::uint64_t bytes) {
  std::vector<std::byte> entry(sizeof(EntryHead) + bytes);
  EntryHead head;
  head.key = key;
  head.bytes = bytes;
  std::memcpy(entry.data(), &head, sizeof head);
  for (std::uint64_t i = 0; i < bytes; ++i)
    entry[sizeof head + i] = static_cast<std::byte>(mix64(key.low ^ i / 8) >> i % 8 * 8);
  return entry;
}

inline EntryKey key_of(std::uint64_t number) { return {7, number}; }
inline std::vector<std::byte> entry_of(std::uint64_t number) {
  return entry_of(key_of(number), 200 + mix64(number) % 400);
}

// A tier as one thread of a process uses it.
class Tier {
 public:
  explicit Tier(const std::string& folder, std::uint64_t capacity = kMiB, std::uint64_t expected = 1000) {
    auto opened = open_disk_tier(
        {folder, capacity, expected, [this](const std::string& text) { warnings_.push_back(text); }});
    if (opened)
      tier_ = std::move(*opened);
    else
      error_ = opened.error();
  }

  bool is_open() const { return tier_ != nullptr; }
  const Error& error() const { return error_; }
  CacheTier& operator*() { return *tier_; }
  CacheTier* operator->() { return tier_.get(); }
  const std::vector<std::string>& warnings() const { return warnings_; }

  CacheTier::Added add(const EntryKey& key, const std::vector<std::byte>& entry) {
    const auto added = tier_->add(
        key, entry.size(),
        [&](MutableBytes memory) -> Status {
          std::ranges::copy(entry, memory.begin());
          return {};
        },
        allocator());
    return added.value();
  }
  bool add(std::uint64_t number) { return add(key_of(number), entry_of(number)) == CacheTier::Added::kYes; }

  enum Look { kMiss, kSame, kWrong };
  Look look(const EntryKey& key, const std::vector<std::byte>& entry) {
    const auto found = tier_->find(key, allocator());
    if (!found) return kMiss;
    return std::ranges::equal(found->bytes, entry) ? kSame : kWrong;
  }
  Look look(std::uint64_t number) { return look(key_of(number), entry_of(number)); }

  // -1: one is wrong.
  int count(std::uint64_t numbers) {
    int found = 0;
    for (std::uint64_t i = 0; i < numbers; ++i) {
      const Look seen = look(i);
      if (seen == kWrong) return -1;
      found += seen == kSame ? 1 : 0;
    }
    return found;
  }

 private:
  CacheTier::Allocate allocator() {
    return [this](std::size_t bytes) -> Result<MutableBytes> {
      memory_.resize(bytes);
      return MutableBytes(memory_);
    };
  }

  CacheTierPtr tier_;
  Error error_;
  std::vector<std::string> warnings_;
  std::vector<std::byte> memory_;
};

inline std::string index_of(const TemporaryFolder& folder) { return folder / "penstock-cache-1/index"; }
inline std::string data_of(const TemporaryFolder& folder) { return folder / "penstock-cache-1/data"; }

inline std::vector<char> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// In place: a file that is emptied and written again is flushed by ext4 each time.
inline void write_file(const std::string& path, const std::vector<char>& bytes) {
  fs::resize_file(path, bytes.size());
  std::fstream(path, std::ios::binary | std::ios::in | std::ios::out)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

inline void flip(const std::string& path, std::uint64_t offset, char bits) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(static_cast<std::streamoff>(offset));
  const char byte = static_cast<char>(file.get() ^ bits);
  file.seekp(static_cast<std::streamoff>(offset));
  file.put(byte);
}

template <typename Value>
std::uint64_t offset_of(const std::vector<char>& index, const Value& value) {
  for (std::uint64_t at = 0; at + sizeof value <= index.size(); at += 8)
    if (std::memcmp(index.data() + at, &value, sizeof value) == 0) return at;
  ADD_FAILURE() << "not in the index";
  return 0;
}

// Where the index says which machine has it; the counts follow.
inline std::uint64_t machine_offset(const std::vector<char>& index) { return offset_of(index, this_machine()); }

// Runs in a process of its own; what it returns is its exit code.
template <typename Work>
pid_t in_child(const Work& work) {
  const pid_t child = fork();
  if (child == 0) _exit(work());
  return child;
}

inline int exit_code(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace penstock
