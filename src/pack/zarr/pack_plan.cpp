#include "pack/zarr/pack_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "base/checked_math.h"
#include "base/text/nearest_name.h"
#include "plan/field_plan.h"
#include "sample/sample_shape.h"
#include "source/array_box.h"
#include "source/array_description.h"
#include "source/array_layout.h"
#include "source/source_storage.h"

namespace penstock {
namespace {

constexpr std::uint64_t kTinySample = 4 << 10, kTinyChunk = 64 << 10;
constexpr std::uint64_t kMaxChunkBytes = std::uint64_t{1} << 31;  // what other readers take without trouble
constexpr std::uint64_t kMaxChunksPerShard = 1 << 22;             // an index of 64 MiB

std::unexpected<Error> bad_pack(const Source& source, std::string message) {
  return fail(ErrorCode::kInvalidArgument, std::move(message), {source.uri(), -1, -1, -1});
}

const ArrayDescription* description_of(const Source& source, const FieldPlan& field) {
  if (field.source_field < 0) return nullptr;
  const ArrayLayout* layout = source.array_layout(static_cast<std::size_t>(field.source_field));
  return layout != nullptr ? layout->description.get() : nullptr;
}

// NaN marks values that are absent where floats were decoded; 0 is the fill value of everything else.
void choose_fill(PackedArray& array, bool is_decoded) {
  const auto put = [&](auto number) { std::memcpy(array.fill.data(), &number, sizeof number); };
  array.fill_json = "0";
  const bool takes_nan = is_decoded && (array.sample.dtype == DType::kFloat32 || array.sample.dtype == DType::kFloat64);
  switch (array.sample.dtype) {
    case DType::kBool: array.fill_json = "false"; break;
    case DType::kComplex64:
    case DType::kComplex128: array.fill_json = "[0.0, 0.0]"; break;
    case DType::kFloat32:
      if (takes_nan) put(std::numeric_limits<float>::quiet_NaN());
      array.fill_json = takes_nan ? "\"NaN\"" : "0.0";
      break;
    case DType::kFloat64:
      if (takes_nan) put(std::numeric_limits<double>::quiet_NaN());
      array.fill_json = takes_nan ? "\"NaN\"" : "0.0";
      break;
    case DType::kFloat16:
    case DType::kBFloat16: array.fill_json = "0.0"; break;
    default: break;
  }
}

void name_axes(const Source& source, const ArrayDescription* description, PackedArray& array) {
  const bool is_patch = source.kind() == "grid of patches";
  std::string samples = description != nullptr ? description->sample_dimension : "";
  if (samples.empty()) samples = is_patch ? "patch" : "sample";
  array.dimensions = {samples};
  const std::size_t rank = array.sample.shape.size();
  for (std::size_t d = 0; d < rank; ++d) {
    std::string name = description != nullptr && d < description->dimensions.size() ? description->dimensions[d] : "";
    const bool is_taken = std::ranges::find(array.dimensions, name) != array.dimensions.end();
    if (is_patch && array.name != "position" && rank <= 3) name = std::string(1, "zyx"[d + 3 - rank]);
    // A name of its own, because xarray wants one length for all axes of a name.
    else if (name.empty() || is_taken) name = fmt::format("{}_{}", array.name, d + 1);
    array.dimensions.push_back(std::move(name));
  }
}

// The extents of chunks that the options give for the axes of an array.
Status choose_chunks(const Source& source, const ZarrPackOptions& options, PackedArray& array,
                     std::set<std::string>& used) {
  const std::uint64_t sample_bytes = array.sample.bytes();
  std::int64_t samples = 1;
  if (sample_bytes < kTinySample)
    samples = static_cast<std::int64_t>(std::bit_floor(kTinyChunk / std::max<std::uint64_t>(sample_bytes, 1)));
  array.chunk = {samples};
  for (const std::int64_t extent : array.sample.shape) array.chunk.push_back(std::max<std::int64_t>(extent, 1));
  for (const auto& [axis, extent] : options.chunks) {
    if (extent < 0) return bad_pack(source, fmt::format("chunks: {}={} is negative", axis, extent));
    for (std::size_t d = 0; d < array.chunk.size(); ++d) {
      if (axis != array.dimensions[d] && axis != std::to_string(d) && !(d == 0 && axis == "sample")) continue;
      used.insert(axis);
      const std::int64_t whole =
          std::max<std::int64_t>(d == 0 ? static_cast<std::int64_t>(array.samples) : array.sample.shape[d - 1], 1);
      array.chunk[d] = extent == 0 ? whole : d == 0 ? extent : std::min(extent, whole);
    }
  }
  std::uint64_t bytes = size_of(array.sample.dtype);
  for (const std::int64_t extent : array.chunk) {
    const auto product = checked_multiply(bytes, static_cast<std::uint64_t>(extent));
    if (!product || *product > kMaxChunkBytes)
      return bad_pack(source, fmt::format("{}: a chunk of {} elements is larger than 2 GiB; give smaller chunks",
                                          array.name, array.chunk));
    bytes = *product;
  }
  return {};
}

// The number of samples of a shard: as many as fit, and if possible a divisor or a multiple of the samples that the
// source stores together, so that passes end where its chunks do.
std::int64_t choose_shard(const Source& source, const FieldGroup& group, std::uint64_t largest_sample,
                          std::uint64_t shard_bytes) {
  const std::int64_t slab = group.slab_samples;
  const auto size = static_cast<std::int64_t>(source.size());
  const auto fit = static_cast<std::int64_t>(
      std::min<std::uint64_t>(shard_bytes / std::max<std::uint64_t>(largest_sample, 1), INT64_MAX / 4));
  const std::int64_t whole = (size + slab - 1) / slab;  // slabs of all samples
  const std::int64_t slabs = std::clamp<std::int64_t>(fit / slab, 1, whole);
  if (!group.is_chunked() || slabs == whole) return slabs * slab;
  const auto unit = static_cast<std::int64_t>(source.storage().unit_samples);
  if (unit % slab != 0) return slabs * slab;
  const std::int64_t unit_slabs = unit / slab;
  if (slabs >= unit_slabs) return slabs / unit_slabs * unit_slabs * slab;
  for (std::int64_t fewer = slabs; 2 * fewer >= slabs && fewer > 0; --fewer)
    if (unit_slabs % fewer == 0) return fewer * slab;
  return slabs * slab;
}

std::set<std::size_t> arrays_behind(const Source& source, std::size_t field) {
  std::vector<ArrayBox> boxes;
  std::set<std::size_t> arrays;
  for (const std::uint64_t sample : {std::uint64_t{0}, source.size() - 1}) source.boxes(sample, field, boxes);
  for (const ArrayBox& box : boxes) arrays.insert(box.array);
  return arrays;
}

}  // namespace

LoaderOptions loader_options_for(const ZarrPackOptions& options, std::vector<std::string> fields) {
  LoaderOptions loader;
  loader.layout = BatchLayout::kNhwc;
  for (const FieldTransform& transform : options.transforms)
    if (std::ranges::find(fields, transform.field) != fields.end()) loader.transforms.push_back(transform);
  loader.fields = std::move(fields);
  return loader;
}

namespace {

class PackPlanner {
 public:
  PackPlanner(const SourcePtr& source, const ZarrPackOptions& options) : source_(source), options_(options) {}

