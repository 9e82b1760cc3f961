// A Zarr hierarchy as a source: a sample is an entry of one dimension, in one or several variables, either alone
// or as a window of steps around it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "base/checked_math.h"
#include "base/text/nearest_name.h"
#include "base/memory/opening_memory.h"
#include "base/random.h"
#include "penstock/source.h"
#include "penstock/interruption.h"
#include "source/extent.h"
#include "source/source_storage.h"
#include "source/zarr/check_stores.h"
#include "source/zarr/choose_variables.h"
#include "source/zarr/describe_field.h"
#include "source/zarr/time/gaps.h"
#include "source/zarr/joined_stores.h"
#include "source/zarr/variable.h"
#include "source/zarr/zarr_boxes.h"
#include "source/zarr/zarr_field.h"
#include "store/http/http_url.h"

namespace penstock {
namespace {

constexpr std::int64_t kMaxSteps = 100'000;  // steps of a window
constexpr std::uint64_t kMaxUnitsListed = 4'000'000;

std::unexpected<Error> bad_option(std::string message, const std::string& uri) {
  return fail(ErrorCode::kInvalidArgument, std::move(message), {uri, -1, -1, -1});
}

// The strides, in elements, of an array in C order.
Shape strides_of(const Shape& shape) {
  Shape strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

class ZarrSource final : public Source {
 public:
  ZarrSource(std::string uri, std::shared_ptr<const std::vector<OpenedStore>> stores, std::vector<Variable> variables)
      : uri_(std::move(uri)),
        stores_(std::move(stores)),
        version_(stores_->front().node.version()),
        variables_(std::move(variables)) {
    for (const Variable& variable : variables_) {
      first_array_.push_back(storage_.arrays.size());
      for (const VariablePart& part : variable.parts) storage_.arrays.push_back(part.data);
    }
  }

  // Fails if the shapes do not fit together. `coordinates` is null if there are none.
  Status build(const ZarrOptions& options, Coordinates* coordinates) {
    PENSTOCK_CHECK(find_samples(options, coordinates));
    PENSTOCK_CHECK(add_fields(options));
    storage_.stored_bytes = sample_bytes_ * size_;
    storage_.shares_units = storage_.unit_samples > 1;
    return {};
  }

  Status add_fields(const ZarrOptions& options) {
    const bool has_window = !options.history.empty() || !options.horizon.empty();
    const auto add_all = [&](const std::vector<std::int64_t>& steps, const std::string& ending) -> Status {
      if (!options.stack.empty()) {
        const std::string name = ending.empty() ? options.stack : ending;
        std::vector<std::size_t> all(variables_.size());
        for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
        return add_field(name, std::move(all), steps, has_window, true);
      }
      for (std::size_t i = 0; i < variables_.size(); ++i) {
        const std::string name = variables_[i].array.name.empty() ? "array" : variables_[i].array.name;
        PENSTOCK_CHECK(add_field(ending.empty() ? name : name + "_" + ending, {i}, steps, has_window, false));
      }
      return {};
    };
    if (!has_window) return add_all({0}, "");
    if (!options.history.empty()) PENSTOCK_CHECK(add_all(options.history, "history"));
    if (!options.horizon.empty()) PENSTOCK_CHECK(add_all(options.horizon, "horizon"));
    return {};
  }

  std::uint64_t size() const override { return size_; }
  const std::vector<FieldInfo>& fields() const override { return infos_; }
  std::string kind() const override { return fmt::format("zarr v{}", version_); }
  std::string uri() const override { return uri_; }
  std::string key(std::uint64_t sample) const override { return std::to_string(index_of(sample)); }
  Result<Extent> extent(std::uint64_t, std::size_t) const override {
    return fail(ErrorCode::kUnsupported, "made of chunks", {uri_, -1, -1, -1});
  }
  const ArrayLayout* array_layout(std::size_t field) const override { return &fields_[field].layout; }
  void boxes(std::uint64_t sample, std::size_t field, std::vector<ArrayBox>& out) const override;

  std::uint64_t fingerprint() const override { return fingerprint_; }
  const SourceStorage& storage() const override { return storage_; }
  std::uint64_t stored_bytes_of(std::uint64_t) const override { return sample_bytes_; }
  std::uint64_t windows_left_out() const override { return windows_left_out_; }

 private:
  Status find_samples(const ZarrOptions& options, Coordinates* coordinates);
  Status find_windows(const ZarrOptions& options, const Variable& first, Coordinates* coordinates);
  void find_fingerprint(const ZarrOptions& options, const IndexRun& all_windows);
  Status add_field(std::string name, std::vector<std::size_t> variables,
                   const std::vector<std::int64_t>& steps, bool has_steps, bool is_stack);
  void find_units();
  // The position of the sample among the selected entries of the sample dimension, and its index in the
  // dimension.
  std::int64_t entry_of(std::uint64_t sample) const { return windows_.at(static_cast<std::int64_t>(sample)); }
  std::int64_t index_of(std::uint64_t sample) const { return entries_.at(entry_of(sample)); }

  std::string uri_;
  std::shared_ptr<const std::vector<OpenedStore>> stores_;
  int version_;
  std::vector<Variable> variables_;
  SourceStorage storage_;  // the arrays of one variable are consecutive
  std::vector<std::size_t> first_array_;  // per variable
  std::vector<ZarrField> fields_;
  std::vector<FieldInfo> infos_;
  IndexRuns entries_;  // the selected entries of the sample dimension
  IndexRuns windows_;  // positions in `entries_` that have a complete window and thus are samples
  std::uint64_t size_ = 0, sample_bytes_ = 0, fingerprint_ = 0, windows_left_out_ = 0;
};

Status ZarrSource::find_samples(const ZarrOptions& options, Coordinates* coordinates) {
  const Variable* first = nullptr;
  for (const Variable& variable : variables_) {
    if (variable.sample_axis < 0) continue;
    const IndexRuns& entries = variable.taken[static_cast<std::size_t>(variable.sample_axis)].entries;
    if (first == nullptr) {
      first = &variable;
      entries_ = entries;
    }
    if (entries != entries_)
      return bad_option(fmt::format("{} has {} samples, {} has {}", first->array.name, entries_.count(),
                                    variable.array.name, entries.count()),
                        uri_);
  }
  if (first == nullptr) {
    const auto* name = std::get_if<std::string>(&options.sample_dim);
    std::set<std::string> known;
    for (const Variable& variable : variables_)
      known.insert(variable.array.dimensions.begin(), variable.array.dimensions.end());
    const std::vector<std::string> names(known.begin(), known.end());
    const auto near = name ? nearest_name(*name, names) : std::nullopt;
    return bad_option(fmt::format("no variable has the dimension \"{}\"{}; there are: {}", name ? *name : "",
                                  near ? fmt::format(" (did you mean \"{}\"?)", *near) : "",
                                  names.empty() ? "none with a name (give sample_dim as a number)"
                                                : fmt::format("{}", fmt::join(names, ", "))),
                      uri_);
  }
  for (const Variable& variable : variables_) {
    std::int64_t boxes = 1;
    for (std::size_t d = 0; d < variable.taken.size(); ++d)
      if (static_cast<int>(d) != variable.sample_axis)
        boxes = checked_multiply(boxes, static_cast<std::int64_t>(variable.taken[d].entries.runs().size()))
                    .value_or(INT64_MAX);
    if (boxes > kMaxBoxesOfVariable)
      return bad_option(fmt::format("the selection cuts a sample of {} into {} separate pieces; at most {}",
                                    variable.array.name, boxes, kMaxBoxesOfVariable),
                        uri_);
  }
  PENSTOCK_CHECK(find_windows(options, *first, coordinates));
  find_units();
  return {};
}

// Finds the entries whose window is complete and has no gap in time.
Status ZarrSource::find_windows(const ZarrOptions& options, const Variable& first, Coordinates* coordinates) {
  std::int64_t lowest = 0, highest = 0;
  for (const auto* steps : {&options.history, &options.horizon})
    for (const std::int64_t step : *steps) {
      if (step < -kMaxSteps || step > kMaxSteps || steps->size() > static_cast<std::size_t>(kMaxSteps))
        return bad_option(fmt::format("a window of more than {} steps", kMaxSteps), uri_);
      lowest = std::min(lowest, step);
      highest = std::max(highest, step);
    }
  const std::int64_t steps = highest - lowest + 1, valid = entries_.count() + 1 - steps;
  if (entries_.count() == 0) return bad_option("the sample dimension has no entries", uri_);
  if (valid <= 0)
    return bad_option(fmt::format("a window of {} steps, and there are only {} entries to make samples of", steps,
                                  entries_.count()),
                      uri_);
  const IndexRun all_windows{-lowest, valid, 1};
  windows_ = IndexRuns(all_windows);
  const auto axis = static_cast<std::size_t>(first.sample_axis);
  const bool has_name = axis < first.array.dimensions.size() && !first.array.dimensions[axis].empty();
  const bool looks_for_gaps = steps > 1 && options.gaps == ZarrOptions::Gaps::kSkip;
  if (looks_for_gaps && has_name && coordinates != nullptr) {
    const auto time = coordinates->of(first.array.dimensions[axis], first.array.name,
                                      first.end_of(first.parts.size() - 1));
    // A dimension without a numeric coordinate has no dates.
    const bool has_none = !time && (time.error().code == ErrorCode::kNotFound ||
                                    time.error().code == ErrorCode::kUnsupported);
    if (!time && !has_none) return std::unexpected(time.error());
    if (time && (*time)->is_time()) {
      const auto moment_at = [&](std::int64_t position) { return (*time)->moment(entries_.at(position)); };
      WindowsInTime found = windows_without_gaps(entries_.count(), moment_at, lowest, highest);
      if (found.windows.count() == 0)
        return bad_option(fmt::format("no window of {} steps is without a gap in time: {}; gaps=\"allow\" makes "
                                      "samples of them nevertheless",
                                      steps, found.reason()),
                          uri_);
      windows_ = std::move(found.windows);
      windows_left_out_ = found.left_out;
    }
  }
  size_ = static_cast<std::uint64_t>(windows_.count());
  find_fingerprint(options, all_windows);
  return {};
}

// A hash of the data and of the choice of samples. Later runs of entries and incomplete windows are only hashed if
// there are any, so that the number equals that of earlier versions otherwise.
void ZarrSource::find_fingerprint(const ZarrOptions& options, const IndexRun& all_windows) {
  const auto add = [&](std::int64_t number) {
    fingerprint_ = mix64(fingerprint_ ^ static_cast<std::uint64_t>(number));
  };
  fingerprint_ = mix64(static_cast<std::uint64_t>(entries_.at(0)) ^ mix64(size_));
  for (const Variable& variable : variables_) {
    for (const VariablePart& part : variable.parts)
      fingerprint_ = mix64(fingerprint_ ^ part.data->fingerprint());
    for (const Chosen& chosen : variable.taken)
      for (const IndexRun& run : chosen.entries.runs())
        fingerprint_ = mix64(fingerprint_ ^ mix64(static_cast<std::uint64_t>(run.first)) ^
                             static_cast<std::uint64_t>(run.count * run.step));
  }
  for (const auto* steps : {&options.history, &options.horizon})
    for (const std::int64_t step : *steps) add(step);
  if (windows_ == IndexRuns(all_windows)) return;
  for (const IndexRun& run : windows_.runs()) {
    add(run.first);
    add(run.count);
  }
}

// Samples form a unit if their own entries lie in one chunk of the largest variable. If the list of units would be
// too long, a fixed number of samples forms a unit, whether or not it begins with a chunk.
void ZarrSource::find_units() {
  std::int64_t length = 1;
  std::uint64_t most = 0;
  const Variable* largest = nullptr;
  for (const Variable& variable : variables_) {
    if (variable.sample_axis < 0) continue;
    std::uint64_t bytes = size_of(variable.array.data->spec().dtype);
    for (const std::int64_t extent : variable.shape()) bytes *= static_cast<std::uint64_t>(extent);
    if (bytes <= most) continue;
    most = bytes;
    largest = &variable;
    length = variable.array.data->chunk_shape()[static_cast<std::size_t>(variable.sample_axis)];
  }
  const bool is_one_run = entries_.runs().size() == 1;
  const std::int64_t step = is_one_run ? std::abs(entries_.runs().front().step) : 1;
  if (length <= step) return;
  storage_.unit_samples = static_cast<std::uint64_t>(length / step);
  if (size_ / storage_.unit_samples > kMaxUnitsListed) return;
  auto units = std::make_shared<StorageUnits>();
  std::int64_t chunk_before = -1;  // beginning of the chunk of the previous sample
  for (std::uint64_t sample = 0; sample < size_;) {
    const IndexRun positions = windows_.from(static_cast<std::int64_t>(sample));
    const IndexRun run = entries_.from(positions.first);
    const std::size_t part = largest->part_of(run.first);
    const VariablePart& own = largest->parts[part];
    const auto axis = static_cast<std::size_t>(largest->sample_axis);
    const std::int64_t own_length = own.data->chunk_shape()[axis];
    const std::int64_t chunk = own.first + (run.first - own.first) / own_length * own_length;
    const std::int64_t chunk_end = std::min(chunk + own_length, largest->end_of(part));
    const std::int64_t in_chunk = entries_within(run, chunk, chunk_end);
    if (chunk != chunk_before) units->first_sample.push_back(sample);
    chunk_before = chunk;
    sample += static_cast<std::uint64_t>(std::min({positions.count, run.count, in_chunk}));
  }
  const std::size_t count = units->first_sample.size();
  units->first_sample.push_back(size_);
  // A list of entries may have no two in the same chunk.
  if (!is_one_run) storage_.unit_samples = std::max<std::uint64_t>(size_ / count, 1);
  if (storage_.unit_samples > 1) storage_.units = std::move(units);
}

Status ZarrSource::add_field(std::string name, std::vector<std::size_t> variables,
                             const std::vector<std::int64_t>& steps, bool has_steps, bool is_stack) {
  auto field = make_zarr_field({name, std::move(variables), steps, has_steps, is_stack}, variables_, uri_);
  if (!field) return std::unexpected(std::move(field).error());
  field->layout.description = describe_field(*field, variables_, stores_);
  sample_bytes_ += field->layout.spec.bytes();
  const bool keeps_type = !is_stack && is_coordinate_or_label(variables_[field->variables.front()], variables_);
  fields_.push_back(std::move(*field));
  infos_.push_back({std::move(name), FieldKind::kArray, FieldForm::kChunks, true, false, keeps_type});
  return {};
}

void ZarrSource::boxes(std::uint64_t sample, std::size_t number, std::vector<ArrayBox>& out) const {
  const ZarrField& field = fields_[number];
  const Shape strides = strides_of(field.layout.spec.shape);
  const std::int64_t step_stride = field.has_steps ? strides.front() : 0;
  const std::int64_t channel_stride = field.is_stack ? strides[field.has_steps ? 1 : 0] : 0;
  std::int64_t to = 0;
  for (const std::size_t v : field.variables) {
    const Variable& variable = variables_[v];
    const bool is_static = variable.sample_axis < 0;
    // Steps that are consecutive in a run of entries form one box.
    for (std::size_t s = 0; s < field.steps.size();) {
      std::size_t end = s + 1;
      IndexRun times{0, 1, 1};
      if (!is_static) {
        times = entries_.from(entry_of(sample) + field.steps[s]);
        const std::size_t most = s + static_cast<std::size_t>(times.count);
        while (end < field.steps.size() && end < most && field.steps[end] == field.steps[end - 1] + 1) ++end;
        times.count = static_cast<std::int64_t>(end - s);
      }
      const BoxTarget target{to + static_cast<std::int64_t>(s) * step_stride, step_stride, field.is_stack};
      add_boxes_of_steps(variable, first_array_[v], times, target, out);
      s = end;
    }
    if (field.is_stack) {
      const Shape own = variable.shape();
      std::int64_t channels = 1;
      for (std::size_t d = 0; d + 2 < own.size(); ++d) channels *= own[d];
      to += channels * channel_stride;
    }
  }
}

std::string describe_stores(const std::vector<std::string>& given, const std::vector<OpenedStore>& stores) {
  if (given.size() == 1) return without_secrets(given.front());
  return fmt::format("{} and {} more", without_secrets(given.front()), stores.size() - 1);
}

}  // namespace

Result<SourcePtr> open_zarr(const std::string& uri, const ZarrOptions& options) {
  return open_zarr(std::vector<std::string>{uri}, options);
}

Result<SourcePtr> open_zarr(const std::vector<std::string>& given, const ZarrOptions& options) {
  const OpeningMemory::Begin memory(options.memory_bytes);
  auto named_stores = expand_stores(given, options);
  if (!named_stores) return std::unexpected(std::move(named_stores).error());
  auto opened = open_stores(*std::move(named_stores), options);
  if (!opened) return std::unexpected(std::move(opened).error());
  const auto stores = std::make_shared<const std::vector<OpenedStore>>(*std::move(opened));
  const std::string uri = describe_stores(given, *stores);
  ZarrOptions named = options;
  const auto names = choose_names(*stores, named);
  if (!names) return std::unexpected(names.error());
  auto arrays = find_arrays(*stores, *names);
  if (!arrays) return std::unexpected(std::move(arrays).error());
  if (options.decode_cf) PENSTOCK_CHECK(decode_joined_times(*stores, *arrays));
  for (const JoinedArray& variable : *arrays)
    named.sample_dim = named_dimension(named.sample_dim, variable.arrays.front());
  std::vector<const ZarrNode*> nodes;
  for (const OpenedStore& store : *stores) nodes.push_back(&store.node);
  Coordinates coordinates(std::move(nodes));
  if (stores->size() > 1) PENSTOCK_CHECK(check_stores(*stores, named.sample_dim, *arrays, coordinates));
  Coordinates* const known = stores->front().node.is_array() ? nullptr : &coordinates;
  std::vector<Variable> variables;
  for (JoinedArray& joined : *arrays) {
    auto variable = make_variable(std::move(joined.arrays), joined.is_time, known, named, uri);
    if (!variable) return std::unexpected(std::move(variable).error());
    variables.push_back(std::move(*variable));
  }
  PENSTOCK_CHECK(check_dimensions(options, variables, uri));
  auto source = std::make_shared<ZarrSource>(uri, stores, std::move(variables));
  PENSTOCK_CHECK(source->build(options, known));
  PENSTOCK_CHECK(check_interruption(uri));
  return source;
}

}  // namespace penstock
