// A source whose fields have other names.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "penstock/source.h"
#include "source/combine/forwarding_source.h"
#include "source/field_kind.h"

namespace penstock {
namespace {

class RenamedSource final : public ForwardingSource {
 public:
  RenamedSource(SourcePtr source, std::vector<FieldInfo> fields)
      : ForwardingSource(std::move(source)),
        fields_(std::move(fields)) {}

  const std::vector<FieldInfo>& fields() const override { return fields_; }

 private:
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