  Result<PackPlan> run(Ledger& ledger) {
    auto names = choose_fields();
    if (!names) return std::unexpected(std::move(names).error());
    const LoaderOptions loader = loader_options_for(options_, *names);
    const auto plan = plan_fields(source_, loader);
    if (!plan) return std::unexpected(plan.error());
    const auto specs = find_specs(*plan, loader, ledger);
    if (!specs) return std::unexpected(specs.error());
    for (std::size_t i = 0; i < plan->fields.size(); ++i)
      if (plan->delivered_as[i] >= 0)
        PENSTOCK_CHECK(add(plan->fields[i], (*specs)[static_cast<std::size_t>(plan->delivered_as[i])]));
    for (const auto& [axis, extent] : options_.chunks)
      if (!used_.contains(axis)) return unknown_axis(axis);
    for (FieldGroup& group : plan_.groups) PENSTOCK_CHECK(divide(group));
    return std::move(plan_);
  }

 private:
  // All fields that are numbers, or those that the options name.
  Result<std::vector<std::string>> choose_fields() {
    if (!options_.fields.empty()) return options_.fields;
    std::vector<std::string> names, others;
    for (const FieldInfo& field : source_->fields()) {
      const bool is_derived_text = field.kind >= FieldKind::kText;
      if (field.is_everywhere && !is_derived_text) names.push_back(field.name);
      else others.push_back(field.name);
    }
    if (names.empty())
      return bad_pack(*source_, fmt::format("no field of every sample is an array; there are {}", fmt::join(others, ", ")));
    if (!others.empty() && options_.warn)
      options_.warn(fmt::format("not packed, because Zarr arrays hold numbers of every sample: {}",
                                fmt::join(others, ", ")));
    return names;
  }

