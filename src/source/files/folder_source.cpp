#include "source/files/folder_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "base/hash.h"
#include "decode/npy.h"
#include "penstock/interruption.h"
#include "source/array_layout.h"
#include "source/extent.h"
#include "source/source_storage.h"
#include "store/key_path.h"
#include "store/store_of_uri.h"

namespace penstock {
namespace {

std::string stem_of(const std::string& path) {
  const auto slash = path.rfind('/'), dot = path.rfind('.');
  return dot == std::string::npos || (slash != std::string::npos && dot < slash) ? path : path.substr(0, dot);
}

class FolderSource final : public Source {
 public:
  FolderSource(std::shared_ptr<const Store> store, FileIndex index, FolderSourceOptions options)
      : store_(std::move(store)),
        index_(std::move(index)),
        options_(std::move(options)) {}

  Status prepare() {
    const bool has_labels = !options_.labels.empty();
    if (has_labels)
      classes_ = options_.classes;
    else
      find_classes();
    const bool images = index_.kind == FileKind::kImage;
    fields_.push_back(images ? FieldInfo{"image", FieldKind::kImage} : FieldInfo{"array", FieldKind::kArray});
    if (!options_.masks_root.empty()) {
      PENSTOCK_CHECK(find_masks());
      fields_.push_back({"mask", FieldKind::kMask});
    }
    if (!classes_.empty() || has_labels)
      fields_.push_back({"label", FieldKind::kInteger, FieldForm::kIndex, true, !classes_.empty()});
    InterruptionCheck check;
    for (const auto& file : index_.files) {
      PENSTOCK_CHECK(check(options_.uri));
      fingerprint_ = hash_text(index_.folders[file.folder].path, fingerprint_);
      fingerprint_ = hash_text(index_.name(file), fingerprint_ ^ file.size);
      storage_.stored_bytes += file.size;
    }
    for (const std::int64_t label : options_.labels)
      fingerprint_ = mix64(fingerprint_ ^ static_cast<std::uint64_t>(label));
    if (!images) read_first_header();
    storage_.stores = {store_};
    if (options_.masks_store != nullptr) storage_.stores.push_back(options_.masks_store);
    storage_.index_was_saved = index_.was_saved;
    storage_.discardable_indexes = {options_.saved_index_path};
    return {};
  }

  std::uint64_t size() const override { return index_.files.size(); }
  const std::vector<FieldInfo>& fields() const override { return fields_; }
  std::string kind() const override {
    if (!options_.labels.empty()) return index_.kind == FileKind::kImage ? "image files" : "npy files";
    return std::string(index_.kind == FileKind::kImage ? "image" : "npy") +
           (classes_.empty() ? " folder" : " class folders");
  }
  std::string uri() const override { return options_.uri; }
  std::string key(std::uint64_t sample) const override { return index_.relative_path(index_.files[sample]); }
  const std::vector<std::string>& classes() const override { return classes_; }
  const LeftOutFiles* left_out() const override {
    return index_.left_out.by_ending.empty() ? nullptr : &index_.left_out;
  }
  std::uint64_t fingerprint() const override { return fingerprint_; }
  const SourceStorage& storage() const override { return storage_; }

  std::uint64_t stored_bytes_of(std::uint64_t sample) const override {
    return index_.files[sample].size + (mask_of_.empty() ? 0 : masks_.files[mask_of_[sample]].size);
  }

  Result<Extent> extent(std::uint64_t sample, std::size_t field) const override {
    const bool mask = fields_[field].kind == FieldKind::kMask;
    const FileIndex& index = mask ? masks_ : index_;
    const FileIndex::File& file = index.files[mask ? mask_of_[sample] : sample];
    const std::string& root = mask ? options_.masks_root : options_.root;
    const std::string relative = index.relative_path(file);
    // Files of a list may have absolute paths, or be URLs.
    return Extent{is_absolute_key(relative) ? relative : root + "/" + relative,
                  0,
                  file.size,
                  file.modified_ns,
                  file.size,
                  false,
                  -1,
                  mask ? &masks_store() : store_.get()};
  }

  IndexValue value(std::uint64_t sample, std::size_t) const override {
    if (!options_.labels.empty()) return options_.labels[sample];
    return class_of_folder_[index_.files[sample].folder];
  }

  const ArrayLayout* array_layout(std::size_t field) const override {
    return fields_[field].kind == FieldKind::kArray && !layout_.header.empty() ? &layout_ : nullptr;
  }

 private:
  // Classes are the folders directly below the root, sorted by name and including empty ones, so that labels
  // equal those of torchvision. Files directly in the root belong to no class.
  void find_classes() {
    const bool has_folders = std::ranges::any_of(
        index_.files, [&](const auto& file) { return !index_.folders[file.folder].path.empty(); });
    if (!has_folders) return;
    class_of_folder_.resize(index_.folders.size(), -1);
    // Folders are sorted by path, and "a-b" comes between "a" and "a/c", so a map finds the class of each
    // folder.
    std::unordered_map<std::string, std::int64_t> seen;
    for (std::size_t i = 0; i < index_.folders.size(); ++i) {
      const std::string& path = index_.folders[i].path;
      if (path.empty()) continue;
      const std::string top = path.substr(0, path.find('/'));
      const auto [found, is_new] = seen.try_emplace(top, static_cast<std::int64_t>(classes_.size()));
      if (is_new) classes_.push_back(top);
      class_of_folder_[i] = found->second;
    }
    sort_classes();
    const auto loose =
        std::erase_if(index_.files, [&](const auto& file) { return class_of_folder_[file.folder] < 0; });
    if (loose > 0 && options_.warn)
      options_.warn(fmt::format("{}: {} files beside the class folders are left out", options_.uri, loose));
    warn_of_empty_classes();
  }

