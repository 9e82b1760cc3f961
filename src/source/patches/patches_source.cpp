// Patches of volumes as samples: drawn at random, or on a grid that covers everything.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/memory/opening_memory.h"
#include "base/random.h"
#include "penstock/source.h"
#include "penstock/interruption.h"
#include "source/array_box.h"
#include "source/array_layout.h"
#include "source/extent.h"
#include "source/patches/open_volume.h"
#include "source/patches/patch_draws.h"
#include "source/source_storage.h"
#include "store/http/http_url.h"

namespace penstock {
namespace {

constexpr std::uint64_t kRegionsMixed = 4;  // per window of a shuffle; each needs the memory of about a dozen chunks
constexpr std::size_t kImage = 0, kLabel = 1;

// The axis of channels is C, or S for the samples of a pixel, if the file names its axes. Otherwise it is the axis
// before those of a patch, if there is one.
void describe_axes(ArrayLayout& layout, const std::string& letters, std::size_t patch_axes) {
  const std::size_t axes = layout.spec.shape.size();
  layout.channel_axis = axes > patch_axes ? 0 : -1;
  for (std::size_t axis = 0; axis < letters.size() && axis < axes; ++axis)
    if (letters[axis] == 'C' || letters[axis] == 'S')
      layout.axes_not_in_space = static_cast<std::uint8_t>(layout.axes_not_in_space | 1U << axis);
  const auto channels = letters.find('C'), samples = letters.find('S');
  if (const auto found = channels != letters.npos ? channels : samples; found != letters.npos)
    layout.channel_axis = static_cast<int>(found);
}

class PatchesSource final : public Source {
 public:
  PatchesSource(std::string uri, PatchVolumes volumes, bool has_labels)
      : uri_(std::move(uri)),
        volumes_(std::move(volumes)) {
    layouts_.resize(has_labels ? 2 : 1);
    for (std::size_t i = 0; i < layouts_.size(); ++i) {
      layouts_[i].spec = volumes_.sample_spec(i == kLabel);
      describe_axes(layouts_[i], volumes_.axes(i == kLabel), volumes_.patch().size());
    }
    for (const ChunkedArrayPtr& array : volumes_.arrays()) {
      fingerprint_ = mix64(fingerprint_ ^ array->fingerprint());
      storage_.stored_bytes += array->spec().bytes();
    }
    for (const std::int64_t extent : volumes_.patch())
      fingerprint_ = mix64(fingerprint_ ^ static_cast<std::uint64_t>(extent));
    for (const PatchVolume& volume : volumes_.volumes()) {
      for (const std::int64_t first : volume.grid.first())
        fingerprint_ = mix64(fingerprint_ ^ static_cast<std::uint64_t>(first));
      for (const std::uint64_t position : volume.selected) fingerprint_ = mix64(fingerprint_ ^ position);
    }
    fingerprint_ = mix64(fingerprint_ ^ volumes_.size());
    storage_.arrays = volumes_.arrays();
    // Neighbouring patches of a grid share chunks. In a window of neighbours, each patch still comes once.
    storage_.unit_samples = 8;
    storage_.shares_units = true;
  }

  Status draw_at_random(const PatchOptions& options) {
    auto draws = PatchDraws::make(volumes_, options);
    if (!draws) return std::unexpected(std::move(draws).error());
    draws_ = std::move(*draws);
    storage_.unit_samples = 1;
    storage_.suggested_window = kRegionsMixed;
    fingerprint_ = mix64(fingerprint_ ^ draws_->fingerprint());
    return {};
  }

  void name_fields() {
    fields_.push_back({"image", FieldKind::kArray, FieldForm::kChunks, true});
    if (layouts_.size() > 1) fields_.push_back({"label", FieldKind::kMask, FieldForm::kChunks, true});
    // Inference needs to know the origin of a patch; training seldom does.
    fields_.push_back({"position", FieldKind::kArray, FieldForm::kIndex, draws_ == nullptr});
    fields_.push_back({"volume", FieldKind::kInteger, FieldForm::kIndex,
                       draws_ == nullptr && volumes_.volumes().size() > 1});
  }

