#include "pack/packed_fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "base/text/nearest_name.h"
#include "decode/npy.h"
#include "pack/formats/tar_names.h"
#include "pack/sample_values.h"
#include "pack/source_identity.h"
#include "pack/transform_text.h"
#include "plan/field_plan.h"
#include "source/array_layout.h"
#include "source/source_storage.h"
#include "statistics/source_reads.h"

namespace penstock {
namespace {

using Way = FieldWork::Way;

bool is_text_kind(FieldKind kind) { return kind >= FieldKind::kText; }

// What the first sample shows of a field.
struct Probe {
  bool was_seen = false;
  std::optional<ArraySpec> elements;
};

Status check_can_be_packed(const Source& source, const PackOptions& options) {
  const auto refuse = [&](std::string what) {
    return fail(ErrorCode::kInvalidArgument, std::move(what), {source.uri(), -1, -1, -1});
  };
  if (source.draws() != nullptr)
    return refuse("random patches cannot be packed: they would be the same in every epoch; pack a grid (without per_epoch)");
  if (source.mixture() != nullptr) return refuse("a mixture with weights cannot be packed; pack its parts");
  if (options.shuffle_seed && source.storage().is_forward_only())
    return refuse("compressed shards can only be read forward, so they cannot be shuffled while they are packed; pack them "
                  "in order, then shuffle the result");
  for (const FieldTransform& transform : options.transforms) {
    if (!transform.derive_from.empty())
      return refuse(fmt::format("field \"{}\" derives from another; a packed field starts from its own", transform.field));
    for (const Transform& step : transform.steps)
      if (const auto text = text_of(step); !text) return std::unexpected(text.error());
  }
  return {};
}

Result<std::vector<std::size_t>> chosen_fields(const Source& source, const PackOptions& options) {
  std::vector<std::string> known;
  for (const FieldInfo& field : source.fields()) known.push_back(field.name);
  std::vector<std::size_t> chosen;
  for (const std::string& name : options.fields.empty() ? known : options.fields) {
    const auto found = std::ranges::find(known, name);
    if (found == known.end()) {
      const auto near = nearest_name(name, known);
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("there is no field \"{}\"{}; there are {}", name,
                              near ? fmt::format(", did you mean \"{}\"?", *near) : "", fmt::join(known, ", ")),
                  {source.uri(), -1, -1, -1});
    }
    const auto number = static_cast<std::size_t>(found - known.begin());
    if (std::ranges::find(chosen, number) != chosen.end())
      return fail(ErrorCode::kInvalidArgument, fmt::format("field \"{}\" is asked for twice", name));
    chosen.push_back(number);
  }
  for (const FieldTransform& transform : options.transforms)
    if (!std::ranges::any_of(chosen, [&](std::size_t field) { return known[field] == transform.field; }))
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("transform for field \"{}\", which is not among the fields that are packed", transform.field));
  return chosen;
}

bool has_steps(const PackOptions& options, const std::string& field) {
  // A Map over several fields may change a field that has no list of its own.
  const auto names_it = [&](const Transform& step) {
    const Map* const map = std::get_if<Map>(&step);
    return map != nullptr && std::ranges::find(map->fields, field) != map->fields.end();
  };
  return std::ranges::any_of(options.transforms, [&](const FieldTransform& transform) {
    return (transform.field == field && !transform.steps.empty()) || std::ranges::any_of(transform.steps, names_it);
  });
}

FieldWork work_of(const Source& source, std::size_t number, const PackOptions& options) {
  const FieldInfo& field = source.fields()[number];
  FieldWork work;
  work.source_field = number;
  work.is_picture = field.kind == FieldKind::kImage || field.kind == FieldKind::kMask;
  const bool encodes_all = field.kind == FieldKind::kImage && options.encoding != PackEncoding::kAsStored;
  const bool is_changed = has_steps(options, field.name);
  work.encodes_png = field.kind == FieldKind::kMask || options.encoding == PackEncoding::kPng;
  if (field.form == FieldForm::kIndex && !is_changed)
    work.way = Way::kIndexed;
  else if (is_changed || encodes_all || field.form == FieldForm::kChunks || field.form == FieldForm::kElements ||
           (options.format == PackFormat::kNpy && !is_text_kind(field.kind)))
    work.way = Way::kMade;
  work.encodes = work.is_picture && work.way == Way::kMade && options.format != PackFormat::kNpy;
  work.adds_restarts = options.adds_restarts && field.kind == FieldKind::kImage && !work.encodes &&
                       options.format != PackFormat::kNpy;
  return work;
}

