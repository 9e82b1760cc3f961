#include "stage/staged_store.h"

#include <unistd.h>

#include <algorithm>
#include <thread>

#include "penstock/interruption.h"
#include "store/read_answer.h"

namespace penstock {
namespace {

using ObjectPtr = StageCore::ObjectPtr;

constexpr int kMaxWaits = 3;  // for the copier, in one read
// Bytes on each side of a read that are read along, if they are missing: the header of a record, say, which no sample
// is made of. Otherwise each of them would cost the copier a request.
constexpr std::uint64_t kEdgeBytes = 2048;
constexpr std::uint64_t kMaxEdgedBytes = 4 << 20;  // larger reads leave few gaps, and would be copied in memory

// The parts of consecutive memory at `offset` that hold the span.
std::vector<MutableBytes> parts_of_span(std::span<const MutableBytes> parts, std::uint64_t offset, ByteSpan span) {
  std::vector<MutableBytes> out;
  for (const MutableBytes part : parts) {
    const std::uint64_t begin = std::max(span.begin, offset), end = std::min(span.end, offset + part.size());
    if (begin < end) out.push_back(part.subspan(begin - offset, end - begin));
    offset += part.size();
  }
  return out;
}

Status read_copy(StagedObject& object, std::uint64_t offset, std::span<const MutableBytes> parts) {
  for (const MutableBytes part : parts) {
    PENSTOCK_CHECK(object.read(offset, part));
    offset += part.size();
  }
  return {};
}

// From the first missing byte to the last.
ByteSpan hull_of(const std::vector<ByteSpan>& missing) { return {missing.front().begin, missing.back().end}; }

// Reads what the copy has of the span, outside of `hull`.
Status read_around(StagedObject& object, std::span<const MutableBytes> parts, ByteSpan span, ByteSpan hull) {
  for (const ByteSpan side : {ByteSpan{span.begin, hull.begin}, ByteSpan{hull.end, span.end}})
    if (side.begin < side.end) PENSTOCK_CHECK(read_copy(object, side.begin, parts_of_span(parts, span.begin, side)));
  return {};
}

// Counts a read of the source while it lasts.
class Reading {
 public:
  explicit Reading(StageCore& core) : core_(core) { core_.begin_reading(); }
  Reading(const Reading&) = delete;
  ~Reading() { core_.end_reading(bytes); }

  std::uint64_t bytes = 0;

 private:
  StageCore& core_;
};

// Keeps the copier from reading the same bytes.
class BeingRead {
 public:
  BeingRead(StagedObject& object, ByteSpan span) : object_(object), span_(span) { object_.begin_reading(span_); }
  BeingRead(const BeingRead&) = delete;
  ~BeingRead() { object_.end_reading(span_); }

