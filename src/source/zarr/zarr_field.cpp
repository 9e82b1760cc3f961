#include "source/zarr/zarr_field.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/checked_math.h"
#include "base/numbers/promotion.h"
#include "source/array_box.h"

namespace penstock {
namespace {

std::unexpected<Error> bad_field(std::string message, const std::string& uri) {
  return fail(ErrorCode::kInvalidArgument, std::move(message), {uri, -1, -1, -1});
}

// The names of the last axes without the sample dimension; empty if they have no names.
std::vector<std::string> tail_names(const Variable& variable, std::size_t axes) {
  std::vector<std::string> names;
  for (std::size_t d = 0; d < variable.array.dimensions.size(); ++d)
    if (variable.is_axis_of_sample(d)) names.push_back(variable.array.dimensions[d]);
  if (names.size() < axes) return {};
  return {names.end() - static_cast<std::ptrdiff_t>(axes), names.end()};
}

}  // namespace

Result<ZarrField> make_zarr_field(ZarrField field, const std::vector<Variable>& variables,
                                  const std::string& uri) {
  const std::vector<std::size_t>& chosen = field.variables;
  const bool has_steps = field.has_steps, is_stack = field.is_stack;
  const Variable& first = variables[chosen.front()];
  Shape& shape = field.layout.spec.shape;
  // The channels of a stack are before the last two axes and behind the steps, as are the levels of a single
  // variable with steps. Without steps, the first or the last axis of a variable may count channels.
  const bool has_levels = is_stack || first.shape().size() > 2;
  field.layout.channel_axis = has_levels ? (has_steps ? 1 : 0) : -1;
  if (!is_stack && !has_steps) field.layout.channel_axis.reset();
  field.layout.axes_not_in_space =
      static_cast<std::uint8_t>((has_steps ? 1U : 0U) | (is_stack ? (has_steps ? 2U : 1U) : 0U));
  if (has_steps) shape.push_back(static_cast<std::int64_t>(field.steps.size()));
  field.layout.spec.dtype = first.dtype();
  field.layout.is_time = !is_stack && first.is_time;
  if (is_stack) {
    // The last two axes (or the only one) are in space; the axes before them are channels.
    std::int64_t channels = 0;
    Shape tail;
    std::vector<std::string> names;
    for (const std::size_t number : chosen) {
      const Variable& variable = variables[number];
      if (variable.is_time)
        return bad_field(
            fmt::format("stack: {} holds times, which cannot be stacked with numbers; leave it out",
                        variable.array.name),
            uri);
      const Shape whole = variable.shape();
      const std::size_t tail_axes = std::min<std::size_t>(whole.size(), 2);
      const Shape own(whole.end() - static_cast<std::ptrdiff_t>(tail_axes), whole.end());
      if (number == chosen.front()) tail = own;
      const std::vector<std::string> own_names = tail_names(variable, tail_axes);
      if (number == chosen.front()) names = own_names;
      const std::string& first_name = first.array.name;
      if (own != tail)
        return bad_field(
            fmt::format("stack: {} has {}, {} has {}", first_name, tail, variable.array.name, own), uri);
      // Different names may mean the same dimensions, but the same names in another order do not.
      if (own_names != names && std::ranges::is_permutation(own_names, names))
        return bad_field(fmt::format("stack: {} has the dimensions {}, {} has {}", first_name, names,
                                     variable.array.name, own_names),
                         uri);
      std::int64_t own_channels = 1;
      for (std::size_t d = 0; d + tail_axes < whole.size(); ++d) own_channels *= whole[d];
      if (whole.size() > 3 &&
          own_channels / std::max<std::int64_t>(whole[whole.size() - 3], 1) > kMaxBoxesOfVariable)
        return bad_field(fmt::format("stack: {} has {} channels", variable.array.name, own_channels), uri);
      channels += own_channels;
      field.layout.channels_of_variables.push_back(own_channels);
      if (variable.dtype() == field.layout.spec.dtype) continue;
      if (std::max(variable.dtype(), field.layout.spec.dtype) >= DType::kComplex64)
        return bad_field(
            fmt::format("stack: {} and {} are not both complex", first_name, variable.array.name), uri);
      field.layout.spec.dtype = promoted(field.layout.spec.dtype, variable.dtype());
    }
    shape.push_back(channels);
    shape.insert(shape.end(), tail.begin(), tail.end());
  } else {
    const Shape own = first.shape();
    shape.insert(shape.end(), own.begin(), own.end());
  }
  if (shape.size() > kMaxAxes)
    return bad_field(fmt::format("field {} has {} axes; at most {}", field.name, shape.size(), kMaxAxes),
                     uri);
  std::uint64_t bytes = size_of(field.layout.spec.dtype);
  for (const std::int64_t extent : shape) {
    const auto product = checked_multiply(bytes, static_cast<std::uint64_t>(extent));
    if (!product || *product > (std::uint64_t{1} << 40))
      return bad_field(fmt::format("one sample of {} would take more than 1 TiB", field.name), uri);
    bytes = *product;
  }
  if (bytes == 0) return bad_field(fmt::format("a sample of {} has no elements", field.name), uri);
  return field;
}

}  // namespace penstock
