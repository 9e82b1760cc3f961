// Samples of a Zarr hierarchy: entries of one dimension, of one or several variables, alone or as a
// window of steps around each.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/checked_math.h"
#include "base/nearest_name.h"
#include "base/random.h"
#include "penstock/arrays.h"
#include "source/zarr/variable.h"
#include "store/store_of_uri.h"

namespace penstock {
namespace {

constexpr std::int64_t kMostBoxes = 1 << 16;  // that one variable of a stack is cut into

constexpr std::int64_t kMostSteps = 100'000;  // of a window
constexpr std::uint64_t kMostUnitsListed = 4'000'000;

std::unexpected<Error> bad_option(std::string message, const std::string& uri) {
  return fail(ErrorCode::kInvalidArgument, std::move(message), {uri, -1, -1, -1});
}

// Strides, in elements, of a C-ordered array.
Shape strides_of(const Shape& shape) {
  Shape strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

// A field: variables and steps, and the shape they make together.
struct ZarrField {
  std::vector<std::size_t> variables;  // one, or several that are stacked
  std::vector<std::int64_t> steps;     // relative to the sample's own
  bool has_steps = false;              // they are an axis of the field
  bool is_stack = false;
  ArrayLayout layout;
};

class ZarrSource final : public Source {
 public:
  ZarrSource(std::shared_ptr<const Store> store, std::string uri, int version,
             std::vector<Variable> variables)
      : store_(std::move(store)),
        uri_(std::move(uri)),
        version_(version),
        variables_(std::move(variables)) {
    for (const Variable& variable : variables_) arrays_.push_back(variable.array.data);
  }

  // Fails where shapes do not go together.
  Status build(const ZarrOptions& options) {
    PENSTOCK_CHECK(find_samples(options));
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
  std::span<const std::shared_ptr<const ChunkedArray>> chunked_arrays() const override { return arrays_; }
  void boxes(std::uint64_t sample, std::size_t field, std::vector<ArrayBox>& out) const override;

  std::uint64_t fingerprint() const override { return fingerprint_; }
  std::uint64_t stored_bytes() const override { return sample_bytes_ * size_; }
  std::uint64_t stored_bytes_of(std::uint64_t) const override { return sample_bytes_; }
  std::shared_ptr<const StorageUnits> units() const override { return units_; }
  std::uint64_t unit_samples() const override { return unit_samples_; }
  bool shares_units() const override { return unit_samples_ > 1; }
  const Store& store() const override { return *store_; }

 private:
  Status find_samples(const ZarrOptions& options);
  Status add_field(std::string name, std::vector<std::size_t> variables,
                   const std::vector<std::int64_t>& steps, bool has_steps, bool is_stack);
  void find_units();
  void add_boxes(const Variable& variable, std::size_t number, std::int64_t time, std::int64_t steps,
                 std::int64_t to, std::int64_t step_stride, bool is_stack, std::vector<ArrayBox>& out) const;
  // The sample's own entry of the sample dimension.
  std::int64_t index_of(std::uint64_t sample) const {
    return samples_.first + (first_valid_ + static_cast<std::int64_t>(sample)) * samples_.step;
  }

  std::shared_ptr<const Store> store_;
  std::string uri_;
  int version_;
  std::vector<Variable> variables_;
  std::vector<ChunkedArrayPtr> arrays_;
  std::vector<ZarrField> fields_;
  std::vector<FieldInfo> infos_;
  IndexRun samples_;              // of the sample dimension
  std::int64_t first_valid_ = 0;  // the first that has all steps of its window
  std::uint64_t size_ = 0, sample_bytes_ = 0, fingerprint_ = 0, unit_samples_ = 1;
  std::shared_ptr<const StorageUnits> units_;
};

Status ZarrSource::find_samples(const ZarrOptions& options) {
  const Variable* first = nullptr;
  for (const Variable& variable : variables_) {
    if (variable.sample_axis < 0) continue;
    const IndexRun& run = variable.taken[static_cast<std::size_t>(variable.sample_axis)];
    if (first == nullptr) {
      first = &variable;
      samples_ = run;
    }
    if (run.first != samples_.first || run.count != samples_.count || run.step != samples_.step)
      return bad_option(fmt::format("{} has {} samples, {} has {}", first->array.name, samples_.count,
                                    variable.array.name, run.count),
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
  std::int64_t lowest = 0, highest = 0;
  for (const auto* steps : {&options.history, &options.horizon})
    for (const std::int64_t step : *steps) {
      if (step < -kMostSteps || step > kMostSteps || steps->size() > static_cast<std::size_t>(kMostSteps))
        return bad_option(fmt::format("a window of more than {} steps", kMostSteps), uri_);
      lowest = std::min(lowest, step);
      highest = std::max(highest, step);
    }
  first_valid_ = -lowest;
  const std::int64_t valid = samples_.count + lowest - highest;
  if (samples_.count == 0) return bad_option("the sample dimension has no entries", uri_);
  if (valid <= 0)
    return bad_option(fmt::format("a window of {} steps, and there are only {} entries to make samples of",
                                  highest - lowest + 1, samples_.count),
                      uri_);
  size_ = static_cast<std::uint64_t>(valid);
  fingerprint_ = mix64(static_cast<std::uint64_t>(samples_.first) ^ mix64(size_));
  for (const Variable& variable : variables_) {
    fingerprint_ = mix64(fingerprint_ ^ variable.array.data->fingerprint());
    for (const IndexRun& run : variable.taken)
      fingerprint_ = mix64(fingerprint_ ^ mix64(static_cast<std::uint64_t>(run.first)) ^
                           static_cast<std::uint64_t>(run.count * run.step));
  }
  for (const auto* steps : {&options.history, &options.horizon})
    for (const std::int64_t step : *steps)
      fingerprint_ = mix64(fingerprint_ ^ static_cast<std::uint64_t>(step));
  find_units();
  return {};
}

// Samples whose own entries stand in one chunk of the largest variable. A list of units beyond all measure is
// not made: then every so many samples are a unit, whether or not they begin with a chunk.
void ZarrSource::find_units() {
  std::int64_t length = 1;
  std::uint64_t most = 0;
  for (const Variable& variable : variables_) {
    if (variable.sample_axis < 0) continue;
    std::uint64_t bytes = size_of(variable.array.data->spec().dtype);
    for (const std::int64_t extent : variable.shape()) bytes *= static_cast<std::uint64_t>(extent);
    if (bytes <= most) continue;
    most = bytes;
    length = variable.array.data->chunk_shape()[static_cast<std::size_t>(variable.sample_axis)];
  }
  if (length <= samples_.step) return;
  unit_samples_ = static_cast<std::uint64_t>(length / samples_.step);
  if (size_ / unit_samples_ > kMostUnitsListed) return;
  auto units = std::make_shared<StorageUnits>();
  for (std::uint64_t sample = 0; sample < size_;) {
    units->first_sample.push_back(sample);
    // The first sample whose own entry stands in a later chunk.
    const std::int64_t end = (index_of(sample) / length + 1) * length;
    sample += static_cast<std::uint64_t>((end - index_of(sample) + samples_.step - 1) / samples_.step);
  }
  units->first_sample.push_back(size_);
  units_ = std::move(units);
}

// The last axes' dimensions, the sample's own apart; nothing where they have no names.
std::vector<std::string> tail_names(const Variable& variable, std::size_t axes) {
  std::vector<std::string> names;
  for (std::size_t d = 0; d < variable.array.dimensions.size(); ++d)
    if (static_cast<int>(d) != variable.sample_axis) names.push_back(variable.array.dimensions[d]);
  if (names.size() < axes) return {};
  return {names.end() - static_cast<std::ptrdiff_t>(axes), names.end()};
}

Status ZarrSource::add_field(std::string name, std::vector<std::size_t> variables,
                             const std::vector<std::int64_t>& steps, bool has_steps, bool is_stack) {
  ZarrField field;
  field.steps = steps;
  field.has_steps = has_steps;
  field.is_stack = is_stack;
  Shape& shape = field.layout.spec.shape;
  field.layout.channel_axis = is_stack ? (has_steps ? 1 : 0) : -1;
  // Of one variable without steps, axes before the last two may be levels or channels.
  if (!is_stack && !has_steps) field.layout.channel_axis.reset();
  if (has_steps) shape.push_back(static_cast<std::int64_t>(steps.size()));
  field.layout.spec.dtype = variables_[variables.front()].dtype();
  if (is_stack) {
    // Channels are the last two axes (or the one there is); axes before them are channels too.
    std::int64_t channels = 0;
    Shape tail;
    std::vector<std::string> names;
    for (const std::size_t number : variables) {
      const Variable& variable = variables_[number];
      const Shape whole = variable.shape();
      const std::size_t tail_axes = std::min<std::size_t>(whole.size(), 2);
      const Shape own(whole.end() - static_cast<std::ptrdiff_t>(tail_axes), whole.end());
      if (number == variables.front()) tail = own;
      const std::vector<std::string> own_names = tail_names(variable, tail_axes);
      if (number == variables.front()) names = own_names;
      const std::string& first_name = variables_[variables.front()].array.name;
      if (own != tail)
        return bad_option(
            fmt::format("stack: {} has {}, {} has {}", first_name, tail, variable.array.name, own), uri_);
      // Other names may well mean the same; the same in another order do not.
      if (own_names != names && std::ranges::is_permutation(own_names, names))
        return bad_option(fmt::format("stack: {} has the dimensions {}, {} has {}", first_name, names,
                                      variable.array.name, own_names),
                          uri_);
      std::int64_t own_channels = 1;
      for (std::size_t d = 0; d + tail_axes < whole.size(); ++d) own_channels *= whole[d];
      if (whole.size() > 3 && own_channels / std::max<std::int64_t>(whole[whole.size() - 3], 1) > kMostBoxes)
        return bad_option(fmt::format("stack: {} has {} channels", variable.array.name, own_channels), uri_);
      channels += own_channels;
      // What differs in type becomes float32, as what is packed does.
      if (variable.dtype() == field.layout.spec.dtype) continue;
      if (std::max(variable.dtype(), field.layout.spec.dtype) >= DType::kComplex64)
        return bad_option(
            fmt::format("stack: {} and {} are not both complex", first_name, variable.array.name), uri_);
      field.layout.spec.dtype = DType::kFloat32;
    }
    shape.push_back(channels);
    shape.insert(shape.end(), tail.begin(), tail.end());
  } else {
    const Shape own = variables_[variables.front()].shape();
    shape.insert(shape.end(), own.begin(), own.end());
  }
  if (shape.size() > kMostAxes)
    return bad_option(fmt::format("field {} has {} axes; at most {}", name, shape.size(), kMostAxes), uri_);
  std::uint64_t bytes = size_of(field.layout.spec.dtype);
  for (const std::int64_t extent : shape) {
    const auto product = checked_multiply(bytes, static_cast<std::uint64_t>(extent));
    if (!product || *product > (std::uint64_t{1} << 40))
      return bad_option(fmt::format("one sample of {} would take more than 1 TiB", name), uri_);
    bytes = *product;
  }
  if (bytes == 0) return bad_option(fmt::format("a sample of {} has no elements", name), uri_);
  sample_bytes_ += bytes;
  field.variables = std::move(variables);
  fields_.push_back(std::move(field));
  infos_.push_back({std::move(name), FieldKind::kArray, FieldForm::kChunks, true});
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
    // Steps that follow one another are one box.
    for (std::size_t s = 0; s < field.steps.size();) {
      std::size_t end = s + 1;
      const bool is_static = variable.sample_axis < 0;
      while (!is_static && end < field.steps.size() && field.steps[end] == field.steps[end - 1] + 1) ++end;
      add_boxes(variable, v, index_of(sample) + field.steps[s] * samples_.step,
                static_cast<std::int64_t>(end - s), to + static_cast<std::int64_t>(s) * step_stride,
                step_stride, field.is_stack, out);
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

// Along one of its axes, a box for each index.
void split_along(std::vector<ArrayBox>& boxes, std::size_t first, std::size_t axis) {
  const std::size_t end = boxes.size();
  for (std::size_t b = first; b < end; ++b) {
    const ArrayBox whole = boxes[b];
    boxes[b].count[axis] = 1;
    for (std::int64_t i = 1; i < whole.count[axis]; ++i) {
      ArrayBox& one = boxes.emplace_back(boxes[b]);
      one.origin[axis] += i * whole.step[axis];
      one.to += i * whole.to_stride[axis];
    }
  }
}

// A stack's channels run through all axes of the variable but its last two, in their order.
void ZarrSource::add_boxes(const Variable& variable, std::size_t number, std::int64_t time,
                           std::int64_t steps, std::int64_t to, std::int64_t step_stride, bool is_stack,
                           std::vector<ArrayBox>& out) const {
  ArrayBox box;
  box.array = number;
  box.to = to;
  box.coding = variable.coding.get();
  std::int64_t stride = 1;
  for (std::size_t d = variable.taken.size(); d-- > 0;) {
    if (static_cast<int>(d) == variable.sample_axis) {
      box.origin[d] = time;
      box.count[d] = steps;
      box.step[d] = samples_.step;
      box.to_stride[d] = step_stride;
      continue;
    }
    const IndexRun& run = variable.taken[d];
    box.origin[d] = run.first;
    box.count[d] = run.count;
    box.step[d] = run.step;
    box.to_stride[d] = stride;
    stride *= run.count;
  }
  const std::size_t first = out.size();
  out.push_back(box);
  if (!is_stack) return;
  // An axis of a box is an axis of the sample: of those that are all channels, one may be.
  std::size_t own = 0;
  for (std::size_t d = variable.taken.size(); d-- > 0;)
    if (static_cast<int>(d) != variable.sample_axis && ++own > 3 && box.count[d] > 1)
      split_along(out, first, d);
}

// ---- opening

bool is_coordinate(const ZarrArray& array) {
  return array.dimensions == std::vector<std::string>{array.name.substr(array.name.rfind('/') + 1)};
}

// Without being told: arrays that have the sample dimension and are no coordinates. The dimension, if it is a
// number, is that axis of the array with the most axes.
Result<std::vector<std::string>> choose_variables(const ZarrNode& node, const ZarrOptions& options,
                                                  const std::string& uri, std::string& dimension) {
  if (node.arrays().empty())
    return bad_option("the arrays of this group cannot be listed; name them by variables=", uri);
  std::vector<ZarrArray> arrays;
  std::set<std::string> dimensions;
  for (const std::string& name : node.arrays()) {
    auto array = node.array(name);
    if (!array && array.error().code == ErrorCode::kUnsupported) {
      // Strings and the like are passed over; what is damaged, or of an unknown codec, is not.
      const auto is_readable = node.has_readable_type(name);
      if (is_readable && !*is_readable) continue;
    }
    if (!array) return std::unexpected(std::move(array).error());
    dimensions.insert(array->dimensions.begin(), array->dimensions.end());
    if (!is_coordinate(*array)) arrays.push_back(std::move(*array));
  }
  if (const auto* axis = std::get_if<int>(&options.sample_dim)) {
    const auto largest = std::ranges::max_element(
        arrays, {}, [](const ZarrArray& array) { return array.data->spec().shape.size(); });
    const int rank = largest == arrays.end() ? 0 : static_cast<int>(largest->dimensions.size());
    const int place = *axis < 0 ? *axis + rank : *axis;
    if (place >= 0 && place < rank) dimension = largest->dimensions[static_cast<std::size_t>(place)];
  } else {
    dimension = std::get<std::string>(options.sample_dim);
  }
  std::vector<std::string> names;
  for (const ZarrArray& array : arrays) {
    const bool is_meant = dimension.empty()
                              ? array.data->spec().shape.size() > 1
                              : std::ranges::find(array.dimensions, dimension) != array.dimensions.end();
    if (is_meant) names.push_back(array.name);
  }
  if (!names.empty()) return names;
  const std::vector<std::string> known(dimensions.begin(), dimensions.end());
  const auto near = nearest_name(dimension, known);
  return bad_option(
      dimension.empty()
          ? fmt::format("no array of this group has two axes or more; there are: {}",
                        fmt::join(node.arrays(), ", "))
          : fmt::format("no array has the dimension \"{}\"{}; there are the dimensions {}", dimension,
                        near ? fmt::format(" (did you mean \"{}\"?)", *near) : "", fmt::join(known, ", ")),
      uri);
}

}  // namespace

Result<SourcePtr> open_zarr(const std::string& given, const ZarrOptions& options) {
  auto store = make_store_for(given, options.headers);
  if (!store) return std::unexpected(std::move(store).error());
  const std::string uri = without_secrets(given);
  if (uri.find("://") == std::string::npos && !(*store)->stat(uri))
    return fail(ErrorCode::kNotFound, "no such file or folder", {uri, -1, -1, -1});
  const auto node = ZarrNode::open(*store, uri, {options.missing == MissingChunk::kError});
  if (!node) return std::unexpected(node.error());
  std::vector<std::string> names = {""};
  ZarrOptions named = options;
  if (node->is_array() && !options.variables.empty())
    return bad_option("this is one array, not a group: variables= does not apply", uri);
  if (!options.variables.empty()) {
    names = options.variables;
  } else if (!node->is_array()) {
    std::string dimension;
    auto chosen = choose_variables(*node, options, uri, dimension);
    if (!chosen) return std::unexpected(std::move(chosen).error());
    names = std::move(*chosen);
    if (!dimension.empty()) named.sample_dim = dimension;
  }
  std::vector<Variable> variables;
  for (const std::string& name : names) {
    if (std::ranges::count(names, name) > 1)
      return bad_option(fmt::format("variable {} is named twice", name), uri);
    auto array = node->array(name);
    if (!array) return std::unexpected(std::move(array).error());
    // A number means the same dimension for all variables, where it has a name.
    if (const auto* axis = std::get_if<int>(&named.sample_dim); axis && !node->is_array()) {
      const auto& dimensions = array->dimensions;
      const int rank = static_cast<int>(dimensions.size());
      const int place = *axis < 0 ? *axis + rank : *axis;
      if (place >= 0 && place < rank && !dimensions[static_cast<std::size_t>(place)].empty())
        named.sample_dim = dimensions[static_cast<std::size_t>(place)];
    }
    auto variable = make_variable(std::move(*array), *node, named, uri);
    if (!variable) return std::unexpected(std::move(variable).error());
    variables.push_back(std::move(*variable));
  }
  for (const auto& [dimension, selection] : options.select) {
    std::set<std::string> known;
    for (const Variable& variable : variables)
      for (std::size_t d = 0; d < variable.taken.size(); ++d)
        known.insert(d < variable.array.dimensions.size() && !variable.array.dimensions[d].empty()
                         ? variable.array.dimensions[d]
                         : std::to_string(d));
    if (known.contains(dimension)) continue;
    const std::vector<std::string> list(known.begin(), known.end());
    const auto near = nearest_name(dimension, list);
    return bad_option(
        fmt::format("select: there is no dimension \"{}\"{}; there are {}", dimension,
                    near ? fmt::format(" (did you mean \"{}\"?)", *near) : "", fmt::join(list, ", ")),
        uri);
  }
  auto source = std::make_shared<ZarrSource>(std::move(*store), uri, node->version(), std::move(variables));
  PENSTOCK_CHECK(source->build(options));
  return source;
}

}  // namespace penstock