  Result<std::vector<ArraySpec>> find_specs(const SamplePlan& plan, LoaderOptions loader, Ledger& ledger) {
    loader.batch_size = 2;  // samples are stacked, so they need one shape
    std::unique_ptr<StreamBlocks> streams;
    SharedReads shared;
    const std::shared_ptr<Ledger> borrowed(&ledger, [](Ledger*) {});
    std::uint64_t stream_bytes = 0;
    if (source_->storage().is_forward_only()) {
      const auto blocks =
          plan_streams(*source_, {.window_units = 1, .prefetch = 1, .max_bytes = ledger.budget() / 2});
      if (!blocks) return std::unexpected(blocks.error());
      stream_bytes = blocks->bytes();
      streams = std::make_unique<StreamBlocks>(*source_, std::make_shared<Area>(borrowed, stream_bytes), *blocks);
      shared.streams = streams.get();
    }
    const auto shape = find_shape(plan, loader, {ledger, ledger.budget() - stream_bytes}, shared);
    if (!shape) return std::unexpected(shape.error());
    std::vector<ArraySpec> specs;
    for (const LayoutField& field : shape->fields) {
      if (field.placement == Placement::kText)
        return bad_pack(*source_, fmt::format("field {} is {}; Zarr arrays hold numbers", field.field.name,
                                              name_of(field.field.kind)));
      specs.push_back(field.field.spec);
    }
    return specs;
  }

  Status add(const FieldPlan& field, const ArraySpec& spec) {
    if (!is_new_node_name(field.name))
      return bad_pack(*source_, fmt::format("field \"{}\" cannot be the name of a Zarr array; rename it", field.name));
    if (spec.shape.size() + 1 > static_cast<std::size_t>(kMaxAxes))
      return bad_pack(*source_, fmt::format("field {} has {} axes; at most {} beside that of samples", field.name,
                                            spec.shape.size(), kMaxAxes - 1));
    const bool is_plain = field.is_chunked() && field.program.keeps(spec.dtype);
    const ArrayDescription* description = description_of(*source_, field);
    PackedArray array;
    array.name = field.name;
    array.sample = spec;
    array.samples = source_->size();
    array.level = options_.level;
    choose_fill(array, is_plain && description != nullptr && description->is_decoded);
    name_axes(*source_, is_plain ? description : nullptr, array);
    if (is_plain && description != nullptr) array.attributes = description->attributes;
    else if (field.source_field >= 0) add_classes(field, array);
    PENSTOCK_CHECK(choose_chunks(*source_, options_, array, used_));
    join_group(field, is_plain, plan_.arrays.size());
    plan_.arrays.push_back(std::move(array));
    return {};
  }

