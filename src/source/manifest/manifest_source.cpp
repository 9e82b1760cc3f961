#include "source/manifest/manifest_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/hash.h"
#include "base/text/lower_case.h"
#include "decode/text.h"
#include "penstock/interruption.h"
#include "source/extent.h"
#include "source/field_kind.h"
#include "source/manifest/manifest_table.h"
#include "source/manifest/row_object.h"
#include "source/source_storage.h"
#include "store/http/http_url.h"
#include "store/key_path.h"

namespace penstock {
namespace {

// Each field has an array of its own in a batch. Planning looks fields up by name, which takes time that grows with the
// square of their number.
constexpr std::size_t kMaxTableFields = 4096;

constexpr std::uint64_t kMaxManifestFileBytes = std::uint64_t{4} << 30;

std::string lower_ending_of(std::string_view path) {
  const auto slash = path.rfind('/'), dot = path.rfind('.');
  if (dot == std::string_view::npos || (slash != std::string_view::npos && dot < slash)) return {};
  return lower_case(path.substr(dot + 1));
}

// The kind of files in a column, if all its cells name files of one kind.
std::optional<FieldKind> kind_of_paths(const ManifestTable& table, std::size_t column, const RowObjects& objects) {
  std::optional<FieldKind> kind;
  for (std::uint64_t row = 0; row < table.rows(); ++row) {
    const std::string ending = lower_ending_of(objects.path(table.cell(row, column)));
    const FieldKind here = ending == "npz" ? FieldKind::kBytes : kind_of_extension(ending);
    if (here != FieldKind::kImage && here != FieldKind::kArray) return std::nullopt;
    if (kind && *kind != here) return std::nullopt;
    kind = here;
  }
  return kind;
}

FieldKind kind_of_values(ColumnType type) {
  switch (type) {
    case ColumnType::kInteger: return FieldKind::kInteger;
    case ColumnType::kReal: return FieldKind::kArray;
    case ColumnType::kText: return FieldKind::kText;
    case ColumnType::kJson: return FieldKind::kJson;
  }
  return FieldKind::kText;
}

class ManifestSource final : public Source {
 public:
  ManifestSource(std::shared_ptr<const Store> store, std::string uri, std::string root, ManifestTable table)
      : store_(std::move(store)),
        uri_(std::move(uri)),
        objects_(std::move(root)),
        table_(std::move(table)) {}

  Status prepare(const OpenOptions& options) {
    std::vector<std::pair<std::string, std::string>> wanted = options.columns;
    if (wanted.empty())
      for (const std::string& name : table_.names()) wanted.emplace_back(name, name);
    if (wanted.size() > kMaxTableFields)
      return fail(ErrorCode::kTooLarge,
                  fmt::format("the table has {} columns, of which at most {} can be fields; name those that you "
                              "want, as in Manifest(path, image=\"path\")",
                              wanted.size(), kMaxTableFields),
                  {uri_, -1, -1, -1});
    std::vector<std::string> names;
    for (const auto& [field, column] : wanted) names.push_back(field);
    PENSTOCK_CHECK(check_field_names(options.field_kinds, names));
    for (const auto& [field, column] : wanted) {
      PENSTOCK_CHECK(check_field_names({{column, ""}}, table_.names()));
      PENSTOCK_CHECK(add_field(field, column, options));
    }
    if (options.columns.empty())
      std::ranges::stable_sort(mappings_, {}, [](const FieldMapping& mapping) { return mapping.info.kind; });
    for (const FieldMapping& mapping : mappings_) {
      fields_.push_back(mapping.info);
      if (key_column_ == kNone && mapping.info.form == FieldForm::kFile) key_column_ = mapping.column;
    }
    InterruptionCheck check;
    for (std::uint64_t row = 0; row < table_.rows(); ++row)
      for (const FieldMapping& mapping : mappings_) {
        PENSTOCK_CHECK(check(uri_));
        const std::string_view cell = table_.cell(row, mapping.column);
        fingerprint_ = mapping.info.form == FieldForm::kFile ? hash_text(objects_.name(cell), fingerprint_)
                                                           : hash_text(cell, fingerprint_);
      }
    storage_.stores = {store_};
    storage_.stored_bytes = estimate_bytes();
    return {};
  }

  std::uint64_t size() const override { return table_.rows(); }
  const std::vector<FieldInfo>& fields() const override { return fields_; }
  std::string kind() const override { return "manifest"; }
  std::string uri() const override { return uri_; }
  std::string key(std::uint64_t sample) const override {
    return key_column_ == kNone ? std::to_string(sample) : objects_.shown(table_.cell(sample, key_column_));
  }
  const std::vector<std::string>& classes() const override { return classes_; }
  std::uint64_t fingerprint() const override { return fingerprint_; }
  const SourceStorage& storage() const override { return storage_; }
  std::uint64_t stored_bytes_of(std::uint64_t) const override { return storage_.stored_bytes / size(); }

