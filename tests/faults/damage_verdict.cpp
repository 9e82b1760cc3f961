#include "damage_verdict.h"

namespace penstock {
namespace {

// The batch fields that every sample has, and the key: what a user gets who asks for nothing special.
std::vector<std::string> fields_of(const Source& source) {
  std::vector<std::string> fields = {"key"};
  for (const FieldInfo& field : source.fields())
    if (field.is_everywhere) fields.push_back(field.name);
  return fields;
}

void append_sample(const BatchField& field, std::uint64_t index, std::string& out) {
  out += field.name + "=";
  if (field.form == BatchForm::kTexts) {
    out += field.texts[index];
  } else {
    const std::size_t bytes = field.spec.bytes() / static_cast<std::size_t>(field.spec.shape.front());
    out += name_of(field.spec.dtype);
    for (std::size_t axis = 1; axis < field.spec.shape.size(); ++axis)
      out += "," + std::to_string(field.spec.shape[axis]);
    out += ":";
    out.append(static_cast<const char*>(field.data) + index * bytes, bytes);
  }
  out += ";";
}

// False where a key comes twice.
bool take_batch(const Batch& batch, SampleContents& out) {
  bool unique = true;
  for (std::uint64_t index = 0; index < batch.size; ++index) {
    std::string content;
    for (std::size_t field = 1; field < batch.fields.size(); ++field)
      append_sample(batch.fields[field], index, content);
    unique = out.try_emplace(batch.fields.front().texts[index], std::move(content)).second && unique;
  }
  return unique;
}

std::string find_wrong(const SampleContents& delivered, const SampleContents& expected) {
  for (const auto& [key, content] : delivered) {
    const auto known = expected.find(key);
    if (known == expected.end()) return "a sample \"" + key + "\" that never was";
    if (known->second != content) return "wrong content of sample \"" + key + "\"";
  }
  return {};
}

}  // namespace

bool says_where(const Error& error, bool at_sample) {
  const Where& where = error.where;
  return !where.uri.empty() && where.offset >= 0 && where.length >= 0 && (!at_sample || where.sample >= 0);
}

Judgement judge(const std::string& path, OpenOptions options, unsigned threads,
                const SampleContents& expected) {
  Judgement out;
  options.warn = [&](const std::string& warning) { out.warnings.push_back(warning); };
  const auto noticed_at_open = [&](const Error& error) {
    out.errors.push_back(error);
    out.verdict = Verdict::kNoticedAtOpen;
    return std::move(out);
  };
  options.memory_bytes = std::uint64_t{256} << 20;  // asking the system what is free takes longer than a case
  const auto source = open_source(path, options);
  if (!source) return noticed_at_open(source.error());
  LoaderOptions loading;
  loading.batch_size = 4;
  loading.threads = threads;
  loading.memory_bytes = 64 << 20;
  loading.on_error = OnError::kSkip;
  loading.max_skip = 1;
  loading.fields = fields_of(**source);
  auto loader = Loader::open(*source, loading);
  if (!loader) return noticed_at_open(loader.error());
  const auto epoch = (*loader)->start_epoch();
  if (!epoch) return noticed_at_open(epoch.error());
  bool unique = true;
  while (true) {
    auto batch = (*epoch)->next();
    if (!batch) out.errors.push_back(batch.error());
    if (!batch || !*batch) break;
    unique = take_batch(**batch, out.delivered) && unique;
  }
  const LoaderStats stats = (*loader)->stats();
  out.errors.insert(out.errors.end(), stats.errors.begin(), stats.errors.end());
  const Counts& counts = stats.counts;
  out.counts_balance = counts.planned == counts.delivered + counts.skipped + counts.failed &&
                       (!unique || counts.delivered == out.delivered.size());
  if (expected.empty()) return out;
  out.why = unique ? find_wrong(out.delivered, expected) : "a sample came twice";
  if (out.why.empty() && out.errors.empty() && out.delivered.size() != expected.size())
    out.why = std::to_string(out.delivered.size()) + " samples of " + std::to_string(expected.size());
  if (!out.why.empty())
    out.verdict = Verdict::kSilent;
  else if (!out.errors.empty())
    out.verdict = Verdict::kNoticedAtSample;
  return out;
}

}  // namespace penstock
