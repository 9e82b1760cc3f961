// The report of penstock inspect for people.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "findings_report.h"
#include "format.h"
#include "sizes.h"
#include "source/source_storage.h"

namespace penstock::cli {
namespace {

constexpr std::size_t kListed = 5;  // classes, shapes or broken files that are listed

std::string describe(const ArraySpec& spec) {
  return spec.shape.empty() ? std::string(name_of(spec.dtype))
                            : fmt::format("{} {}", fmt::join(spec.shape, "x"), name_of(spec.dtype));
}

void print_classes(const std::vector<ClassCount>& classes) {
  if (classes.empty()) return;
  std::string names;
  for (std::size_t i = 0; i < std::min(classes.size(), kListed); ++i)
    names += (i ? ", " : "") + classes[i].name;
  if (classes.size() > kListed) names += ", ...";
  fmt::print("  classes    {}: {}\n", with_commas(classes.size()), names);
  if (!classes.front().samples) return;
  const auto [smallest, largest] = std::ranges::minmax_element(classes, {}, &ClassCount::samples);
  if (smallest->samples == largest->samples)
    fmt::print("             {} samples each\n", with_commas(*smallest->samples));
  else
    fmt::print("             smallest {} ({}), largest {} ({})\n", smallest->name,
               with_commas(*smallest->samples), largest->name, with_commas(*largest->samples));
}

// Returns "300..512 x 337..539 x 3 uint8", for more shapes than can be listed; nothing if their types or
// ranks differ.
std::string describe_range(const std::vector<ShapeCount>& shapes) {
  const ArraySpec& first = shapes.front().spec;
  Shape low = first.shape, high = first.shape;
  for (const ShapeCount& one : shapes) {
    if (one.spec.dtype != first.dtype || one.spec.shape.size() != low.size()) return {};
    for (std::size_t axis = 0; axis < low.size(); ++axis) {
      low[axis] = std::min(low[axis], one.spec.shape[axis]);
      high[axis] = std::max(high[axis], one.spec.shape[axis]);
    }
  }
  std::string text;
  for (std::size_t axis = 0; axis < low.size(); ++axis)
    text += fmt::format("{}{}", axis ? " x " : "",
                        low[axis] == high[axis] ? fmt::format("{}", low[axis])
                                                : fmt::format("{}..{}", low[axis], high[axis]));
  return fmt::format("{} {}", text, name_of(first.dtype));
}

// Says how many samples have the field, unless all have it.
std::string presence(const FieldInfo& field, std::uint64_t samples, const Findings& findings) {
  return field.is_everywhere ? "" : fmt::format(", in {} of {} sampled", samples, findings.sampled);
}

// A name that is wider than the column of titles gets a line of its own.
std::string title_of(const std::string& field) {
  return field.size() > 10 ? fmt::format("  {}\n{:13}", field, "") : fmt::format("  {:<10} ", field);
}

void print_field(std::size_t number, const Source& source, const Findings& findings) {
  const FieldInfo& field = source.fields()[number];
  std::vector<ShapeCount> shapes;
  std::ranges::copy_if(findings.shapes, std::back_inserter(shapes),
                       [&](const ShapeCount& one) { return one.field == field.name; });
  const std::uint64_t seen = findings.samples_with[number];
  fmt::print("{}{}{}", title_of(field.name), name_of(field.kind), presence(field, seen, findings));
  const std::string range = shapes.size() > kListed ? describe_range(shapes) : std::string();
  if (!range.empty()) {
    fmt::print(", {} ({} shapes in {} samples)\n", range, shapes.size(), seen);
    return;
  }
  if (shapes.size() == 1) {
    fmt::print(", {}{}\n", describe(shapes.front().spec),
               seen == source.size() || !field.is_everywhere ? "" : fmt::format(" ({} sampled)", seen));
    return;
  }
  fmt::print("\n");
  for (std::size_t i = 0; i < std::min(shapes.size(), kListed); ++i)
    fmt::print("{:13}{} ({} of {} sampled)\n", "", describe(shapes[i].spec), shapes[i].samples,
               findings.sampled);
  if (shapes.size() > kListed) fmt::print("{:13}and {} more\n", "", shapes.size() - kListed);
}

void print_errors(const std::string& title, const std::vector<Error>& errors) {
  fmt::print("  broken     {}\n", title);
  for (std::size_t i = 0; i < std::min(errors.size(), kListed); ++i)
    fmt::print("             {}\n", errors[i].describe());
  if (errors.size() > kListed)
    fmt::print("             and {} more (penstock verify lists them)\n", errors.size() - kListed);
}

}  // namespace

void print_screen(const Report& report) {
  const Source& source = report.source;
  const Findings& findings = report.findings;
  const double samples = static_cast<double>(source.size()), stored = findings.stored_bytes;
  fmt::print("{}\n\n", report.title);
  fmt::print("  kind       {}\n", source.kind());
  if (findings.shards > 0)
    fmt::print("  shards     {}{}\n", with_commas(findings.shards),
               source.storage().is_forward_only() ? ", compressed: read forward only, shuffled in windows" : "");
  fmt::print("  samples    {}\n", with_commas(source.size()));
  if (source.windows_left_out() > 0)
    fmt::print("  left out   {} windows over gaps in time (--gaps allow takes them)\n",
               with_commas(source.windows_left_out()));
  if (const LeftOutFiles* left_out = source.left_out())
    fmt::print("  left out   {}\n", left_out->describe());
  print_classes(findings.classes);
  for (std::size_t i = 0; i < source.fields().size(); ++i) {
    print_field(i, source, findings);
    if (findings.arrays && findings.arrays->of_fields[i])
      fmt::print("{:13}{}\n", "", findings.arrays->of_fields[i]->describe());
  }
  if (stored >= 0)
    fmt::print("  stored     {}, {} per sample{}\n", format_bytes(stored), format_bytes(stored / samples),
               findings.stored_is_estimate ? " (estimate)" : "");
  if (findings.decoded_bytes >= 0) {
    fmt::print("  decoded    {}, {} per sample{}\n", format_bytes(findings.decoded_bytes),
               format_bytes(findings.decoded_bytes / samples),
               findings.decoded_is_estimate ? " (estimate)" : "");
    if (stored > 0) fmt::print("  K          {:.2f} = decoded / stored\n", findings.decoded_bytes / stored);
  }
  const auto held = [&](double bytes) { return format_percent(report.share_held(bytes)); };
  std::vector<std::string> shares;
  if (stored >= 0) shares.push_back(held(stored) + " as stored");
  if (findings.decoded_bytes >= 0) shares.push_back(held(findings.decoded_bytes) + " decoded");
  if (!shares.empty())
    fmt::print("  memory     {} would hold {}\n", format_bytes(report.memory_bytes),
               fmt::join(shares, ", "));
  if (!findings.bad_shards.empty())
    print_errors(findings.bad_shards.size() == 1
                     ? "1 shard cannot be read to its end"
                     : fmt::format("{} shards cannot be read to their end", findings.bad_shards.size()),
                 findings.bad_shards);
  if (!findings.broken.empty())
    print_errors(fmt::format("{} of {} sampled", findings.broken_samples, findings.sampled), findings.broken);
}

}  // namespace penstock::cli
