// The report of penstock inspect as one JSON object.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text/public_uri.h"
#include "findings_report.h"
#include "source/source_storage.h"

namespace penstock::cli {
namespace {

nlohmann::ordered_json classes_json(const std::vector<ClassCount>& classes) {
  if (classes.empty()) return nullptr;
  // The numbers of samples are null where they are not known.
  nlohmann::ordered_json json = {{"count", classes.size()}, {"samples", nlohmann::ordered_json::object()}};
  for (const ClassCount& one : classes)
    json["samples"][one.name] = one.samples ? nlohmann::ordered_json(*one.samples) : nlohmann::ordered_json();
  if (!classes.front().samples) {
    json["smallest"] = json["largest"] = nullptr;
    return json;
  }
  const auto [smallest, largest] = std::ranges::minmax_element(classes, {}, &ClassCount::samples);
  json["smallest"] = smallest->name;
  json["largest"] = largest->name;
  return json;
}

nlohmann::ordered_json left_out_json(const LeftOutFiles* left_out) {
  if (left_out == nullptr) return nullptr;
  return {{"files", left_out->count()}, {"by_ending", left_out->by_ending}, {"example", left_out->example}};
}

nlohmann::ordered_json errors_json(const std::vector<Error>& errors) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const Error& error : errors)
    json.push_back({{"uri", without_secrets(error.where.uri)},
                    {"offset", error.where.offset},
                    {"length", error.where.length},
                    {"sample", error.where.sample},
                    {"message", error.message}});
  return json;
}

nlohmann::ordered_json sampled_json(const Findings& findings) {
  nlohmann::ordered_json json = {{"samples", findings.sampled},
                                 {"shapes", nlohmann::ordered_json::array()},
                                 {"broken", nlohmann::ordered_json::array()}};
  for (const ShapeCount& one : findings.shapes)
    json["shapes"].push_back({{"field", one.field},
                              {"shape", one.spec.shape},
                              {"dtype", name_of(one.spec.dtype)},
                              {"samples", one.samples}});
  json["broken"] = errors_json(findings.broken);
  return json;
}

}  // namespace

void print_json(const Report& report) {
  const Source& source = report.source;
  const Findings& findings = report.findings;
  const double stored = findings.stored_bytes;
  const bool is_known = findings.decoded_bytes >= 0;
  nlohmann::ordered_json json = {
      {"uri", report.title}, {"kind", source.kind()}, {"samples", source.size()}};
  json["windows_left_out"] = source.windows_left_out();
  json["fields"] = nlohmann::ordered_json::array();
  for (const FieldInfo& field : source.fields())
    json["fields"].push_back(
        {{"name", field.name}, {"kind", name_of(field.kind)}, {"is_everywhere", field.is_everywhere}});
  json["shards"] = nullptr;
  if (findings.shards > 0)
    json["shards"] = {{"count", findings.shards},
                      {"compressed", source.storage().is_forward_only()},
                      {"broken", errors_json(findings.bad_shards)}};
  json["classes"] = classes_json(findings.classes);
  json["left_out"] = left_out_json(source.left_out());
  json["arrays"] = nullptr;
  for (std::size_t i = 0; findings.arrays && i < findings.arrays->of_fields.size(); ++i)
    if (const auto& array = findings.arrays->of_fields[i])
      json["arrays"][source.fields()[i].name] = array->to_json();
  json["stored_bytes"] = nullptr;
  if (stored >= 0) json["stored_bytes"] = static_cast<std::uint64_t>(stored);
  json["sampled"] = sampled_json(findings);
  json["decoded_bytes"] = nullptr;
  json["k"] = nullptr;
  if (is_known) json["decoded_bytes"] = static_cast<std::uint64_t>(findings.decoded_bytes);
  if (is_known && stored > 0) json["k"] = findings.decoded_bytes / stored;
  json["memory"] = {{"budget", report.memory_bytes}, {"holds_stored", nullptr}, {"holds_decoded", nullptr}};
  if (stored >= 0) json["memory"]["holds_stored"] = report.share_held(stored);
  if (is_known) json["memory"]["holds_decoded"] = report.share_held(findings.decoded_bytes);
  fmt::print("{}\n", json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

}  // namespace penstock::cli
