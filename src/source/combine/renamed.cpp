// A source whose fields go by other names.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "penstock/source.h"
#include "source/field_kind.h"

namespace penstock {
namespace {

// Asks the source behind it for everything but the names.
class RenamedSource final : public Source {
 public:
  RenamedSource(SourcePtr source, std::vector<FieldInfo> fields)
      : source_(std::move(source)),
        fields_(std::move(fields)) {}

  const std::vector<FieldInfo>& fields() const override { return fields_; }

  std::uint64_t size() const override { return source_->size(); }
  std::string kind() const override { return source_->kind(); }
  std::string uri() const override { return source_->uri(); }
  std::string key(std::uint64_t sample) const override { return source_->key(sample); }
  Result<Extent> extent(std::uint64_t sample, std::size_t field) const override {
    return source_->extent(sample, field);
  }
  const ArrayLayout* array_layout(std::size_t field) const override { return source_->array_layout(field); }
  IndexValue value(std::uint64_t sample, std::size_t field) const override {
    return source_->value(sample, field);
  }
  std::span<const std::shared_ptr<const ChunkedArray>> chunked_arrays() const override {
    return source_->chunked_arrays();
  }
  void boxes(std::uint64_t sample, std::size_t field, std::vector<ArrayBox>& out) const override {
    source_->boxes(sample, field, out);
  }
  Result<OpenedRecord> open_record(std::uint64_t sample, std::span<const std::byte> stored,
                                   const Charge& charge) const override {
    return source_->open_record(sample, stored, charge);
  }
  Result<RecordValue> find_in_record(std::uint64_t sample, std::size_t field, const OpenedRecord& record,
                                     const Room& room) const override {
    return source_->find_in_record(sample, field, record, room);
  }
  std::uint64_t reading(std::size_t field) const override { return source_->reading(field); }
  const std::vector<std::string>& classes() const override { return source_->classes(); }
  const LeftOutFiles* left_out() const override { return source_->left_out(); }
  std::uint64_t windows_left_out() const override { return source_->windows_left_out(); }
  std::uint64_t fingerprint() const override { return source_->fingerprint(); }
  std::uint64_t stored_bytes() const override { return source_->stored_bytes(); }
  std::uint64_t stored_bytes_of(std::uint64_t sample) const override {
    return source_->stored_bytes_of(sample);
  }
  std::uint64_t unit_samples() const override { return source_->unit_samples(); }
  std::shared_ptr<const StorageUnits> units() const override { return source_->units(); }
  const std::vector<StreamBlock>& blocks() const override { return source_->blocks(); }
  const std::vector<Stream>& streams() const override { return source_->streams(); }
  bool shares_units() const override { return source_->shares_units(); }
  std::uint64_t suggested_window() const override { return source_->suggested_window(); }
  const SampleDraws* draws() const override { return source_->draws(); }
  const Mixture* mixture() const override { return source_->mixture(); }
  bool index_was_saved() const override { return source_->index_was_saved(); }
  void discard_saved_index() const override { source_->discard_saved_index(); }
  const Store& store() const override { return source_->store(); }

 private:
  SourcePtr source_;
  std::vector<FieldInfo> fields_;
};

}  // namespace

Result<SourcePtr> rename_fields(SourcePtr source, const std::map<std::string, std::string>& new_names) {
  std::vector<FieldInfo> fields = source->fields();
  std::vector<std::string> old_names;
  for (const FieldInfo& field : fields) old_names.push_back(field.name);
  PENSTOCK_CHECK(check_field_names(new_names, old_names));
  std::vector<std::string> names;
  for (FieldInfo& field : fields) {
    if (const auto renamed = new_names.find(field.name); renamed != new_names.end()) field.name = renamed->second;
    if (field.name.empty())
      return fail(ErrorCode::kInvalidArgument, "a field cannot have an empty name", {source->uri(), -1, -1, -1});
    if (std::ranges::find(names, field.name) != names.end())
      return fail(ErrorCode::kInvalidArgument, fmt::format("two fields would be named \"{}\"", field.name),
                  {source->uri(), -1, -1, -1});
    names.push_back(field.name);
  }
  return std::make_shared<RenamedSource>(std::move(source), std::move(fields));
}

}  // namespace penstock
