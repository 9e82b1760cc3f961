// The same data set is the same source in every store that can list: opened from local files and from objects whose keys
// are URLs, it has equal keys, order, fingerprint and values, and fails with equal messages.
#include <gtest/gtest.h>

#include <filesystem>

#include "penstock/source.h"
#include "penstock/loader.h"
#include "source/source_storage.h"
#include "store/memory_store.h"
#include "store/store_of_uri.h"
#include "support/encode_images.h"
#include "support/make_npy.h"
#include "support/make_tar.h"
#include "support/make_tiff.h"
#include "support/s3_reading.h"
#include "support/temporary_folder.h"
#include "support/text_bytes.h"
#include "support/zarr_store.h"

namespace penstock {
namespace {

using Bytes = std::vector<std::byte>;

// Everything that a loader delivers in one epoch in order.
struct Delivered {
  std::vector<std::string> names;
  std::vector<Bytes> values;
  std::vector<std::string> texts;
  std::string error;
  bool operator==(const Delivered&) const = default;
};

Bytes value_of(const BatchField& field) {
  const auto* raw = static_cast<const std::byte*>(field.data);
  return raw == nullptr ? Bytes() : Bytes(raw, raw + field.spec.bytes());
}

Delivered deliver(const SourcePtr& source) {
  LoaderOptions options;
  options.batch_size = 2;
  options.threads = 2;
  options.memory_bytes = 64 << 20;
  Delivered delivered;
  auto loader = Loader::open(source, options);
  if (!loader) return {{}, {}, {}, loader.error().describe()};
  auto epoch = (*loader)->start_epoch();
  if (!epoch) return {{}, {}, {}, epoch.error().describe()};
  while (true) {
    auto batch = (*epoch)->next();
    if (!batch) delivered.error = batch.error().describe();
    if (!batch || !*batch) return delivered;
    for (const BatchField& field : (*batch)->fields) {
      delivered.names.push_back(field.name);
      delivered.texts.insert(delivered.texts.end(), field.texts.begin(), field.texts.end());
      delivered.values.push_back(value_of(field));
    }
  }
}

enum class Objects : std::uint8_t { kMemory, kS3 };

// The same objects as local files and behind URLs, in pages of two entries: in memory, and in a bucket behind a canned
// server of S3.
class OpenSourceStores : public testing::TestWithParam<Objects> {
 protected:
  void SetUp() override {
    if (GetParam() != Objects::kS3) return;
    const auto store = s3_store_on(*server_);
    if (!store) GTEST_SKIP() << store.error().message;
  }
  static std::string root() { return GetParam() == Objects::kS3 ? "s3://bucket/set" : "memory://bucket/set"; }

