// A Store is where bytes live: one interface for local files, memory and HTTP servers, and later for S3.
//
// A store names its objects by keys: paths of files, URLs without their secrets (object_key.h), or any text with '/'
// between folders. Retries, deadlines and checksums of the transport belong behind this interface; callers never
// repeat a call.
//
// Thread-safe. A store is a handle on data that others may change, so all functions are const, also those that write.
// It is shared by shared_ptr and must outlive the reads that start_read() started.
//
// Failures name the key. kNotFound means that the store answered that there is no such object; no other failure
// does. kNoAccess, kUnsupported and kIo mean what they say; Error::retryable tells whether a later call may succeed.
//
//   auto store = make_store_for("https://example.org/data");  // store_of_uri.h
//   if (!store) return report(store.error());
//   std::vector<std::byte> memory;
//   auto answer = (*store)->read({.key = "https://example.org/data/a.bin", .max_bytes = 1 << 20},
//                                [&](std::size_t size) -> Result<MutableBytes> {
//                                  memory.resize(size);
//                                  return memory;
//                                });
//   if (!answer) return report(answer.error());
//   use(answer->bytes, answer->version);
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "penstock/result.h"
#include "store/folder_entry.h"
#include "store/listing.h"
#include "store/object.h"
#include "store/object_read.h"
#include "store/object_version.h"
#include "store/object_writer.h"
#include "store/store_traits.h"

namespace penstock {

class Store {
 public:
  virtual ~Store() = default;

  virtual StoreTraits traits() const = 0;
  std::size_t reads_ahead() const { return traits().reads_ahead; }
  std::size_t urgent_reads() const { return traits().urgent_reads; }

  // Opens an object for many reads. Fails with kNotFound if there is no such object.
  virtual Result<std::unique_ptr<Object>> open(const std::string& key) const = 0;

  // The version of an object, or of a folder where the store has folders.
  virtual Result<ObjectVersion> stat(const std::string& key) const = 0;

  // What the key names. Fails if the store cannot tell. The default opens and lists it, in this order.
  virtual Result<KeyKind> kind_of(const std::string& key) const;

  // Lists a folder, sorted by the bytes of the names; links are followed. An entry costs no request, and objects that
  // only mark a folder are not listed. All other objects are, also hidden ones. Fails with kNotFound if there is no such
  // folder, with kUnsupported if the store cannot list, with kNoMemory if the opening of this thread has no memory left
  // for the list, and with kStopped once it is interrupted.
  Result<Listing> list(const std::string& key, const ListOptions& options = {}) const;

  // The same page by page, as object stores answer, for callers that keep less than the whole list. Pages come in the
  // order of the keys, where the key of a folder ends with '/' (comes_before_by_key), and may be empty. `take` is called
  // on the calling thread; the listing ends when it returns false or fails.
  using TakePage = std::function<Result<bool>(Listing page)>;
  virtual Status list_pages(const std::string& key, const ListOptions& options, const TakePage& take) const = 0;

  // Empty where the store has no links.
  virtual std::optional<FolderIdentity> identity_of(const std::string&) const { return std::nullopt; }

  // Starts to write an object; folders that are missing are made. Readers see nothing of it before it is committed.
  // Fails with kUnsupported if the store cannot write.
  Result<std::unique_ptr<ObjectWriter>> create(const std::string& key) const { return create(key, CreateOptions()); }
  virtual Result<std::unique_ptr<ObjectWriter>> create(const std::string& key, const CreateOptions& options) const;

  // Returns at least `size` bytes of memory for an answer, which must stay valid until the read is done. It is called
  // at most once per attempt, and again only after everything that an earlier attempt read was discarded.
  using Allocate = std::function<Result<MutableBytes>(std::size_t size)>;
  // Reads without opening, and waits for the answer.
  virtual Result<ObjectBytes> read(const ObjectRead& wanted, const Allocate& allocate) const;

  // Reads without waiting, for stores that want reads ahead. `done` is called exactly once, also after `stop` was
  // requested (then with kStopped). Both functions are called on a thread of the store and must not block.
  using Done = std::function<void(Result<ObjectBytes>)>;
  virtual void start_read(ObjectRead wanted, Allocate allocate, std::stop_token stop, Done done) const;
};

// The whole object. Fails with kTooLarge if it has more than `limit` bytes.
Result<std::vector<std::byte>> read_all(const Store& store, const std::string& key, std::uint64_t limit);

}  // namespace penstock
