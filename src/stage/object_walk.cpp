#include "stage/object_walk.h"

#include "source/chunked_array.h"
#include "source/extent.h"
#include "source/source_storage.h"

namespace penstock {
namespace {

class SourceWalk final : public ObjectWalk {
 public:
  explicit SourceWalk(const SourcePtr& source) : source_(source) {}

  std::optional<FoundObject> next() override {
    const SourcePtr source = source_.lock();
    if (!source) return std::nullopt;
    for (int steps = 0; steps < kMaxSteps || last_.empty(); ++steps) {
      auto found = step(*source);
      if (is_over_) return std::nullopt;
      if (!found || found->key == last_) continue;
      last_ = found->key;
      return found;
    }
    return FoundObject{last_, std::nullopt};  // so that a long run of samples of one object does not hold the source
  }

 private:
  static constexpr int kMaxSteps = 10'000;

  // The object of the next field of the next sample, then of the next chunk. Advances.
  std::optional<FoundObject> step(const Source& source) {
    const auto& fields = source.fields();
    if (sample_ < source.size() && source.draws() == nullptr && !fields.empty()) {
      const std::size_t field = field_++;
      const std::uint64_t sample = sample_;
      if (field_ == fields.size()) field_ = 0, ++sample_;
      const FieldForm form = fields[field].form;
      if (form == FieldForm::kIndex || form == FieldForm::kChunks) return std::nullopt;
      const auto extent = source.extent(sample, field);
      if (!extent) return std::nullopt;
      std::optional<ObjectVersion> version;
      if (extent->modified_ns != Extent::kUnknown && extent->object_bytes > 0)
        version = ObjectVersion{extent->object_bytes, extent->modified_ns};
      return FoundObject{extent->object, version};
    }
    const auto& arrays = source.storage().arrays;
    while (array_ < arrays.size() && chunk_ == arrays[array_]->chunks()) ++array_, chunk_ = 0;
    if (array_ == arrays.size()) {
      is_over_ = true;
      return std::nullopt;
    }
    auto holder = arrays[array_]->holder(chunk_++);
    return FoundObject{std::move(holder.object), holder.version};
  }

  const std::weak_ptr<const Source> source_;
  std::uint64_t sample_ = 0, chunk_ = 0;
  std::size_t field_ = 0, array_ = 0;
  bool is_over_ = false;
  std::string last_;
};

}  // namespace

std::unique_ptr<ObjectWalk> walk_source(const SourcePtr& source) { return std::make_unique<SourceWalk>(source); }

}  // namespace penstock