  void put(const std::string& name, const Bytes& bytes) {
    folder_.write("set/" + name, bytes);
    put_object(name, bytes);
  }
  void put(const std::string& name, std::string_view text) { put(name, bytes_of(text)); }
  void put_object(const std::string& name, const Bytes& bytes) {
    if (GetParam() == Objects::kMemory) return objects_->put(url(name), bytes);
    server_->put("bucket/set/" + name, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }

  std::string local(const std::string& name) const { return folder_ / ("set/" + name); }
  static std::string url(const std::string& name) { return root() + "/" + name; }

  // The text with the local root for the other, so that messages can be compared.
  std::string as_local(std::string text) const {
    for (std::size_t at = 0; (at = text.find(root())) != std::string::npos;)
      text.replace(at, root().size(), folder_ / "set");
    return text;
  }

  OpenOptions options() {
    OpenOptions options;
    options.cache_dir = folder_ / "cache";
    options.warn = [this](const std::string& text) { warnings_.push_back(as_local(text)); };
    return options;
  }

  // Files that the user names one by one have these names as keys, so that the keys of files and of objects differ.
  enum class Keys : std::uint8_t { kBelowRoot, kAsNamed };

  // Returns the source of local files.
  SourcePtr expect_same(const Result<SourcePtr>& files, const Result<SourcePtr>& objects, Keys keys = Keys::kBelowRoot) {
    if (!files || !objects) {
      ADD_FAILURE() << (files ? "" : files.error().describe()) << "\n" << (objects ? "" : objects.error().describe());
      return nullptr;
    }
    const Source &a = **files, &b = **objects;
    EXPECT_EQ(a.size(), b.size());
    EXPECT_EQ(a.kind(), b.kind());
    EXPECT_EQ(a.classes(), b.classes());
    EXPECT_EQ(a.fingerprint() == b.fingerprint(), keys == Keys::kBelowRoot);
    EXPECT_EQ(a.storage().stored_bytes, b.storage().stored_bytes);
    EXPECT_EQ(a.fields().size(), b.fields().size());
    for (std::size_t field = 0; field < std::min(a.fields().size(), b.fields().size()); ++field) {
      EXPECT_EQ(a.fields()[field].name, b.fields()[field].name);
      EXPECT_EQ(a.fields()[field].kind, b.fields()[field].kind);
    }
    for (std::uint64_t sample = 0; sample < std::min(a.size(), b.size()); ++sample)
      EXPECT_EQ(a.key(sample), as_local(b.key(sample)));
    EXPECT_EQ(a.left_out() == nullptr, b.left_out() == nullptr);
    const Delivered from_files = deliver(*files), from_objects = deliver(*objects);
    EXPECT_EQ(from_files.error, "");
    EXPECT_FALSE(from_files.values.empty());
    EXPECT_TRUE(from_files == from_objects) << from_objects.error;
    return *files;
  }

  SourcePtr expect_same(const std::string& name, Keys keys = Keys::kBelowRoot) {
    const auto files = open_source(local(name), options());
    const std::vector<std::string> told = std::exchange(warnings_, {});
    const auto objects = open_source(url(name), options());
    EXPECT_EQ(told, std::exchange(warnings_, {}));
    return expect_same(files, objects, keys);
  }

  SourcePtr expect_same_list(const std::vector<std::string>& names, Keys keys = Keys::kBelowRoot) {
    std::vector<std::string> files, objects;
    for (const std::string& name : names) {
      files.push_back(local(name));
      objects.push_back(url(name));
    }
    return expect_same(open_source(files, options()), open_source(objects, options()), keys);
  }

  void expect_same_error(const std::string& name, const OpenOptions& how = {}) {
    const auto files = open_source(local(name), how), objects = open_source(url(name), how);
    ASSERT_TRUE(!files && !objects) << name;
    EXPECT_EQ(files.error().code, objects.error().code);
    EXPECT_EQ(files.error().describe(), as_local(objects.error().describe()));
  }

  TemporaryFolder folder_;
  static std::unique_ptr<S3Server> server() {
    S3Server::Options setup;
    setup.page_entries = 2;
    return std::make_unique<S3Server>(setup);
  }

  const std::unique_ptr<S3Server> server_ = GetParam() == Objects::kS3 ? server() : nullptr;
  std::shared_ptr<MemoryStore> objects_ = std::make_shared<MemoryStore>(2);
  std::vector<std::string> warnings_;
  const StoreKindScope scope_{StoreKind{
      {"memory", "s3"},
      [this](const std::string&, const std::vector<std::string>&) -> Result<std::shared_ptr<const Store>> {
        if (GetParam() == Objects::kS3) return s3_store_on(*server_);
        return objects_;
      }}};
};

Encoded picture_of(int number, int channels = 3) {
  return encode_png(make_picture(6, 4, channels, static_cast<std::uint64_t>(number) + 1));
}

TEST_P(OpenSourceStores, a_flat_folder_of_images) {
  for (const char* name : {"10.png", "9.png", "a.png", "B.PNG", ".hidden.png", "__MACOSX/9.png", ".git/9.png"})
    put(std::string("photos/") + name, picture_of(1));
  put("photos/notes.txt", "text");
  const SourcePtr source = expect_same("photos");
  ASSERT_NE(source, nullptr);
  EXPECT_EQ(source->size(), 4u);
  EXPECT_EQ(source->key(0), "10.png");
  EXPECT_EQ(source->left_out()->count(), 1u);
  expect_same("photos/");
}

TEST_P(OpenSourceStores, class_folders_in_the_order_of_their_paths) {
  int number = 0;
  for (const char* name : {"dog/1.png", "cat/2.png", "cat-big/3.png", "cat/deep/er/4.png", "loose.png", "cat.d/0.png"})
    put(std::string("train/") + name, picture_of(number++));
  const SourcePtr source = expect_same("train");
  ASSERT_NE(source, nullptr);
  EXPECT_EQ(source->classes(), (std::vector<std::string>{"cat", "cat-big", "cat.d", "dog"}));
  EXPECT_EQ(source->key(1), "cat-big/3.png");
  EXPECT_EQ(source->key(2), "cat.d/0.png");
  EXPECT_EQ(source->key(3), "cat/deep/er/4.png");
}

TEST_P(OpenSourceStores, an_object_that_marks_a_folder_is_an_empty_class) {
  put("train/cat/1.png", picture_of(1));
  put("train/dog/2.png", picture_of(2));
  std::filesystem::create_directories(local("train/emu"));
  put_object("train/emu/", {});
  const SourcePtr source = expect_same("train");
  ASSERT_NE(source, nullptr);
  EXPECT_EQ(source->classes().size(), 3u);
}

TEST_P(OpenSourceStores, a_flat_folder_with_masks) {
  for (int i = 0; i < 5; ++i) {
    put("images/" + std::to_string(i) + ".png", picture_of(i));
    put("masks/" + std::to_string(i) + ".png", picture_of(i + 10, 1));
  }
  OpenOptions of_files = options(), of_objects = options();
  of_files.masks = local("masks");
  of_objects.masks = url("masks");
  const SourcePtr source = expect_same(open_source(local("images"), of_files), open_source(url("images"), of_objects));
  ASSERT_NE(source, nullptr);
  EXPECT_EQ(source->fields()[1].kind, FieldKind::kMask);
  expect_same(open_source(local("images"), of_files), open_source(url("images"), of_files));  // masks in another store
}

TEST_P(OpenSourceStores, a_folder_of_npy_files_and_one_npy_file) {
  for (const char* name : {"a/2.npy", "a/10.npy", "b/1.npy"})
    put(std::string("arrays/") + name, make_npy<float>("<f4", {3}, {1, 2, static_cast<float>(name[2])}));
  expect_same("arrays");
  put("big.npy", make_npy<float>("<f4", {4, 2}, std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}));
  const SourcePtr source = expect_same("big.npy");
  ASSERT_NE(source, nullptr);
  EXPECT_EQ(source->size(), 4u);
  EXPECT_EQ(expect_same_list({"big.npy"}, Keys::kAsNamed)->size(), 1u) << "in a list it is one sample";
}

Bytes shard_of(const std::string& first) {
  TarArchive tar;
  for (const char* sample : {"1", "2", "3"}) {
    tar.add_file(first + sample + ".txt", "text " + first + sample);
    tar.add_file(first + sample + ".cls", sample);
  }
  return tar.finish();
}

TEST_P(OpenSourceStores, tar_shards_by_pattern_by_folder_and_by_list) {
  for (const char* name : {"a", "b", "c"}) {
    put("shards/train-" + std::string(name) + ".tar", shard_of(name));
    put("deep/" + std::string(name) + "/x/train.tar", shard_of(name));
  }
  put("shards/README.txt", "text");
  const SourcePtr by_pattern = expect_same("shards/*.tar");
  ASSERT_NE(by_pattern, nullptr);
  EXPECT_EQ(by_pattern->size(), 9u);
  EXPECT_EQ(by_pattern->key(0), "a1");
  expect_same("shards/train-[ab].tar");
  expect_same("shards/train-{c,a}.tar");
  expect_same("deep/**/*.tar");
  expect_same("deep/*/x/train.tar");
  expect_same("shards");
  expect_same("shards/");
  expect_same("shards/train-b.tar");
  expect_same_list({"shards/train-c.tar", "shards/train-a.tar", "deep/**/train.tar"});
}

TEST_P(OpenSourceStores, single_images_patterns_lists_and_labels) {
  for (int i = 8; i < 12; ++i) put("p/" + std::to_string(i) + ".png", picture_of(i));
  put("p/with [1].png", picture_of(3));
  for (const char* name : {"p/9.png", "p/with [1].png", "p/1[0-9].png", "p/*.png"}) expect_same(name, Keys::kAsNamed);
  expect_same_list({"p/9.png", "p/1*.png"}, Keys::kAsNamed);
  LabelledFiles files{{local("p/9.png"), local("p/8.png")}, {1, 0}, {}}, objects{{url("p/9.png"), url("p/8.png")}, {1, 0}, {}};
  const auto labelled_files = open_labelled_files(files, options());
  const auto labelled_objects = open_labelled_files(objects, options());
  ASSERT_TRUE(labelled_files && labelled_objects);
  EXPECT_TRUE(deliver(*labelled_files) == deliver(*labelled_objects));
}

TEST_P(OpenSourceStores, a_table_with_relative_paths) {
  for (int i = 0; i < 3; ++i) put("t/images/" + std::to_string(i) + ".png", picture_of(i));
  put("t/train.csv", "path,label\nimages/2.png,cat\n./images/0.png,dog\nimages/../images/1.png,cat\n");
  const SourcePtr source = expect_same("t/train.csv");
  ASSERT_NE(source, nullptr);
  EXPECT_EQ(source->classes(), (std::vector<std::string>{"cat", "dog"}));
  put("elsewhere/train.csv", "path\nimages/2.png\nimages/1.png\n");
  OpenOptions of_files = options(), of_objects = options();
  of_files.root = local("t");
  of_objects.root = url("t");
  expect_same(open_source(local("elsewhere/train.csv"), of_files), open_source(url("elsewhere/train.csv"), of_objects));
}

// A group with one array t(time: 4, x: 3) and its times, beginning at `first`.
template <typename Put>
void put_group(const Put& put, const std::string& name, int first) {
  const auto numbers = [](std::vector<std::int32_t> values) {
    Bytes bytes;
    append(bytes, values.data(), values.size() * sizeof(std::int32_t));
    return bytes;
  };
  put(name + "/.zgroup", bytes_of(R"({"zarr_format": 2})"));
  put(name + "/t/.zarray", bytes_of(v2_text({{"shape", "[4, 3]"}, {"chunks", "[2, 3]"}})));
  put(name + "/t/.zattrs", bytes_of(R"({"_ARRAY_DIMENSIONS": ["time", "x"]})"));
  put(name + "/t/0.0", numbers({first, 1, 2, 3, 4, 5}));
  put(name + "/t/1.0", numbers({first + 6, 7, 8, 9, 10, 11}));
  put(name + "/time/.zarray", bytes_of(v2_text({{"shape", "[4]"}, {"chunks", "[4]"}})));
  put(name + "/time/.zattrs", bytes_of(R"({"_ARRAY_DIMENSIONS": ["time"]})"));
  put(name + "/time/0", numbers({first, first + 1, first + 2, first + 3}));
}

TEST_P(OpenSourceStores, a_zarr_group_and_several_that_are_joined_by_glob) {
  const auto here = [&](const std::string& name, const Bytes& bytes) { put(name, bytes); };
  put_group(here, "y/era-2001.zarr", 100);
  put_group(here, "y/era-2000.zarr", 0);
  put_group(here, "y/later/more/era-2002.zarr", 200);
  expect_same("y/era-2000.zarr");
  expect_same("y/era-2000.zarr/");
  ZarrOptions of_time;
  of_time.variables = {"t"};
  of_time.sample_dim = "time";
  for (const char* pattern : {"y/era-*.zarr", "y/era-{2000..2001}.zarr", "y/**/era-*.zarr", "y/era-2000.zarr"}) {
    const SourcePtr source = expect_same(open_zarr(local(pattern), of_time), open_zarr(url(pattern), of_time));
    ASSERT_NE(source, nullptr) << pattern;
    EXPECT_EQ(source->size() % 4, 0u);
  }
  const auto missing_file = open_zarr(local("y/nope.zarr"), of_time), missing = open_zarr(url("y/nope.zarr"), of_time);
  ASSERT_TRUE(!missing_file && !missing);
  EXPECT_EQ(missing_file.error().describe(), as_local(missing.error().describe()));
}

TEST_P(OpenSourceStores, patches_of_a_folder_of_planes_in_natural_order) {
  for (int i = 0; i < 11; ++i) {
    TiffMaker plane;
    plane.add_page(small_page(plane.add_data(Bytes(12, std::byte(i)))));
    put("planes/p" + std::to_string(i) + ".tif", plane.file());
  }
  PatchOptions options;
  options.size = {2, 3, 4};
  expect_same(open_patches({local("planes")}, options), open_patches({url("planes")}, options));
  expect_same(open_patches({local("planes/p*.tif")}, options), open_patches({url("planes/p*.tif")}, options));
}

TEST_P(OpenSourceStores, failures_say_the_same) {
  put("d/train.png", picture_of(1));
  put("d/x.rar", "text");
  put("both/a.png", picture_of(1));
  put("both/a.npy", make_npy<float>("<f4", {1}, {1}));
  put("other/a.txt", "text");
  for (const char* name : {"d/trian.png", "d/x.rar", "d/*.jpg", "nowhere/x.png", "both", "other", "d/train.png/x",
                           "nowhere/*.png"})
    expect_same_error(name);
  OpenOptions of_shards;
  of_shards.kind = "tar";
  expect_same_error("d", of_shards);
  OpenOptions of_zarr;
  of_zarr.kind = "zarr";
  expect_same_error("d", of_zarr);
  expect_same_error("nowhere", of_zarr);
  // What is missing by its own name, the store says in its words.
  EXPECT_EQ(open_source(local("d/{1..3}.png")).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(open_source(url("d/{1..3}.png")).error().code, ErrorCode::kNotFound);
  const auto mixed = open_source(std::vector{local("d/train.png"), url("d/train.png")}, options());
  ASSERT_FALSE(mixed);
  EXPECT_EQ(mixed.error().code, ErrorCode::kUnsupported);
  const auto several = open_source(std::vector{url("d/train.png"), std::string("http://h/x.png")}, options());
  ASSERT_FALSE(several);
  EXPECT_NE(several.error().message.find("URLs of several kinds"), std::string::npos) << several.error().message;
}

TEST_P(OpenSourceStores, an_index_of_a_folder_is_saved_only_where_its_time_tells_of_new_files) {
  put("photos/1.png", picture_of(1));
  for (int time = 0; time < 2; ++time) {
    EXPECT_EQ((*open_source(local("photos"), options()))->storage().index_was_saved, time > 0);
    EXPECT_FALSE((*open_source(url("photos"), options()))->storage().index_was_saved);
  }
  put_object("photos/2.png", picture_of(2));
  EXPECT_EQ((*open_source(url("photos"), options()))->size(), 2u);
}

INSTANTIATE_TEST_SUITE_P(Stores, OpenSourceStores, testing::Values(Objects::kMemory, Objects::kS3),
                         [](const auto& test) { return test.param == Objects::kS3 ? "S3" : "Memory"; });

}  // namespace
}  // namespace penstock