  std::uint64_t size() const override { return volumes_.size(); }
  const std::vector<FieldInfo>& fields() const override { return fields_; }
  std::string kind() const override { return draws_ ? "random patches" : "grid of patches"; }
  std::string uri() const override { return uri_; }
  std::string key(std::uint64_t sample) const override {
    const std::string position = fmt::format("{}", fmt::join(volumes_.origin_of(sample), ","));
    if (volumes_.volumes().size() == 1) return position;
    return fmt::format("{}:{}", volumes_.number_of(volumes_.volume_of(sample)), position);
  }
  Result<Extent> extent(std::uint64_t, std::size_t) const override {
    return fail(ErrorCode::kUnsupported, "made of chunks", {uri_, -1, -1, -1});
  }
  const ArrayLayout* array_layout(std::size_t field) const override {
    return field < layouts_.size() ? &layouts_[field] : nullptr;
  }
  IndexValue value(std::uint64_t sample, std::size_t field) const override {
    if (fields_[field].name == "volume")
      return static_cast<std::int64_t>(volumes_.number_of(volumes_.volume_of(sample)));
    return volumes_.origin_of(sample);
  }
  void boxes(std::uint64_t sample, std::size_t field, std::vector<ArrayBox>& out) const override {
    const PatchVolume& volume = volumes_.volume_of(sample);
    const Shape origin = volumes_.origin_of(sample);
    const Shape& shape = layouts_[field].spec.shape;
    ArrayBox box;
    box.array = field == kImage ? volume.image : volume.label;
    box.coding = volumes_.coding_of(box.array);
    std::int64_t stride = 1;
    const std::size_t lead = shape.size() - origin.size();
    for (std::size_t d = shape.size(); d-- > 0;) {
      box.origin[d] = d < lead ? 0 : origin[d - lead];
      box.count[d] = shape[d];
      box.step[d] = 1;
      box.to_stride[d] = stride;
      stride *= shape[d];
    }
    out.push_back(box);
  }

  std::uint64_t fingerprint() const override { return fingerprint_; }
  const SourceStorage& storage() const override { return storage_; }
  std::uint64_t stored_bytes_of(std::uint64_t) const override { return layouts_.front().spec.bytes(); }
  const SampleDraws* draws() const override { return draws_.get(); }

 private:
  std::string uri_;
  PatchVolumes volumes_;
  std::unique_ptr<const PatchDraws> draws_;
  std::vector<FieldInfo> fields_;
  std::vector<ArrayLayout> layouts_;  // of the image and of the label
  SourceStorage storage_;
  std::uint64_t fingerprint_ = 0;
};

std::unexpected<Error> bad_option(std::string message) {
  return fail(ErrorCode::kInvalidArgument, std::move(message));
}

Status check_options(const PatchOptions& options) {
  const bool is_random = options.per_epoch > 0;
  if (options.labels.empty() && options.min_foreground > 0)
    return bad_option("min_foreground needs labels to count in");
  if (options.labels.empty() && !options.class_weights.empty())
    return bad_option("class_weights needs labels to find the classes in");
  if (!is_random && options.min_foreground > 0)
    return bad_option("min_foreground is for random patches; a grid covers everything");
  if (!is_random && (!options.class_weights.empty() || !options.volume_weights.empty()))
    return bad_option("weights and class_weights are for random patches; a grid has every patch once");
  if (is_random && !options.overlap.empty())
    return bad_option("overlap is for a grid; random patches overlap as they fall");
  return {};
}

// Positions are chosen by stored values while patches deliver decoded ones, so labels must not need decoding.
Status check_labels(const std::vector<Volume>& labels, const PatchOptions& options) {
  if (options.min_foreground == 0 && options.class_weights.empty()) return {};
  for (const Volume& volume : labels)
    if (volume.coding)
      return fail(ErrorCode::kUnsupported,
                  "labels with a scale_factor or add_offset are not classes; min_foreground and class_weights "
                  "want integers (decode_cf=False takes them as they are stored)",
                  {volume.array->uri(), -1, -1, -1});
  return {};
}

}  // namespace

Result<SourcePtr> open_patches(const std::vector<std::string>& volumes, const PatchOptions& options) {
  if (volumes.empty()) return bad_option("no volumes");
  PENSTOCK_CHECK(check_options(options));
  const OpeningMemory::Begin memory(options.memory_bytes);
  std::vector<Volume> images, labels, masks;
  const auto open_all = [&](const std::vector<std::string>& uris, VolumeUse use,
                            std::vector<Volume>& out) -> Status {
    for (const std::string& uri : uris) {
      PENSTOCK_CHECK(check_interruption(uri));
      auto volume = open_volume(uri, use, options);
      if (!volume) return std::unexpected(std::move(volume).error());
      out.push_back(std::move(*volume));
    }
    return {};
  };
  PENSTOCK_CHECK(open_all(volumes, VolumeUse::kImage, images));
  PENSTOCK_CHECK(open_all(options.labels, VolumeUse::kLabel, labels));
  PENSTOCK_CHECK(open_all(options.masks, VolumeUse::kMask, masks));
  PENSTOCK_CHECK(check_labels(labels, options));
  auto made = PatchVolumes::make(images, labels, masks, options);
  if (!made) return std::unexpected(std::move(made).error());
  if (options.per_epoch == 0 && !masks.empty()) {
    auto selected = grid_positions_in_masks(*made, options);
    if (!selected) return std::unexpected(std::move(selected).error());
    made->select_positions(std::move(*selected));
  }
  std::string uri = without_secrets(volumes.front());
  if (volumes.size() > 1) uri += fmt::format(" and {} more", volumes.size() - 1);
  auto source = std::make_shared<PatchesSource>(std::move(uri), std::move(*made), !options.labels.empty());
  if (options.per_epoch > 0) PENSTOCK_CHECK(source->draw_at_random(options));
  source->name_fields();
  PENSTOCK_CHECK(check_interruption(source->uri()));
  return source;
}

}  // namespace penstock
