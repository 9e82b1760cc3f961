// What every store must do, whatever holds the bytes. A new store joins with one more Kind at the end; its traits
// decide what is asked of it.
#include "store/store.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/memory/opening_memory.h"
#include "penstock/interruption.h"
#include "penstock/stage.h"
#include "store/file/file_store.h"
#include "store/http/http_store.h"
#include "store/memory_store.h"
#include "support/azure_server.h"
#include "support/fault_calls.h"
#include "support/fault_store.h"
#include "support/http_server.h"
#include "support/hub_server.h"
#include "support/s3_reading.h"
#include "support/temporary_folder.h"

namespace penstock {
namespace {

std::vector<std::byte> counted(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = std::byte(i * 7 + 3);
  return bytes;
}

// A store with root/a.bin (1000 bytes), root/b/c.bin (3), root/b/d.bin (0), root/b-1/e.bin (1).
struct Filled {
  std::shared_ptr<const Store> store;
  std::string root;
  std::shared_ptr<void> owner;
};

const std::pair<const char*, std::size_t> kObjects[] = {
    {"a.bin", 1000}, {"b/c.bin", 3}, {"b/d.bin", 0}, {"b-1/e.bin", 1}};

Filled memory(std::size_t entries_per_page) {
  auto store = std::make_shared<MemoryStore>(entries_per_page);
  for (const auto& [name, size] : kObjects) store->put(std::string("root/") + name, counted(size));
  return {store, "root", nullptr};
}

Filled files(CallFaults faults) {
  auto folder = std::make_shared<TemporaryFolder>();
  for (const auto& [name, size] : kObjects) folder->write(name, counted(size));
  return {std::make_shared<FileStore>(std::make_shared<FaultCalls>(faults)), folder->path(), folder};
}

// Without a store where this build reads no HTTP.
Filled web(bool has_head) {
  auto server = std::make_shared<HttpServer>([has_head](const HttpCall& call, HttpConnection& client) {
    if (call.method == "HEAD" && !has_head) {
      client.send("HTTP/1.1 405 Not Allowed\r\nContent-Length: 0\r\n\r\n");
      return;
    }
    for (const auto& [name, size] : kObjects) {
      if (call.path != std::string("/root/") + name) continue;
      const auto bytes = counted(size);
      return client.answer(call, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    }
    const std::string body = call.method == "HEAD" ? "" : "nothing here";
    client.answer_status("404 Not Found", {}, body);
  });
  auto store = make_http_store();
  return {store ? *store : nullptr, server->url("/root"), server};
}

// Through a folder that has nothing yet, or everything.
Filled staged(Filled inner, bool is_whole) {
  if (inner.store == nullptr) return inner;
  struct Owner {
    std::shared_ptr<void> inner;
    TemporaryFolder folder;
  };
  const auto owner = std::make_shared<Owner>(std::move(inner.owner));
  auto stage = StagedFolder::open(owner->folder.path());
  EXPECT_TRUE(stage) << stage.error().describe();
  const auto store = (*stage)->before(inner.store, inner.root);
  for (const auto& [name, size] : kObjects) {
    if (!is_whole) continue;
    EXPECT_TRUE(read_all(*store, inner.root + "/" + name, 1000)) << size;
  }
  return {store, inner.root, owner};
}

Filled s3(std::size_t page_entries) {
  S3Server::Options options;
  options.page_entries = page_entries;
  auto server = std::make_shared<S3Server>(options);
  for (const auto& [name, size] : kObjects) {
    const auto bytes = counted(size);
    server->put(std::string("bucket/root/") + name, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  auto store = s3_store_on(*server);
  return {store ? *store : nullptr, "s3://bucket/root", server};
}

// A real server, if PENSTOCK_TEST_S3 names one and a bucket ("http://host:port/bucket"), with the credentials of the
// environment. tests/cluster/test_s3_ceph.py starts it. Each test has a folder of its own, filled by the store itself.
Filled gateway() {
  const char* const place = std::getenv("PENSTOCK_TEST_S3");
  if (place == nullptr) return {};
  static int number = 0;
  const std::string text = place;
  const std::string root = "s3:/" + text.substr(text.rfind('/')) + "/conformance-" + std::to_string(++number);
  S3Options options;
  options.endpoint = text.substr(0, text.rfind('/'));
  auto store = make_s3_store(root, options);
  if (!store) return {};
  for (const auto& [name, size] : kObjects) {
    auto writer = (*store)->create(root + "/" + name);
    EXPECT_TRUE(writer && (*writer)->write(counted(size)) && (*writer)->commit()) << name;
  }
  return {*store, root, nullptr};
}

Filled azure(std::size_t page_entries) {
  auto server = std::make_shared<AzureServer>(page_entries);
  for (const auto& [name, size] : kObjects) {
    const auto bytes = counted(size);
    server->put(std::string("container/root/") + name, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  auto store = server->store();
  return {store ? *store : nullptr, "az://container/root", server};
}

Filled hub(std::size_t page_entries, bool storage_has_head) {
  auto server = std::make_shared<HubServer>(page_entries, storage_has_head);
  for (const auto& [name, size] : kObjects) {
    const auto bytes = counted(size);
    server->put(std::string("root/") + name, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  auto store = server->store();
  return {store ? *store : nullptr, "hf://datasets/owner/name/root", server};
}

struct Kind {
  const char* name;
  std::function<Filled()> make;
};

class AnyStore : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    filled_ = GetParam().make();
    if (filled_.store == nullptr) GTEST_SKIP() << "not in this build";
  }
  const Store& store() const { return *filled_.store; }
  bool can_list() const { return store().traits().can_list; }
  std::string key(const std::string& name) const { return filled_.root + "/" + name; }

  static ConstBytes text(std::string_view words) { return std::as_bytes(std::span(words)); }
  void write(const std::string& name, std::string_view words) const {
    auto writer = store().create(key(name));
    ASSERT_TRUE(writer) << writer.error().describe();
    ASSERT_TRUE((*writer)->write(text(words)));
    const auto committed = (*writer)->commit();
    ASSERT_TRUE(committed) << committed.error().describe();
  }
  std::string contents(const std::string& name) const {
    const auto bytes = read_all(store(), key(name), 1 << 20);
    return bytes ? std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size()) : bytes.error().describe();
  }
  std::vector<std::string> names_in(const std::string& folder) const {
    std::vector<std::string> names;
    if (const auto entries = store().list(key(folder)))
      for (const FolderEntry& entry : *entries) names.push_back(entry.name);
    return names;
  }

  Filled filled_;
};

TEST_P(AnyStore, opens_and_tells_the_size) {
  const auto object = store().open(key("a.bin"));
  ASSERT_TRUE(object) << object.error().describe();
  EXPECT_EQ((*object)->version().size, 1000u);
  EXPECT_EQ(*store().stat(key("a.bin")), (*object)->version());
}

TEST_P(AnyStore, reads_exactly_what_was_asked_for) {
  auto object = store().open(key("a.bin"));
  ASSERT_TRUE(object);
  const auto all = counted(1000);
  for (const auto& [offset, size] :
       {std::pair<std::size_t, std::size_t>{0, 1000}, {0, 1}, {999, 1}, {500, 123}}) {
    std::vector<std::byte> out(size + 2, std::byte{0xEE});
    ASSERT_TRUE((*object)->read_at(offset, MutableBytes(out).subspan(1, size)));
    EXPECT_EQ(out.front(), std::byte{0xEE});
    EXPECT_EQ(out.back(), std::byte{0xEE});
    EXPECT_TRUE(
        std::equal(out.begin() + 1, out.end() - 1, all.begin() + static_cast<std::ptrdiff_t>(offset)));
  }
}

TEST_P(AnyStore, fills_several_parts_in_order_and_skips_empty_ones) {
  auto object = store().open(key("a.bin"));
  ASSERT_TRUE(object);
  std::vector<std::byte> first(10), none, second(490), third(5);
  const std::array<MutableBytes, 4> parts = {MutableBytes(first), MutableBytes(none), MutableBytes(second),
                                             MutableBytes(third)};
  ASSERT_TRUE((*object)->read_at(100, parts));
  const auto all = counted(1000);
  EXPECT_TRUE(std::equal(first.begin(), first.end(), all.begin() + 100));
  EXPECT_TRUE(std::equal(second.begin(), second.end(), all.begin() + 110));
  EXPECT_TRUE(std::equal(third.begin(), third.end(), all.begin() + 600));
}

TEST_P(AnyStore, reads_of_nothing_succeed) {
  auto object = store().open(key("b/d.bin"));
  ASSERT_TRUE(object);
  EXPECT_EQ((*object)->version().size, 0u);
  EXPECT_TRUE((*object)->read_at(0, MutableBytes{}));
}

TEST_P(AnyStore, reading_past_the_end_is_truncation_that_names_object_and_place) {
  auto object = store().open(key("a.bin"));
  ASSERT_TRUE(object);
  std::vector<std::byte> out(10);
  for (const std::uint64_t offset : {991u, 1000u, 5000u}) {
    const auto status = (*object)->read_at(offset, out);
    ASSERT_FALSE(status) << offset;
    EXPECT_EQ(status.error().code, ErrorCode::kTruncated);
    EXPECT_EQ(status.error().where.uri, key("a.bin"));
    EXPECT_EQ(status.error().where.offset, static_cast<std::int64_t>(offset));
    EXPECT_EQ(status.error().where.length, 10);
  }
  std::vector<std::byte> start(995);
  const std::array<MutableBytes, 2> parts = {MutableBytes(start), MutableBytes(out)};
  const auto status = (*object)->read_at(0, parts);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().where.offset, 0) << "the read as it was asked for";
  EXPECT_EQ(status.error().where.length, 1005);
}

TEST_P(AnyStore, offsets_beyond_any_file_are_an_error) {
  auto object = store().open(key("a.bin"));
  ASSERT_TRUE(object);
  std::vector<std::byte> out(10);
  for (const std::uint64_t offset :
       {std::uint64_t{1} << 62, (std::uint64_t{1} << 63) + 5, ~std::uint64_t{0} - 3})
    EXPECT_FALSE((*object)->read_at(offset, out)) << offset;
}

TEST_P(AnyStore, missing_objects_are_not_found_by_name) {
  std::vector<Error> errors = {store().open(key("nope.bin")).error(), store().stat(key("nope.bin")).error()};
  if (can_list()) errors.push_back(store().list(key("nope")).error());
  for (const auto& status : errors) {
    EXPECT_EQ(status.code, ErrorCode::kNotFound) << status.describe();
    EXPECT_NE(status.where.uri.find("nope"), std::string::npos);
  }
  EXPECT_FALSE(store().open(key("a.bin/x")));
}

TEST_P(AnyStore, folders_cannot_be_opened) { EXPECT_FALSE(store().open(key("b"))); }

TEST_P(AnyStore, reads_without_opening) {
  const auto all = counted(1000);
  const auto read = [&](const char* name, ByteRange range, std::uint64_t most,
                        std::optional<ObjectVersion> version = {}) -> Result<std::vector<std::byte>> {
    std::vector<std::byte> memory;
    const auto bytes =
        store().read({key(name), range, most, version}, [&](std::size_t size) -> Result<MutableBytes> {
          memory.resize(size + 1);  // more than was asked for is as good
          return MutableBytes(memory);
        });
    if (!bytes) return std::unexpected(bytes.error());
    EXPECT_EQ(bytes->version, *store().stat(key(name)));
    return std::vector<std::byte>(bytes->bytes.begin(), bytes->bytes.end());
  };
  const auto part = [&](std::size_t begin, std::size_t end) {
    return std::vector<std::byte>(all.begin() + static_cast<std::ptrdiff_t>(begin),
                                  all.begin() + static_cast<std::ptrdiff_t>(end));
  };
  constexpr std::uint64_t kEnd = ByteRange::kToTheEnd;
  for (const std::uint64_t most : {std::uint64_t{1000}, std::uint64_t{1} << 40}) {
    EXPECT_EQ(read("a.bin", {}, most), all);
    EXPECT_EQ(read("a.bin", {10, 20, false}, most), part(10, 30));
    EXPECT_EQ(read("a.bin", {900, kEnd, false}, most), part(900, 1000));
    EXPECT_EQ(read("a.bin", {1000, kEnd, false}, most), part(0, 0));
    EXPECT_EQ(read("a.bin", {1000, 0, false}, most), part(0, 0));
    EXPECT_EQ(read("a.bin", {0, 20, true}, most), part(980, 1000));
    EXPECT_EQ(read("a.bin", {0, 5000, true}, most), all);
    EXPECT_EQ(read("a.bin", {0, 0, true}, most), part(0, 0));
    EXPECT_EQ(read("b/d.bin", {}, most), part(0, 0));
    EXPECT_EQ(read("b/d.bin", {0, 20, true}, most), part(0, 0));
  }
  const ObjectVersion version = *store().stat(key("a.bin"));
  EXPECT_EQ(read("a.bin", {}, 1000, version), all);
  EXPECT_EQ(read("a.bin", {10, 20, false}, 1000, version), part(10, 30));
  EXPECT_EQ(read("a.bin", {0, 20, true}, 1000, version), part(980, 1000));
  const auto code = [](const auto& result) { return result ? ErrorCode::kCallback : result.error().code; };
  EXPECT_EQ(code(read("a.bin", {}, 999)), ErrorCode::kTooLarge);
  EXPECT_EQ(code(read("a.bin", {0, 20, true}, 19)), ErrorCode::kTooLarge);
  EXPECT_EQ(code(read("a.bin", {990, 11, false}, 1000)), ErrorCode::kTruncated);
  EXPECT_EQ(code(read("a.bin", {2000, 1, false}, 1000)), ErrorCode::kTruncated);
  EXPECT_EQ(code(read("a.bin", {1, kEnd - 1, false}, kEnd)), ErrorCode::kTruncated);
  EXPECT_EQ(code(read("nope", {}, 1000)), ErrorCode::kNotFound);
  ObjectVersion other = version;
  other.size += 1;
  EXPECT_EQ(code(read("a.bin", {10, 20, false}, 1000, other)), ErrorCode::kChanged);
  EXPECT_EQ(code(read("a.bin", {}, 2000, other)), ErrorCode::kChanged);
}

TEST_P(AnyStore, tells_the_version_without_reading) {
  const auto never = [](std::size_t) -> Result<MutableBytes> { return fail(ErrorCode::kNoMemory, "no room"); };
  const auto told = store().read(version_read(key("a.bin")), never);
  ASSERT_TRUE(told) << told.error().describe();
  EXPECT_TRUE(told->version.is_exactly(*store().stat(key("a.bin"))));
  EXPECT_TRUE(told->bytes.empty());
  EXPECT_EQ(store().read(version_read(key("x.bin")), never).error().code, ErrorCode::kNotFound);
}

TEST_P(AnyStore, lists_files_and_folders_sorted_without_the_folder_name) {
  if (!can_list()) {
    EXPECT_EQ(store().list(filled_.root).error().code, ErrorCode::kUnsupported);
    return;
  }
  const auto root = store().list(filled_.root);
  ASSERT_TRUE(root);
  std::vector<std::pair<std::string, bool>> seen;
  for (const auto& entry : *root) seen.emplace_back(entry.name, entry.is_folder);
  EXPECT_EQ(seen, (std::vector<std::pair<std::string, bool>>{{"a.bin", false}, {"b", true}, {"b-1", true}}));
  EXPECT_EQ(store().list(key("b"))->size(), 2u);
}

TEST_P(AnyStore, lists_the_versions_that_are_wanted) {
  if (!can_list()) GTEST_SKIP() << "cannot list";
  std::vector<std::string> asked;
  const auto wants = [&](std::string_view name) {
    asked.emplace_back(name);
    return name != "d.bin";
  };
  const auto root = store().list(filled_.root, {wants});
  ASSERT_TRUE(root) << root.error().describe();
  ASSERT_TRUE((*root)[0].version);
  EXPECT_EQ((*root)[0].version->size, 1000u);
  EXPECT_TRUE((*root)[0].version->is_exactly(*store().stat(key("a.bin"))));
  EXPECT_FALSE((*root)[1].version) << "a folder";
  EXPECT_EQ(asked, std::vector<std::string>{"a.bin"}) << "each object once, and no folder";
  const auto below = store().list(key("b"), {wants});
  ASSERT_TRUE(below);
  EXPECT_TRUE((*below)[0].version);
  EXPECT_FALSE((*below)[1].version) << "not wanted";
  const auto without = store().list(filled_.root);
  EXPECT_FALSE((*without)[0].version);
}

TEST_P(AnyStore, lists_by_the_bytes_of_names) {
  if (!store().traits().can_write || !can_list()) GTEST_SKIP() << "cannot write and list";
  for (const char* name : {"n/Z", "n/a", "n/\xC3\xA4", "n/a.b", "n/10", "n/9"}) write(name, "x");
  std::vector<std::string> names;
  const auto entries = store().list(key("n"));
  ASSERT_TRUE(entries);
  for (const FolderEntry& entry : *entries) names.push_back(entry.name);
  EXPECT_EQ(names, (std::vector<std::string>{"10", "9", "Z", "a", "a.b", "\xC3\xA4"}));
}

TEST_P(AnyStore, tells_objects_from_folders_and_from_nothing) {
  EXPECT_EQ(*store().kind_of(key("a.bin")), KeyKind::kObject);
  EXPECT_EQ(*store().kind_of(key("nope")), KeyKind::kNothing);
  EXPECT_EQ(*store().kind_of(key("a.bin/x")), KeyKind::kNothing);
  EXPECT_EQ(*store().kind_of(key("b")), can_list() ? KeyKind::kFolder : KeyKind::kNothing);
  if (!can_list()) return;
  EXPECT_EQ(*store().kind_of(key("b/")), KeyKind::kFolder);
  EXPECT_EQ(*store().kind_of(filled_.root), KeyKind::kFolder);
  EXPECT_EQ(store().list(key("b/"))->size(), 2u) << "a slash at the end of a folder changes nothing";
}

TEST_P(AnyStore, lists_all_objects_below_a_folder_in_the_order_of_their_keys) {
  const ListOptions recursive{.wants_version = [](std::string_view) { return true; }, .is_recursive = true};
  if (!can_list()) {
    EXPECT_EQ(store().list(filled_.root, recursive).error().code, ErrorCode::kUnsupported);
    return;
  }
  const auto all = store().list(filled_.root, recursive);
  ASSERT_TRUE(all) << all.error().describe();
  std::vector<std::string> names;
  for (const FolderEntry& entry : *all) {
    names.push_back(entry.name);
    EXPECT_FALSE(entry.is_folder);
    ASSERT_TRUE(entry.version) << entry.name;
    EXPECT_TRUE(entry.version->is_exactly(*store().stat(key(entry.name)))) << entry.name;
  }
  EXPECT_EQ(names, (std::vector<std::string>{"a.bin", "b-1/e.bin", "b/c.bin", "b/d.bin"}));
  EXPECT_EQ(store().list(key("nope"), recursive).error().code, ErrorCode::kNotFound);
  EXPECT_EQ((*store().list(key("b"), recursive))[1].name, "d.bin");
}

TEST_P(AnyStore, lists_the_entries_that_are_wanted) {
  if (!can_list()) GTEST_SKIP() << "cannot list";
  const auto names = [&](bool is_recursive, const std::function<bool(std::string_view, bool)>& wants) {
    std::vector<std::string> found;
    const auto entries = store().list(filled_.root, {.wants = wants, .is_recursive = is_recursive});
    EXPECT_TRUE(entries) << entries.error().describe();
    for (const FolderEntry& entry : *entries) found.push_back(entry.name);
    return found;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(names(false, [](std::string_view, bool is_folder) { return is_folder; }), (Names{"b", "b-1"}));
  EXPECT_EQ(names(false, [](std::string_view, bool) { return false; }), Names{}) << "there is a folder, so no error";
  EXPECT_EQ(names(true, [](std::string_view name, bool) { return name != "b"; }), (Names{"a.bin", "b-1/e.bin"}))
      << "nothing below a folder that is not wanted";
  EXPECT_EQ(names(true, [](std::string_view name, bool is_folder) { return is_folder || name.ends_with("d.bin"); }),
            Names{"b/d.bin"});
}

TEST_P(AnyStore, pages_come_in_the_order_of_the_keys_until_nobody_wants_more) {
  if (!can_list()) GTEST_SKIP() << "cannot list";
  std::vector<std::string> names;
  const auto take = [&](const Listing& page) -> Result<bool> {
    for (const FolderEntry& entry : page) names.push_back(entry.name);
    return true;
  };
  ASSERT_TRUE(store().list_pages(filled_.root, {}, take));
  EXPECT_EQ(names, (std::vector<std::string>{"a.bin", "b-1", "b"})) << "'-' comes before '/'";
  for (const bool is_recursive : {false, true}) {
    int pages = 0;
    const auto first_page = [&](const Listing&) -> Result<bool> { return ++pages < 1; };
    EXPECT_TRUE(store().list_pages(filled_.root, {.is_recursive = is_recursive}, first_page));
    EXPECT_EQ(pages, 1);
    const auto refuse = [&](const Listing&) -> Result<bool> { return fail(ErrorCode::kTooLarge, "enough"); };
    EXPECT_EQ(store().list_pages(filled_.root, {.is_recursive = is_recursive}, refuse).error().code,
              ErrorCode::kTooLarge);
  }
}

TEST_P(AnyStore, a_listing_is_interrupted_and_keeps_to_the_memory_of_the_opening) {
  if (!can_list()) GTEST_SKIP() << "cannot list";
  for (const bool is_recursive : {false, true}) {
    const ListOptions options{.is_recursive = is_recursive};
    {
      Interruption interruption;
      interruption.request();
      const Interruption::Scope scope(&interruption);
      EXPECT_EQ(store().list(filled_.root, options).error().code, ErrorCode::kStopped);
    }
    OpeningMemory memory(100'000);
    const OpeningMemory::Scope scope(&memory);
    {
      const auto entries = store().list(filled_.root, options);
      ASSERT_TRUE(entries);
      EXPECT_GE(memory.working().used(), entries->size() * sizeof(FolderEntry));
    }
    EXPECT_EQ(memory.working().used(), 0u) << "released with the list";
    OpeningReservation others;
    ASSERT_TRUE(others.add(99'000, "the test", {}));
    const auto refused = store().list(filled_.root, options);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kNoMemory);
  }
}

TEST_P(AnyStore, what_cannot_be_written_says_so) {
  if (store().traits().can_write) GTEST_SKIP() << "can write";
  EXPECT_EQ(store().create(key("x")).error().code, ErrorCode::kUnsupported);
}

TEST_P(AnyStore, an_object_appears_whole_when_it_is_committed) {
  if (!store().traits().can_write) GTEST_SKIP() << "cannot write";
  auto writer = store().create(key("new/folder/x.bin"));
  ASSERT_TRUE(writer) << writer.error().describe();
  ASSERT_TRUE((*writer)->write(text("first, ")));
  ASSERT_TRUE((*writer)->write({}));
  ASSERT_TRUE((*writer)->write(text("second")));
  EXPECT_EQ(store().stat(key("new/folder/x.bin")).error().code, ErrorCode::kNotFound) << "not committed yet";
  ASSERT_TRUE((*writer)->commit());
  EXPECT_EQ(contents("new/folder/x.bin"), "first, second");
  EXPECT_FALSE((*writer)->write(text("more")));
  EXPECT_FALSE((*writer)->commit());
  (*writer)->abandon();
  writer->reset();
  EXPECT_EQ(contents("new/folder/x.bin"), "first, second") << "a commit is final";
  EXPECT_EQ(names_in("new/folder"), std::vector<std::string>{"x.bin"});
}

TEST_P(AnyStore, an_object_that_is_replaced_has_another_version_and_readers_of_the_old_one_never_see_it) {
  if (!store().traits().can_write) GTEST_SKIP() << "cannot write";
  write("x.bin", "old");
  const ObjectVersion before = *store().stat(key("x.bin"));
  auto reader = store().open(key("x.bin"));
  ASSERT_TRUE(reader);
  write("x.bin", "new");
  EXPECT_EQ(contents("x.bin"), "new");
  if (store().traits().has_versions) {
    EXPECT_FALSE(store().stat(key("x.bin"))->is_exactly(before));
  }
  std::string old(3, ' ');
  const auto read = (*reader)->read_at(0, std::as_writable_bytes(std::span(old)));
  if (store().reads_ahead() > 0) {
    ASSERT_FALSE(read) << "a server keeps the new one alone";
    EXPECT_EQ(read.error().code, ErrorCode::kChanged);
  } else {
    ASSERT_TRUE(read) << read.error().describe();
    EXPECT_EQ(old, "old");
  }
}

TEST_P(AnyStore, a_writer_that_is_abandoned_or_destroyed_leaves_the_old_object) {
  if (!store().traits().can_write) GTEST_SKIP() << "cannot write";
  write("w/x.bin", "old");
  for (const bool is_destroyed : {false, true}) {
    auto writer = store().create(key("w/x.bin"));
    ASSERT_TRUE(writer);
    ASSERT_TRUE((*writer)->write(text("new")));
    if (is_destroyed) {
      writer->reset();
    } else {
      (*writer)->abandon();
      EXPECT_FALSE((*writer)->write(text("more")));
      EXPECT_FALSE((*writer)->commit());
    }
    EXPECT_EQ(contents("w/x.bin"), "old");
    EXPECT_EQ(names_in("w"), std::vector<std::string>{"x.bin"}) << "nothing is left behind";
  }
}

TEST_P(AnyStore, every_fault_while_writing_leaves_the_old_object_and_nothing_else) {
  if (!store().traits().can_write) GTEST_SKIP() << "cannot write";
  write("w/x.bin", "old");
  for (const StoreCall call : {StoreCall::kCreate, StoreCall::kWrite, StoreCall::kCommit}) {
    const FaultStore faulty(filled_.store, {1, false, Fault::kEio, call});
    const auto replaced = [&]() -> Status {
      auto writer = faulty.create(key("w/x.bin"));
      if (!writer) return std::unexpected(writer.error());
      PENSTOCK_CHECK((*writer)->write(text("new")));
      return (*writer)->commit();
    }();
    ASSERT_FALSE(replaced);
    EXPECT_EQ(replaced.error().where.uri, key("w/x.bin"));
    EXPECT_EQ(faulty.faults(), 1u);
    EXPECT_EQ(contents("w/x.bin"), "old");
    EXPECT_EQ(names_in("w"), std::vector<std::string>{"x.bin"});
  }
}

TEST_P(AnyStore, faults_can_be_injected_into_each_call) {
  const auto fault = [&](StoreCall call) {
    return FaultStore(filled_.store, {1, false, Fault::kEio, call});
  };
  std::vector<std::byte> memory(1000);
  const auto allocate = [&](std::size_t) -> Result<MutableBytes> { return MutableBytes(memory); };
  const ObjectRead whole{key("a.bin"), {}, 1000, {}};
  EXPECT_EQ(fault(StoreCall::kOpen).open(key("a.bin")).error().code, ErrorCode::kIo);
  EXPECT_EQ(fault(StoreCall::kStat).stat(key("a.bin")).error().code, ErrorCode::kIo);
  EXPECT_EQ(fault(StoreCall::kList).list(filled_.root).error().code, ErrorCode::kIo);
  EXPECT_EQ(fault(StoreCall::kRead).read(whole, allocate).error().code, ErrorCode::kIo);
  auto object = fault(StoreCall::kReadAt).open(key("a.bin"));
  ASSERT_TRUE(object);
  EXPECT_EQ((*object)->read_at(0, memory).error().code, ErrorCode::kIo);
  EXPECT_TRUE((*object)->read_at(0, memory)) << "only the first";
  std::optional<ErrorCode> started;
  fault(StoreCall::kStartRead).start_read(whole, allocate, {}, [&](Result<ObjectBytes> answer) {
    if (!answer) started = answer.error().code;
  });
  EXPECT_EQ(started, ErrorCode::kIo);
}

TEST_P(AnyStore, read_all_keeps_its_limit) {
  EXPECT_EQ(*read_all(store(), key("a.bin"), 1000), counted(1000));
  EXPECT_EQ(read_all(store(), key("a.bin"), 999).error().code, ErrorCode::kTooLarge);
  EXPECT_TRUE(read_all(store(), key("b/d.bin"), 0)->empty());
}

INSTANTIATE_TEST_SUITE_P(
    Stores, AnyStore,
    testing::Values(Kind{"Memory", [] { return memory(1000); }}, Kind{"MemoryInPages", [] { return memory(1); }},
                    Kind{"Files", [] { return files({}); }},
                    Kind{"FilesShortReads", [] { return files({.short_read = 0.7}); }},
                    Kind{"FilesInterrupted",
                         [] {
                           return files({.short_read = 0.3, .short_write = 0.5, .interrupted = 0.5, .again = 0.3});
                         }},
                    Kind{"Web", [] { return web(true); }},
                    Kind{"WebWithoutHead", [] { return web(false); }},
                    Kind{"StagedFiles", [] { return staged(files({}), false); }},
                    Kind{"StagedWeb", [] { return staged(web(true), false); }},
                    Kind{"StagedWebThatWasRead", [] { return staged(web(true), true); }},
                    Kind{"S3", [] { return s3(1000); }},
                    Kind{"S3InPages", [] { return s3(1); }}, Kind{"S3Gateway", gateway},
                    Kind{"Azure", [] { return azure(5000); }}, Kind{"AzureInPages", [] { return azure(1); }},
                    Kind{"Hub", [] { return hub(1000, true); }}, Kind{"HubInPages", [] { return hub(1, false); }},
                    Kind{"FaultStoreWithoutFaults",
                         [] {
                           Filled inner = memory(1000);
                           inner.store = std::make_shared<FaultStore>(inner.store, FaultPlan{});
                           return inner;
                         }}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace penstock