// The options that decide the bytes, as text.
Result<std::string> options_text(const PackOptions& options) {
  std::string text = fmt::format("name={} shard_bytes={} shuffle={} encoding={} quality={} restarts={}", options.name,
                                 options.shard_bytes, options.shuffle_seed ? fmt::format("{}", *options.shuffle_seed) : "no",
                                 static_cast<int>(options.encoding), options.jpeg_quality, options.adds_restarts);
  for (const FieldTransform& transform : options.transforms) {
    text += fmt::format(" {}:", transform.field);
    for (const Transform& step : transform.steps) {
      const auto word = text_of(step);
      if (!word) return std::unexpected(word.error());
      text += fmt::format(" {}", *word);
    }
  }
  return text;
}

// Makes the first sample, to see what its values are.
Result<std::vector<Probe>> probe_first_sample(const SourcePtr& source, PackedFields& fields, std::uint64_t memory_bytes) {
  std::vector<Probe> probes(fields.works.size());
  // Only the beginning of a compressed shard can be read at once, which is where the first sample is.
  const auto plans = plan_fields_of(source, fields);
  if (!plans) return std::unexpected(plans.error());
  std::vector<std::size_t> numbers;
  for (const FieldWork& work : fields.works) numbers.push_back(work.source_field);
  const auto reads = SourceReads::open(*source, {numbers, 1, 1 + plans->made.size(), memory_bytes});
  if (!reads) return std::unexpected(reads.error());
  SampleValues values(*source, fields, *plans, (*reads)->budget(), (*reads)->shared());
  values.only_measure();
  PENSTOCK_CHECK(values.visit(0, [&](const PackedValue& value) -> Status {
    Probe& probe = probes[value.field];
    probe.was_seen = true;
    if (value.elements != nullptr) probe.elements = *value.elements;
    fields.probed_bytes += value.size_bytes;
    return {};
  }));
  return probes;
}

bool can_be_list(const std::optional<ArraySpec>& spec) {
  return spec && (spec->dtype == DType::kFloat32 || spec->dtype == DType::kInt64);
}

bool can_be_encoded(const ArraySpec& spec) {
  return spec.dtype == DType::kUInt8 && spec.shape.size() == 3 && (spec.shape[2] == 1 || spec.shape[2] == 3);
}

// Sets what follows from the first sample.
Status apply_probe(const Source& source, const Probe& probe, PackFormat format, bool is_changed, PackedField& field,
                   FieldWork& work) {
  const ArrayLayout* const layout = source.array_layout(work.source_field);
  const FieldForm form = source.fields()[work.source_field].form;
  if (layout != nullptr) field.is_time = layout->is_time && !is_changed;
  if (work.is_picture && work.way == Way::kMade && probe.elements && (!work.encodes || !can_be_encoded(*probe.elements))) {
    work.encodes = false;  // pixels that no image format holds
    field.kind = FieldKind::kArray;
  }
  if (field.kind == FieldKind::kInteger && probe.elements && probe.elements->dtype != DType::kInt64)
    field.kind = FieldKind::kArray;  // OneHot made numbers of a label
  if (format == PackFormat::kNpy) {
    if (!probe.elements || is_text_kind(field.kind))
      return fail(ErrorCode::kUnsupported,
                  fmt::format("field \"{}\" is {}: .npy files hold numbers alone; choose other fields, or another format",
                              field.name, name_of(field.kind)));
    if (npy_header_of(*probe.elements).empty())
      return fail(ErrorCode::kUnsupported,
                  fmt::format("field \"{}\" is {}, which .npy does not have; Cast it to float32", field.name,
                              name_of(probe.elements->dtype)));
    field.elements = probe.elements;
    return {};
  }
  if (field.kind != FieldKind::kArray) return {};
  const bool has_fixed_shape = layout != nullptr && !is_changed &&
                               (form == FieldForm::kElements || form == FieldForm::kChunks);
  if (has_fixed_shape) field.elements = layout->spec;
  if (format != PackFormat::kTFRecord) {
    // What the first file looks like lets readers read others like it in one call; any of them may differ.
    if (form == FieldForm::kFile && layout != nullptr && !is_changed && npy_header_of(layout->spec) == layout->header)
      field.elements = layout->spec;
    return {};
  }
  const bool has_few_axes = probe.elements && probe.elements->shape.size() <= 1;
  field.is_list = can_be_list(probe.elements) && (has_fixed_shape || has_few_axes);
  if (field.is_list && probe.elements->shape.empty()) field.elements = probe.elements;
  return {};
}

