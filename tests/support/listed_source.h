// A source that is what a test lists: fields, and for each sample where their bytes are.
//
// The members are filled in before the source is shared, and stay as they are from then on.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "penstock/source.h"
#include "source/array_box.h"
#include "source/array_layout.h"
#include "source/extent.h"
#include "source/source_storage.h"
#include "store/store.h"

namespace penstock {

class ListedSource : public Source {
 public:
  explicit ListedSource(std::vector<FieldInfo> fields, std::shared_ptr<const Store> store = nullptr)
      : fields_(std::move(fields)) {
    if (store) stored.stores.push_back(std::move(store));
  }

  std::vector<std::vector<Extent>> extents;     // by sample, then field
  std::vector<std::vector<IndexValue>> values;  // likewise
  std::vector<std::vector<ArrayBox>> chunked;   // by sample: the boxes of the chunked field, of which there is one
  std::vector<ArrayLayout> layouts;             // by field; empty: none
  SourceStorage stored;

  std::uint64_t size() const override { return std::max({extents.size(), values.size(), chunked.size()}); }
  const std::vector<FieldInfo>& fields() const override { return fields_; }
  std::string kind() const override { return "list"; }
  std::string uri() const override { return "list"; }
  std::string key(std::uint64_t sample) const override { return "sample " + std::to_string(sample); }
  std::uint64_t fingerprint() const override { return 1; }
  Result<Extent> extent(std::uint64_t sample, std::size_t field) const override {
    if (sample < extents.size() && field < extents[sample].size()) return extents[sample][field];
    return fail(ErrorCode::kNotFound, "the sample does not have this field");
  }
  IndexValue value(std::uint64_t sample, std::size_t field) const override { return values[sample][field]; }
  void boxes(std::uint64_t sample, std::size_t, std::vector<ArrayBox>& out) const override {
    out.insert(out.end(), chunked[sample].begin(), chunked[sample].end());
  }
  const ArrayLayout* array_layout(std::size_t field) const override {
    return field < layouts.size() ? &layouts[field] : nullptr;
  }
  const SourceStorage& storage() const override { return stored; }
  std::uint64_t stored_bytes_of(std::uint64_t) const override { return 1; }

 private:
  const std::vector<FieldInfo> fields_;
};

// The whole object, as one sample has it, in the version that it has now.
inline Extent extent_of_file(const Store& store, const std::string& object) {
  const ObjectVersion version = *store.stat(object);
  return {.object = object,
          .length = version.size,
          .modified_ns = version.modified_ns,
          .object_bytes = version.size,
          .store = &store};
}

// A part of an object that samples share, in the version that it has now.
inline Extent extent_in_shard(const Store& store, const std::string& object, std::uint64_t offset,
                              std::uint64_t length) {
  Extent extent = extent_of_file(store, object);
  extent.offset = offset;
  extent.length = length;
  extent.shared_object = true;
  return extent;
}

inline std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace penstock