  void add_classes(const FieldPlan& field, PackedArray& array) const {
    if (!source_->fields()[static_cast<std::size_t>(field.source_field)].is_class || source_->classes().empty()) return;
    array.attributes = nlohmann::json{{"classes", source_->classes()}}.dump(-1, ' ', false,
                                                                            nlohmann::json::error_handler_t::replace);
  }

  // Fields that share arrays of the source are read together, and so are those that are made.
  void join_group(const FieldPlan& field, bool is_plain, std::size_t array) {
    const auto number = static_cast<std::size_t>(std::max(field.source_field, 0));
    const std::set<std::size_t> behind = is_plain ? arrays_behind(*source_, number) : std::set<std::size_t>();
    const bool is_alone = field.form == FieldForm::kIndex && field.derive_from < 0;
    for (std::size_t i = 0; i < plan_.groups.size(); ++i) {
      FieldGroup& group = plan_.groups[i];
      const bool shares = is_plain ? std::ranges::any_of(behind, [&](std::size_t a) { return behind_[i].contains(a); })
                                   : !is_alone && !group.is_chunked() && !is_alone_[i];
      if (!shares) continue;
      group.arrays.push_back(array);
      if (is_plain) group.source_fields.push_back(number);
      behind_[i].insert(behind.begin(), behind.end());
      return;
    }
    FieldGroup& group = plan_.groups.emplace_back();
    group.arrays.push_back(array);
    if (is_plain) group.source_fields.push_back(number);
    behind_.push_back(behind);
    is_alone_.push_back(is_alone);
  }

  Status divide(FieldGroup& group) {
    std::uint64_t largest = 0;
    for (const std::size_t number : group.arrays) {
      const PackedArray& array = plan_.arrays[number];
      const auto slab = checked_multiply(group.slab_samples / std::gcd(group.slab_samples, array.chunk.front()),
                                         array.chunk.front());
      if (!slab) return bad_pack(*source_, "the chunks of the fields have no common multiple");
      group.slab_samples = *slab;
      largest = std::max<std::uint64_t>(largest, array.sample.bytes());
      group.sample_bytes += array.sample.bytes();
    }
    group.shard_samples = choose_shard(*source_, group, largest, options_.shard_bytes);
    for (const std::size_t number : group.arrays) {
      PackedArray& array = plan_.arrays[number];
      array.shard_samples = group.shard_samples;
      if (array.chunks_per_shard() > kMaxChunksPerShard)
        return bad_pack(*source_, fmt::format("{}: a shard would have {} chunks; give larger chunks or smaller shards",
                                              array.name, array.chunks_per_shard()));
    }
    const auto size = source_->size(), length = static_cast<std::uint64_t>(group.shard_samples);
    group.shards = (size + length - 1) / length;
    return {};
  }

  std::unexpected<Error> unknown_axis(const std::string& axis) const {
    std::vector<std::string> known;
    for (const PackedArray& array : plan_.arrays)
      for (const std::string& name : array.dimensions)
        if (std::ranges::find(known, name) == known.end()) known.push_back(name);
    const auto near = nearest_name(axis, known);
    return bad_pack(*source_, fmt::format("chunks: there is no dimension \"{}\"{}; there are {}", axis,
                                          near ? fmt::format(" (did you mean \"{}\"?)", *near) : "",
                                          fmt::join(known, ", ")));
  }

  const SourcePtr& source_;
  const ZarrPackOptions& options_;
  PackPlan plan_;
  std::vector<std::set<std::size_t>> behind_;  // by group: the arrays of the source that it reads
  std::vector<bool> is_alone_;                 // by group: one value of the index
  std::set<std::string> used_;                 // the axes of the options that some array has
};

}  // namespace

Result<PackPlan> plan_pack(const SourcePtr& source, const ZarrPackOptions& options, Ledger& ledger) {
  return PackPlanner(source, options).run(ledger);
}

}  // namespace penstock