 private:
  StagedObject& object_;
  const ByteSpan span_;
};

// Waits until the copier has brought a byte of the span. False: it is not at it, or the thread was interrupted.
bool wait_for_copier(StagedObject& object, ByteSpan span) {
  const auto answer = std::make_shared<ReadAnswer>();
  if (!object.wait_for(span, [answer] { answer->set(ObjectBytes{}); })) return false;
  // Nobody else would end the wait for an interrupted reader, so it looks by itself.
  while (!answer->is_there()) {
    if (Interruption::is_requested()) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

class StagedReader final : public Object {
 public:
  StagedReader(ObjectVersion version, std::string key, StageOrigin origin, ObjectPtr object,
               std::unique_ptr<Object> source, std::shared_ptr<StageCore> core)
      : Object(version),
        key_(std::move(key)),
        origin_(std::move(origin)),
        object_(std::move(object)),
        source_(std::move(source)),
        core_(std::move(core)) {}

  using Object::read_at;

  Result<ObjectVersion> version_now() const override {
    if (source_) return source_->version_now();
    if (!origin_.store->traits().is_local) return version();
    return origin_.store->stat(key_);
  }

  Status read_at(std::uint64_t offset, std::span<const MutableBytes> parts) override {
    std::uint64_t bytes = 0;
    for (const MutableBytes part : parts) bytes += part.size();
    const ByteSpan span{offset, offset + bytes};
    if (bytes == 0 || offset > version().size || bytes > version().size - offset) return read_source(span, parts, false);
    auto missing = object_->missing(span);
    for (int waits = 0; !missing.empty() && waits < kMaxWaits; ++waits) {
      if (!wait_for_copier(*object_, hull_of(missing))) break;
      missing = object_->missing(span);
    }
    const ByteSpan hull = missing.empty() ? ByteSpan{span.end, span.end} : hull_of(missing);
    // What the disk does not give, the source does.
    if (!read_around(*object_, parts, span, hull)) return read_source(span, parts, false);
    core_->count_served(span.size() - hull.size());
    if (missing.empty()) return {};
    return read_source(hull, parts_of_span(parts, offset, hull), true);
  }

 private:
  Status read_source(ByteSpan span, std::span<const MutableBytes> parts, bool keep) {
    if (!source_) {
      auto opened = origin_.store->open(key_);
      if (!opened) return std::unexpected(std::move(opened).error());
      if ((*opened)->version() != version())
        return fail(ErrorCode::kChanged, "object changed while in use", {key_, -1, -1, -1});
      source_ = *std::move(opened);
    }
    Reading reading(*core_);
    if (!keep) return source_->read_at(span.begin, parts);
    const BeingRead being_read(*object_, span);
    PENSTOCK_CHECK(source_->read_at(span.begin, parts));
    reading.bytes = span.size();
    // A file that was written to meanwhile must not become a mixture.
    if (const auto now = source_->version_now(); !now || *now != version()) return {};
    for (std::uint64_t at = span.begin; const MutableBytes part : parts) {
      core_->keep(object_, at, part);
      at += part.size();
    }
    return {};
  }

  const std::string key_;  // as the reader named it
  const StageOrigin origin_;
  const ObjectPtr object_;
  std::unique_ptr<Object> source_;  // empty until bytes are missing
  const std::shared_ptr<StageCore> core_;
};

class StagedStore final : public Store {
 public:
  StagedStore(std::shared_ptr<const Store> source, std::shared_ptr<StageCore> core, std::shared_ptr<const void> keeper)
      : source_(std::move(source)),
        core_(std::move(core)),
        keeper_(std::move(keeper)) {}

  StoreTraits traits() const override {
    StoreTraits traits = source_->traits();
    traits.can_write = false;
    return traits;
  }
  Result<ObjectVersion> stat(const std::string& key) const override { return source_->stat(key); }
  Result<KeyKind> kind_of(const std::string& key) const override { return source_->kind_of(key); }
  Status list_pages(const std::string& key, const ListOptions& options, const TakePage& take) const override {
    return source_->list_pages(key, options, take);
  }
  std::optional<FolderIdentity> identity_of(const std::string& key) const override { return source_->identity_of(key); }

  Result<std::unique_ptr<Object>> open(const std::string& key) const override {
    if (is_in_child()) return source_->open(key);
    const auto origin = core_->origin_of(key);
    if (!origin) return source_->open(key);
    std::unique_ptr<Object> opened;
    ObjectVersion version;
    if (const auto known = known_version(*origin)) {
      version = *known;
    } else if (source_->traits().is_local) {
      auto object = source_->open(key);
      if (!object) return object;
      opened = *std::move(object);
      version = opened->version();
    } else {
      const auto now = source_->stat(key);
      if (!now) return std::unexpected(now.error());
      version = *now;
    }
    ObjectPtr object = core_->object_for(*origin, version);
    if (!object && opened) return opened;
    if (!object) return source_->open(key);
    return std::make_unique<StagedReader>(version, key, *origin, std::move(object), std::move(opened), core_);
  }

  Result<ObjectBytes> read(const ObjectRead& wanted, const Allocate& allocate) const override {
    const auto answer = std::make_shared<ReadAnswer>();
    std::stop_source stop;
    start_read(wanted, allocate, stop.get_token(),
               [answer](Result<ObjectBytes> result) { answer->set(std::move(result)); });
    return answer->wait_interruptibly([&] { stop.request_stop(); });
  }

  void start_read(ObjectRead wanted, Allocate allocate, std::stop_token stop, Done done) const override {
    if (is_in_child() || wanted.only_version || !core_->origin_of(wanted.key))
      return source_->start_read(std::move(wanted), std::move(allocate), std::move(stop), std::move(done));
    auto read = std::make_shared<Pending>();
    read->origin = *core_->origin_of(wanted.key);
    read->wanted = std::move(wanted);
    read->allocate = std::move(allocate);
    read->stop = std::move(stop);
    read->done = std::move(done);
    serve_later(std::move(read));
  }

 private:
  struct Pending {
    StageOrigin origin;
    ObjectRead wanted;
    Allocate allocate;
    std::stop_token stop;
    Done done;
    int waits = 0;
    ObjectPtr object;
    std::unique_ptr<BeingRead> being_read;
    MutableBytes memory;  // of the whole answer, where the source is asked for a part of it
  };
  using PendingPtr = std::shared_ptr<Pending>;

  // The threads of the folder do not come along through a fork, and a mutex of theirs may stay locked for ever. So the
  // child reads the source.
  bool is_in_child() const { return process_ != getpid(); }

  void serve_later(PendingPtr read) const {
    core_->post([this, read = std::move(read)] { serve(read); });
  }

  // The version of an object without a request, where it need not be asked for.
  std::optional<ObjectVersion> known_version(const StageOrigin& origin) const {
    // A file is looked at each time, as it would be without the folder.
    if (source_->traits().is_local) return std::nullopt;
    if (const auto version = core_->compared_version(origin.name)) return version;
    if (const ObjectPtr object = core_->find(origin.name); object && !object->has_failed()) return object->version();
    return std::nullopt;
  }

  ObjectPtr resolve(const Pending& read) const {
    auto version = read.wanted.version ? read.wanted.version : known_version(read.origin);
    // Bytes of an object that the folder may have need no request but that for the version.
    if (!version && (core_->context().manifest->find(read.origin.name) || source_->traits().is_local))
      if (const auto now = source_->stat(read.wanted.key)) version = *now;
    return version ? core_->object_for(read.origin, *version) : nullptr;
  }

  // Runs on a thread of the core.
  void serve(const PendingPtr& read) const {
    if (read->stop.stop_requested())
      return finish(read, fail(ErrorCode::kStopped, "reading was cancelled", {read->wanted.key, -1, -1, -1}));
    read->object = resolve(*read);
    if (!read->object) {
      if (read->waits++ < kMaxWaits && core_->wait_for_unknown(read->origin.name, [this, read] { serve_later(read); }))
        return;
      return read_source(read);
    }
    StagedObject& object = *read->object;
    const std::uint64_t size = object.version().size;
    const ByteRange& range = read->wanted.range;
    ByteSpan span{range.offset, size};
    if (range.from_end)
      span.begin = size - std::min(size, range.length);
    else if (range.length != ByteRange::kToTheEnd)
      span.end = range.offset + range.length;
    // The source explains what is wrong with a read.
    if (span.begin > span.end || span.end > size || span.size() > read->wanted.max_bytes) {
      read->object = nullptr;
      return read_source(read);
    }
    const auto missing = object.missing(span);
    if (missing.empty()) return read_whole(read, span);
    const ByteSpan hull = hull_of(missing);
    if (read->waits < kMaxWaits && object.wait_for(hull, [this, read] { serve_later(read); })) {
      ++read->waits;
      return;
    }
    read->being_read = std::make_unique<BeingRead>(object, hull);
    if (hull != span) return read_part(read, span, hull);
    if (const ByteSpan wide = with_edges(object, span); wide != span && read_wider(read, span, wide)) return;
    read_source(read);
  }

  // The span and the missing bytes right before and after it.
  ByteSpan with_edges(StagedObject& object, ByteSpan span) const {
    if (source_->traits().has_cheap_random_access || span.size() > kMaxEdgedBytes) return span;
    const std::uint64_t size = object.version().size;
    const auto before = object.missing({span.begin - std::min(span.begin, kEdgeBytes), span.begin});
    const auto after = object.missing({span.end, std::min(size, span.end + kEdgeBytes)});
    if (!before.empty() && before.back().end == span.begin) span.begin = before.back().begin;
    if (!after.empty() && after.front().begin == span.end) span.end = after.front().end;
    return span;
  }

  // Returns false if there is no memory for it.
  bool read_wider(const PendingPtr& read, ByteSpan span, ByteSpan wide) const {
    const auto block = std::make_shared<MemoryBlock>(core_->take_memory(wide.size()));
    if (block->size() < wide.size()) return false;
    read->being_read = std::make_unique<BeingRead>(*read->object, wide);
    ObjectRead wanted = read->wanted;
    wanted.range = {wide.begin, wide.size()};
    wanted.max_bytes = wide.size();
    wanted.version = read->object->version();
    const MutableBytes target(block->data(), wide.size());
    core_->begin_reading();
    source_->start_read(
        std::move(wanted), [target](std::size_t) -> Result<MutableBytes> { return target; }, read->stop,
        [this, read, block, span, wide, target](Result<ObjectBytes> answer) {
          core_->post([this, read, block, span, wide, target, answer = std::move(answer)] {
            core_->end_reading(answer ? answer->bytes.size() : 0);
            const bool is_other = is_other_version(*read, answer);
            Result<ObjectBytes> given = answer;
            if (answer) {
              keep(*read, *answer);
              given = copy_out(*read, target.subspan(span.begin - wide.begin, span.size()), span, answer->version);
            }
            core_->free_memory(std::move(*block), wide.size());
            is_other ? read_anew(read) : finish(read, std::move(given));
          });
        });
    return true;
  }

  static Result<ObjectBytes> copy_out(const Pending& read, ConstBytes bytes, ByteSpan span, ObjectVersion version) {
    const auto memory = read.allocate(bytes.size());
    if (!memory) return std::unexpected(memory.error());
    std::ranges::copy(bytes, memory->begin());
    return ObjectBytes{memory->first(bytes.size()), span.begin, version};
  }

  void read_whole(const PendingPtr& read, ByteSpan span) const {
    const auto memory = read->allocate(span.size());
    if (!memory) return finish(read, std::unexpected(memory.error()));
    const MutableBytes bytes = memory->first(span.size());
    if (!read->object->read(span.begin, bytes)) {
      read->object->give_up();
      read->object = nullptr;
      return read_source(read);
    }
    core_->count_served(span.size());
    finish(read, ObjectBytes{bytes, span.begin, read->object->version()});
  }

  // Everything from the source, into the reader's memory.
  void read_source(const PendingPtr& read) const {
    core_->begin_reading();
    const bool is_unknown = !read->object;
    if (is_unknown) core_->begin_unknown(read->origin.name);
    source_->start_read(read->wanted, read->allocate, read->stop, [this, read, is_unknown](Result<ObjectBytes> answer) {
      core_->post([this, read, is_unknown, answer = std::move(answer)] {
        core_->end_reading(answer ? answer->bytes.size() : 0);
        if (answer) keep(*read, *answer);
        if (is_unknown) core_->end_unknown(read->origin.name);
        finish(read, answer);
      });
    });
  }

  // The missing part from the source, and what lies around it from the copy.
  void read_part(const PendingPtr& read, ByteSpan span, ByteSpan hull) const {
    const auto memory = read->allocate(span.size());
    if (!memory) return finish(read, std::unexpected(memory.error()));
    read->memory = memory->first(span.size());
    const MutableBytes all[] = {read->memory};
    if (!read_around(*read->object, all, span, hull)) {
      read->being_read = nullptr;
      read->object = nullptr;
      return read_source(read);
    }
    core_->count_served(span.size() - hull.size());
    ObjectRead part = read->wanted;
    part.range = {hull.begin, hull.size()};
    part.max_bytes = hull.size();
    part.version = read->object->version();
    const MutableBytes target = read->memory.subspan(hull.begin - span.begin, hull.size());
    core_->begin_reading();
    source_->start_read(
        std::move(part), [target](std::size_t) -> Result<MutableBytes> { return target; }, read->stop,
        [this, read, span](Result<ObjectBytes> answer) {
          core_->post([this, read, span, answer = std::move(answer)] {
            core_->end_reading(answer ? answer->bytes.size() : 0);
            if (is_other_version(*read, answer)) return read_anew(read);
            if (!answer) return finish(read, answer);
            keep(*read, *answer);
            finish(read, ObjectBytes{read->memory, span.begin, answer->version});
          });
        });
  }

  // The object is not the one whose copy was begun. A reader that did not name a version takes the present one.
  static bool is_other_version(const Pending& read, const Result<ObjectBytes>& answer) {
    return !answer && answer.error().code == ErrorCode::kChanged && !read.wanted.version;
  }
  void read_anew(const PendingPtr& read) const {
    core_->forget(read->origin.name);
    read->being_read = nullptr;
    read->object = nullptr;
    read_source(read);
  }

  void keep(const Pending& read, const ObjectBytes& answer) const {
    if (core_->is_stopping()) return;
    // A file that was written to meanwhile must not become a mixture.
    if (source_->traits().is_local)
      if (const auto now = source_->stat(read.wanted.key); !now || *now != answer.version) return;
    ObjectPtr object = read.object;
    if (!object || object->version() != answer.version) object = core_->object_for(read.origin, answer.version);
    if (object) core_->keep(object, answer.offset, answer.bytes);
  }

  static void finish(const PendingPtr& read, Result<ObjectBytes> answer) {
    const Done done = std::move(read->done);
    // The source's thread may hold the read for longer than the store exists, and must not be the last to hold it.
    read->being_read = nullptr;
    read->object = nullptr;
    read->origin.store = nullptr;
    done(std::move(answer));
  }

  const std::shared_ptr<const Store> source_;
  const std::shared_ptr<StageCore> core_;
  const std::shared_ptr<const void> keeper_;
  const int process_ = getpid();
};

}  // namespace

std::shared_ptr<const Store> make_staged_store(std::shared_ptr<const Store> source, std::shared_ptr<StageCore> core,
                                               std::shared_ptr<const void> keeper) {
  return std::make_shared<const StagedStore>(std::move(source), std::move(core), std::move(keeper));
}

}  // namespace penstock