  Result<Extent> extent(std::uint64_t sample, std::size_t field) const override {
    const std::string_view cell = table_.cell(sample, mappings_[field].column);
    if (cell.empty())
      return fail(ErrorCode::kNotFound, fmt::format("\"{}\" is empty in this row", fields_[field].name),
                  row_of(sample));
    auto object = objects_.key(cell);
    if (!object) {
      object.error().where = row_of(sample);
      return std::unexpected(std::move(object).error());
    }
    Extent extent;
    extent.object = std::move(*object);
    extent.store = store_.get();
    return extent;
  }

  IndexValue value(std::uint64_t sample, std::size_t field) const override {
    const FieldMapping& mapping = mappings_[field];
    if (mapping.is_class)
      return std::ranges::lower_bound(classes_, table_.cell(sample, mapping.column)) - classes_.begin();
    if (mapping.info.kind == FieldKind::kInteger) return table_.integer(sample, mapping.column);
    if (mapping.is_float32) return static_cast<float>(table_.real(sample, mapping.column));
    if (mapping.info.kind == FieldKind::kArray) return table_.real(sample, mapping.column);
    return std::string(table_.cell(sample, mapping.column));
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};

  struct FieldMapping {
    FieldInfo info;
    std::size_t column = 0;
    bool is_class = false;  // the cells are names of classes, which become numbers
    bool is_float32 = false;  // a number that is rounded to float32
  };

  static bool is_mask_name(const std::string& name) {
    return name.find("mask") != std::string::npos || name.find("seg") != std::string::npos;
  }
  static bool is_label_name(const std::string& name) {
    return name == "label" || name == "class" || name == "target" || name == "category";
  }

  // An estimate from a few rows: there may be millions of files, which are not examined until they are read.
  std::uint64_t estimate_bytes() const {
    constexpr std::uint64_t kMaxSampledRows = 64;
    const std::uint64_t examined = std::min(size(), kMaxSampledRows);
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < examined; ++i) {
      if (Interruption::is_requested()) break;
      const std::uint64_t row = i * size() / examined;
      sum += table_.row_length(row);
      for (std::size_t field = 0; field < fields_.size(); ++field) {
        if (fields_[field].form != FieldForm::kFile) continue;
        const auto file = extent(row, field);
        const auto version = file ? store_->stat(file->object) : Result<ObjectVersion>(ObjectVersion{});
        sum += version ? version->size : 0;
      }
    }
    return sum / examined * size();
  }

  // The kind that the user requested, else the one that follows from the cells.
  Status add_field(const std::string& name, const std::string& column_name, const OpenOptions& options) {
    const auto column =
        static_cast<std::size_t>(std::ranges::find(table_.names(), column_name) - table_.names().begin());
    const bool is_text = table_.type(column) == ColumnType::kText;
    const bool has_numbers = table_.type(column) <= ColumnType::kReal;
    FieldKind kind = kind_of_values(table_.type(column));
    bool is_file = false, is_float32 = false;
    if (const auto requested = options.field_kinds.find(name); requested != options.field_kinds.end()) {
      const auto type = parse_field_type(name, requested->second);
      if (!type) return std::unexpected(type.error());
      kind = type->kind;
      const bool is_number = type->elements && type->elements->shape.empty();
      is_float32 = is_number && type->elements->dtype == DType::kFloat32;
      const bool is_real = is_float32 || (is_number && type->elements->dtype == DType::kFloat64);
      is_file =
          !is_real && (kind == FieldKind::kImage || kind == FieldKind::kMask || kind == FieldKind::kArray);
      if ((type->elements && !is_real) || (is_real && !has_numbers) || (is_file && !is_text) ||
          (kind == FieldKind::kInteger && table_.type(column) != ColumnType::kInteger && !is_text))
        return fail(
            ErrorCode::kInvalidArgument,
            fmt::format("column \"{}\" cannot be \"{}\" by what its cells are", column_name, requested->second),
            {uri_, -1, -1, -1});
    } else if (const auto paths = is_text ? kind_of_paths(table_, column, objects_) : std::nullopt) {
      kind = is_mask_name(name) && *paths == FieldKind::kImage ? FieldKind::kMask : *paths;
      is_file = true;
    } else if (is_text && is_label_name(name)) {
      kind = FieldKind::kInteger;
    }
    if (kind == FieldKind::kJson && table_.type(column) != ColumnType::kJson)
      PENSTOCK_CHECK(check_all_json(column));
    if (is_float32) PENSTOCK_CHECK(check_float32(column));
    const bool is_class = kind == FieldKind::kInteger && is_text;
    if (is_class) PENSTOCK_CHECK(name_classes(name, column));
    mappings_.push_back({{name, kind, is_file ? FieldForm::kFile : FieldForm::kIndex, true, is_class},
                       column,
                       is_class,
                       is_float32});
    return {};
  }

