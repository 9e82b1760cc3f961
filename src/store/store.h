// Where bytes live: one interface for files, memory, HTTP and (later) S3.
//
// Retries, checksums of transport and deadlines belong behind this interface and nowhere else.
// A Store is thread-safe; an Object belongs to one thread at a time.
#pragma once

#include <compare>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "penstock/result.h"

namespace penstock {

// What tells one version of an object from the next.
struct ObjectVersion {
  std::uint64_t size = 0;
  // When it was modified; of an object on a server, a number made from its ETag or Last-Modified. 0 there: the
  // server says neither.
  std::int64_t modified_ns = 0;
  // For a file, a number made from its inode and its ctime; 0 where these are not known. Permissions and links
  // change it too, so a difference does not prove that a file in use has changed, which would be an error. A
  // cache does compare it (is_exactly): there a needless difference only costs a fresh read.
  std::uint32_t stamp = 0;

  bool operator==(const ObjectVersion& other) const {
    return size == other.size && modified_ns == other.modified_ns;
  }
  bool is_exactly(const ObjectVersion& other) const { return *this == other && stamp == other.stamp; }
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

// Which bytes of an object; by default all of them.
struct ByteRange {
  static constexpr std::uint64_t kToTheEnd = UINT64_MAX;
  std::uint64_t offset = 0;
  std::uint64_t length = kToTheEnd;
  bool from_end = false;  // the last `length` bytes (all, where the object is shorter); offset is 0

  bool is_whole() const { return offset == 0 && length == kToTheEnd; }
  bool operator==(const ByteRange&) const = default;
};

// A read that knows all it needs beforehand: no opening, one request.
struct ObjectRead {
  std::string key;
  ByteRange range;
  std::uint64_t max_bytes = 0;          // a longer answer is kTooLarge, and is not read
  std::optional<ObjectVersion> version;  // anything else is kChanged
  // Not 0: somebody waits for it, and for little else. Worth so many requests at once, beyond what the
  // store wants to have under way otherwise.
  std::size_t urgent_requests = 0;
  // Of a whole object: a guess of its size, which only decides what is asked for at once; 0: none.
  std::uint64_t likely_bytes = 0;
  bool only_version = false;  // no bytes are read
};

struct ObjectBytes {
  MutableBytes bytes;        // in memory that the reader's Room gave
  std::uint64_t offset = 0;  // of the first of them, in the object
  ObjectVersion version;     // of the object they were read from
};

// Tells a folder from all others, whatever links lead to it.
struct FolderIdentity {
  std::uint64_t device = 0, number = 0;
  auto operator<=>(const FolderIdentity&) const = default;
};

class Store {
 public:
  virtual ~Store() = default;

  // Gives memory for an answer of this many bytes; called at most once for each try, and again only
  // when what an earlier try read is worthless.
  using Room = std::function<Result<MutableBytes>(std::size_t)>;
  // kNotFound means that the store answered that there is no such object; no other failure does.
  virtual Result<ObjectBytes> read(const ObjectRead& wanted, const Room& room) const;

  // How many reads a store wants to have under way at one time now; 0: waiting for one after
  // another on each thread serves it as well (files).
  virtual std::size_t reads_ahead() const { return 0; }
  // How many of urgent reads it takes at one time.
  virtual std::size_t urgent_reads() const { return 0; }
  // For stores that want reads ahead. `done` is called once, on a thread of the store's, also when
  // `stop` was requested (with kStopped); `room` is called there too. Neither may wait for long.
  using Done = std::function<void(Result<ObjectBytes>)>;
  virtual void start_read(ObjectRead wanted, Room room, std::stop_token stop, Done done) const;
  virtual Result<std::unique_ptr<Object>> open(const std::string& key) const = 0;
  virtual Result<ObjectVersion> stat(const std::string& key) const = 0;
  // Files and folders right below `key`, sorted by name; links are followed.
  virtual Result<std::vector<FolderEntry>> list(const std::string& key) const = 0;
  // Nothing where the store has no links.
  virtual std::optional<FolderIdentity> identity_of(const std::string&) const { return std::nullopt; }
};

// Asks for the version alone.
ObjectRead version_read(std::string key);

// The whole object, which may have at most `limit` bytes.
Result<std::vector<std::byte>> read_all(const Store& store, const std::string& key, std::uint64_t limit);

}  // namespace penstock
