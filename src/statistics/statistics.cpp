#include "statistics/statistics.h"

#include <algorithm>
#include <memory>

namespace penstock {

bool Statistics::has_read_any() const {
  const auto is_stored = [](const FieldStatistics& one) { return one.field().form != FieldForm::kIndex; };
  const bool has_stored = std::ranges::any_of(fields, is_stored);
  return std::ranges::any_of(fields, [&](const FieldStatistics& one) {
    return one.samples() > 0 && (is_stored(one) || !has_stored);
  });
}

Result<Statistics> measure(const SourcePtr& source, const VisitOptions& options) {
  if (source->draws() != nullptr)
    return fail(ErrorCode::kInvalidArgument,
                "statistics of random patches: open the volumes without per_epoch, so that a grid of patches "
                "covers every element once",
                {source->uri(), -1, -1, -1});
  using OfFields = std::vector<FieldStatistics>;
  std::vector<std::unique_ptr<OfFields>> of_threads;
  const auto& fields = source->fields();
  const auto new_statistics = [&] {
    auto& made = of_threads.emplace_back(std::make_unique<OfFields>());
    for (const FieldInfo& field : fields) made->emplace_back(field);
    return [mine = made.get()](const SeenField& seen) { (*mine)[seen.field].add(seen); };
  };
  auto visit = visit_samples(source, options, new_statistics);
  if (!visit) return std::unexpected(std::move(visit).error());
  Statistics statistics;
  statistics.visit = std::move(*visit);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (!options.fields.empty() && std::ranges::find(options.fields, fields[i].name) == options.fields.end())
      continue;
    for (std::size_t thread = 1; thread < of_threads.size(); ++thread)
      of_threads.front()->at(i).add(of_threads[thread]->at(i));
    statistics.fields.push_back(std::move(of_threads.front()->at(i)));
  }
  return statistics;
}

}  // namespace penstock