  Status check_float32(std::size_t column) const {
    for (std::uint64_t row = 0; row < table_.rows(); ++row)
      if (!std::isfinite(static_cast<float>(table_.real(row, column))))
        return fail(ErrorCode::kInvalidArgument,
                    fmt::format("{} in column \"{}\" is too large for float32", table_.cell(row, column),
                                table_.names()[column]),
                    row_of(row));
    return {};
  }

  Status check_all_json(std::size_t column) const {
    for (std::uint64_t row = 0; row < table_.rows(); ++row) {
      const std::string_view cell = table_.cell(row, column);
      auto status = check_json(as_bytes(cell.data(), cell.size()));
      if (status) continue;
      status.error().message += fmt::format(" (column \"{}\")", table_.names()[column]);
      status.error().where = row_of(row);
      return status;
    }
    return {};
  }

  // Numbers the names of classes in alphabetical order, as for folders.
  Status name_classes(const std::string& name, std::size_t column) {
    if (!classes_.empty())
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("\"{}\" is a second column of class names; make it text by its kind", name),
                  {uri_, -1, -1, -1});
    std::vector<std::string_view> names;
    for (std::uint64_t row = 0; row < table_.rows(); ++row) {
      if (table_.cell(row, column).empty())
        return fail(ErrorCode::kCorrupt, fmt::format("\"{}\" is empty in this row", name), row_of(row));
      names.push_back(table_.cell(row, column));
    }
    std::ranges::sort(names);
    const auto repeated = std::ranges::unique(names);
    names.erase(repeated.begin(), repeated.end());
    classes_.assign(names.begin(), names.end());
    return {};
  }

  Where row_of(std::uint64_t sample) const {
    return {uri_, static_cast<std::int64_t>(table_.row_offset(sample)),
            static_cast<std::int64_t>(table_.row_length(sample)), static_cast<std::int64_t>(sample)};
  }

  std::shared_ptr<const Store> store_;
  std::string uri_;
  RowObjects objects_;
  ManifestTable table_;
  std::vector<FieldInfo> fields_;
  std::vector<FieldMapping> mappings_;  // in the order of fields_
  std::size_t key_column_ = kNone;
  std::vector<std::string> classes_;
  SourceStorage storage_;
  std::uint64_t fingerprint_ = 0;
};

}  // namespace

bool is_manifest_name(std::string_view name) {
  return std::ranges::any_of(std::array{".csv", ".tsv", ".jsonl", ".ndjson"},
                             [&](std::string_view ending) { return name.ends_with(ending); });
}

Result<SourcePtr> open_manifest(OpenRequest request, const OpenOptions& options) {
  if (request.paths.size() > 1)
    return fail(ErrorCode::kInvalidArgument, "several manifests; join them, or mix them", {request.uri, -1, -1, -1});
  const std::string path = absolute_key(request.paths.front());
  std::string root = path.substr(0, std::max<std::size_t>(path.rfind('/'), 1));
  if (!options.root.empty())
    root = request.store->traits().is_local ? absolute_key(options.root) : without_secrets(options.root);
  return open_manifest(std::move(request.store), request.uri, path, root, options);
}

Result<SourcePtr> open_manifest(std::shared_ptr<const Store> store, const std::string& uri,
                                const std::string& path, const std::string& root,
                                const OpenOptions& options) {
  const auto bytes = read_all(*store, path, kMaxManifestFileBytes);
  if (!bytes) return std::unexpected(bytes.error());
  const std::string ending = lower_ending_of(path);
  const ManifestFormat format = ending == "tsv"   ? ManifestFormat::kTsv
                                : ending == "csv" ? ManifestFormat::kCsv
                                                  : ManifestFormat::kJsonLines;
  if (options.delimiter != 0 && format == ManifestFormat::kJsonLines)
    return fail(ErrorCode::kInvalidArgument, "delimiter= is for .csv and .tsv tables", {uri, -1, -1, -1});
  if (options.delimiter == '"' || options.delimiter == '\n' || options.delimiter == '\r')
    return fail(ErrorCode::kInvalidArgument, "a quote or a line break cannot be the delimiter",
                {uri, -1, -1, -1});
  auto table = ManifestTable::parse(*bytes, format, uri, options.delimiter);
  if (!table) return std::unexpected(std::move(table).error());
  auto source = std::make_shared<ManifestSource>(std::move(store), uri, root, std::move(*table));
  PENSTOCK_CHECK(source->prepare(options));
  return source;
}

}  // namespace penstock