  // Empty classes stay in the list, so that labels agree with those of other splits of the data.
  void warn_of_empty_classes() const {
    constexpr std::size_t kNamed = 5;
    std::vector<bool> has_samples(classes_.size());
    for (const auto& file : index_.files)
      has_samples[static_cast<std::size_t>(class_of_folder_[file.folder])] = true;
    std::vector<std::string> empty;
    for (std::size_t i = 0; i < classes_.size(); ++i)
      if (!has_samples[i]) empty.push_back(classes_[i]);
    if (empty.empty() || !options_.warn) return;
    const std::size_t count = empty.size();
    empty.resize(std::min(count, kNamed));
    options_.warn(fmt::format("{}: {} without a sample, but counted among the labels: {}{}", options_.uri,
                              count == 1 ? "1 class is" : fmt::format("{} classes are", count),
                              fmt::join(empty, ", "),
                              count > kNamed ? fmt::format(" and {} more", count - kNamed) : ""));
  }

  void sort_classes() {
    std::vector<std::string> sorted = classes_;
    std::ranges::sort(sorted);
    for (std::int64_t& label : class_of_folder_)
      if (label >= 0)
        label = std::ranges::lower_bound(sorted, classes_[static_cast<std::size_t>(label)]) - sorted.begin();
    classes_ = std::move(sorted);
  }

  const Store& masks_store() const { return options_.masks_store != nullptr ? *options_.masks_store : *store_; }

  Status find_masks() {
    InterruptionCheck check;
    auto scanned = scan_folder(masks_store(), options_.masks_root, "images", {});
    if (!scanned) return std::unexpected(std::move(scanned).error());
    masks_ = std::move(*scanned);
    std::unordered_map<std::string, std::uint64_t> by_stem;
    for (std::uint64_t i = 0; i < masks_.files.size(); ++i)
      by_stem.emplace(stem_of(masks_.relative_path(masks_.files[i])), i);
    mask_of_.reserve(index_.files.size());
    for (std::uint64_t i = 0; i < index_.files.size(); ++i) {
      PENSTOCK_CHECK(check(options_.uri));
      const auto found = by_stem.find(stem_of(key(i)));
      if (found == by_stem.end())
        return fail(ErrorCode::kNotFound, fmt::format("no mask for image {}", key(i)),
                    {options_.masks_root, -1, -1, static_cast<std::int64_t>(i)});
      mask_of_.push_back(found->second);
      fingerprint_ = mix64(fingerprint_ ^ masks_.files[found->second].size);
    }
    return {};
  }

  // Most folders of .npy files hold arrays of one shape. The first readable header is remembered, so that
  // workers can read header and data in one call and compare the header.
  void read_first_header() {
    constexpr std::uint64_t kTries = 16;
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(size(), kTries); ++i) {
      if (Interruption::is_requested()) return;
      const Extent where = *extent(i, 0);
      auto object = store_->open(where.object);
      std::array<std::byte, kNpyPrefix> prefix;
      if (!object || !(*object)->read_at(0, prefix)) continue;
      const auto header_bytes = npy_header_size(prefix, Limits{});
      if (!header_bytes) continue;
      std::vector<std::byte> bytes(*header_bytes);
      if (!(*object)->read_at(0, bytes)) continue;
      const auto header = parse_npy_header(bytes, Limits{});
      if (!header) continue;
      layout_ = {header->array, header->fortran_order, header->big_endian, std::move(bytes), std::nullopt};
      return;
    }
  }

  std::shared_ptr<const Store> store_;
  FileIndex index_;
  FolderSourceOptions options_;
  std::vector<FieldInfo> fields_;
  std::vector<std::string> classes_;
  std::vector<std::int64_t> class_of_folder_;
  FileIndex masks_;
  std::vector<std::uint64_t> mask_of_;
  ArrayLayout layout_;
  SourceStorage storage_;
  std::uint64_t fingerprint_ = 0;
};

}  // namespace

Status find_masks_folder(const Store& images, const OpenOptions& given, FolderSourceOptions& options) {
  if (given.masks.empty()) return {};
  options.masks_root = absolute_key(object_key(given.masks));
  auto store = make_store_for(given.masks, given.headers);
  if (!store) return std::unexpected(std::move(store).error());
  // All local files have one store.
  if (!images.traits().is_local || !(*store)->traits().is_local) options.masks_store = *std::move(store);
  return {};
}

Result<SourcePtr> make_folder_source(std::shared_ptr<const Store> store, FileIndex index,
                                     FolderSourceOptions options) {
  if (const LeftOutFiles& left_out = index.left_out; !left_out.by_ending.empty() && options.warn)
    options.warn(fmt::format("{}: {}", options.uri, left_out.describe()));
  auto source = std::make_shared<FolderSource>(std::move(store), std::move(index), std::move(options));
  PENSTOCK_CHECK(source->prepare());
  return source;
}

}  // namespace penstock