void set_stored_names(const Source& source, PackFormat format, std::vector<PackedField>& packed) {
  std::vector<FieldInfo> infos;
  for (const PackedField& field : packed)
    infos.push_back({field.name, field.kind, FieldForm::kFile, field.is_everywhere, field.is_class});
  if (format != PackFormat::kTFRecord) {
    const auto endings = tar_endings_of(infos);
    for (std::size_t i = 0; i < packed.size(); ++i) {
      packed[i].stored_as = endings[i];
      if (format != PackFormat::kNpy) continue;
      // "image.npy" without its ending is the prefix of the file.
      std::string word = packed[i].name;
      std::ranges::replace_if(word, [](unsigned char c) { return std::isalnum(c) == 0 && c != '_'; }, '_');
      packed[i].stored_as = word;
      for (std::size_t before = 0; before < i; ++before)
        if (packed[before].stored_as == packed[i].stored_as) packed[i].stored_as = fmt::format("{}_{}", word, i);
    }
    return;
  }
  // The names that TensorFlow's own tools use, where it is clear what a field is.
  const auto images = std::ranges::count(packed, FieldKind::kImage, &PackedField::kind);
  for (PackedField& field : packed) {
    const bool is_named_so = std::ranges::any_of(source.fields(), [&](const FieldInfo& other) {
      return other.name.starts_with("image/");
    });
    const bool is_image = field.kind == FieldKind::kImage && field.name == "image" && images == 1;
    const bool is_label = field.kind == FieldKind::kInteger && field.name == "label" && images == 1;
    field.stored_as = !is_named_so && is_image ? "image/encoded" : !is_named_so && is_label ? "image/class/label" : field.name;
  }
}

}  // namespace

Result<PackedFields> plan_packed_fields(const SourcePtr& source, const PackOptions& options, std::uint64_t memory_bytes) {
  PENSTOCK_CHECK(check_can_be_packed(*source, options));
  const auto chosen = chosen_fields(*source, options);
  if (!chosen) return std::unexpected(chosen.error());
  auto text = options_text(options);
  if (!text) return std::unexpected(std::move(text).error());
  PackedFields fields;
  fields.jpeg_quality = options.jpeg_quality;
  fields.made.transforms = options.transforms;
  fields.made.layout = BatchLayout::kNhwc;
  PackDescription& description = fields.description;
  description.format = name_of(options.format);
  const auto fingerprint = source_identity(*source);
  if (!fingerprint) return std::unexpected(fingerprint.error());
  description.source_fingerprint = *fingerprint;
  description.samples = source->size();
  description.options = std::move(*text);
  description.classes = source->classes();
  for (const std::size_t number : *chosen) {
    const FieldInfo& info = source->fields()[number];
    fields.works.push_back(work_of(*source, number, options));
    PackedField field;
    field.name = info.name;
    field.kind = info.kind;
    field.is_everywhere = info.is_everywhere;
    field.is_class = info.is_class;
    field.keeps_type = info.keeps_type;
    if (options.format == PackFormat::kNpy && !info.is_everywhere)
      return fail(ErrorCode::kUnsupported,
                  fmt::format("field \"{}\" is not in every sample; the rows of .npy files have all fields", info.name));
    description.fields.push_back(std::move(field));
  }
  const auto probes = probe_first_sample(source, fields, memory_bytes);
  if (!probes) return std::unexpected(probes.error());
  for (std::size_t i = 0; i < fields.works.size(); ++i)
    PENSTOCK_CHECK(apply_probe(*source, (*probes)[i], options.format, has_steps(options, description.fields[i].name),
                               description.fields[i], fields.works[i]));
  set_stored_names(*source, options.format, description.fields);
  return fields;
}

Result<FieldPlans> plan_fields_of(const SourcePtr& source, const PackedFields& fields) {
  FieldPlans plans;
  LoaderOptions copied;
  copied.layout = BatchLayout::kNhwc;
  std::vector<std::uint32_t> together, alone;
  for (std::uint32_t i = 0; i < fields.works.size(); ++i) {
    const FieldInfo& info = source->fields()[fields.works[i].source_field];
    if (fields.works[i].way == Way::kCopied) {
      copied.fields.push_back(info.name);
      plans.copied_fields.push_back(i);
    } else if (fields.works[i].way == Way::kMade) {
      (info.is_everywhere ? together : alone).push_back(i);
    }
  }
  if (!copied.fields.empty()) {
    auto plan = plan_fields(source, copied);
    if (!plan) return std::unexpected(std::move(plan).error());
    plans.copied = std::move(*plan);
  }
  const auto add = [&](std::vector<std::uint32_t> numbers) -> Status {
    LoaderOptions made = fields.made;
    for (const std::uint32_t i : numbers) made.fields.push_back(source->fields()[fields.works[i].source_field].name);
    std::erase_if(made.transforms, [&](const FieldTransform& transform) {
      return std::ranges::find(made.fields, transform.field) == made.fields.end();
    });
    auto plan = plan_fields(source, made);
    if (!plan) return std::unexpected(std::move(plan).error());
    plans.made.push_back({std::move(*plan), std::move(numbers)});
    return {};
  };
  if (!together.empty()) PENSTOCK_CHECK(add(together));
  for (const std::uint32_t i : alone) PENSTOCK_CHECK(add({i}));
  return plans;
}

}  // namespace penstock
