// Where bytes live: one interface for files, memory and (later) HTTP and S3.
//
// Retries, checksums of transport and deadlines belong behind this interface and nowhere else.
// A Store is thread-safe; an Object belongs to one thread at a time.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "penstock/result.h"

namespace penstock {

// What tells one version of an object from the next.
struct ObjectVersion {
  std::uint64_t size = 0;
  std::int64_t modified_ns = 0;
  bool operator==(const ObjectVersion&) const = default;
};

class Object {
 public:
  virtual ~Object() = default;

  // When it was opened, and now.
  const ObjectVersion& version() const { return version_; }
  virtual Result<ObjectVersion> version_now() const { return version_; }

  // Fills all parts from consecutive bytes at `offset`, or fails: never fewer, never others.
  virtual Status read_at(std::uint64_t offset, std::span<const MutableBytes> parts) = 0;

  Status read_at(std::uint64_t offset, MutableBytes part) {
    return read_at(offset, std::span<const MutableBytes>(&part, 1));
  }

 protected:
  explicit Object(ObjectVersion version) : version_(version) {}

 private:
  ObjectVersion version_;
};

struct FolderEntry {
  std::string name;  // without the folder
  bool is_folder = false;
};

class Store {
 public:
  virtual ~Store() = default;
  virtual Result<std::unique_ptr<Object>> open(const std::string& key) const = 0;
  virtual Result<ObjectVersion> stat(const std::string& key) const = 0;
  // Files and folders right below `key`, sorted by name; links are followed.
  virtual Result<std::vector<FolderEntry>> list(const std::string& key) const = 0;
};

// The whole object, which may have at most `limit` bytes.
Result<std::vector<std::byte>> read_all(const Store& store, const std::string& key, std::uint64_t limit);

}  // namespace penstock
