#include "plan/joint_map_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "transform/map_result.h"

namespace penstock {
namespace {

// A Map may occur several times among the steps of a field. Each occurrence is a step of its own.
struct Occurrence {
  const Map* map = nullptr;
  std::size_t number = 0;
  bool operator==(const Occurrence& other) const {
    return map->function == other.map->function && number == other.number;
  }
};

std::vector<Occurrence> joint_maps_of(const std::vector<Transform>& steps) {
  std::vector<Occurrence> found;
  for (const Transform& step : steps) {
    if (!is_joint_map(step)) continue;
    const Map& map = std::get<Map>(step);
    const auto before = std::ranges::count_if(
        found, [&](const Occurrence& other) { return other.map->function == map.function; });
    found.push_back({&map, static_cast<std::size_t>(before)});
  }
  return found;
}

std::string quoted(const std::vector<std::string>& names) {
  return fmt::format("[\"{}\"]", fmt::join(names, "\", \""));
}

Status check_map(const Map& map, const std::string& field) {
  if (!map.function || !*map.function) return fail(ErrorCode::kInvalidArgument, "Map without a function");
  std::vector<std::string> names = map.fields;
  std::ranges::sort(names);
  if (const auto twice = std::ranges::adjacent_find(names); twice != names.end())
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("Map(fields={}) names \"{}\" twice", quoted(map.fields), *twice));
  if (std::ranges::find(map.fields, field) == map.fields.end())
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("Map(fields={}) is among the steps of \"{}\", which it does not name",
                            quoted(map.fields), field));
  return {};
}

}  // namespace

Result<std::vector<FieldTransform>> spread_joint_maps(std::vector<FieldTransform> transforms) {
  for (std::size_t i = 0; i < transforms.size(); ++i) {
    const std::vector<Transform> steps = transforms[i].steps;  // a copy, because the loop below adds to the vector
    for (const Occurrence& wanted : joint_maps_of(steps)) {
      PENSTOCK_CHECK(check_map(*wanted.map, transforms[i].field));
      for (const std::string& name : wanted.map->fields) {
        auto found = std::ranges::find(transforms, name, &FieldTransform::field);
        if (found == transforms.end()) found = transforms.insert(found, {name, {}, {}});
        const auto own = joint_maps_of(found->steps);
        if (std::ranges::find(own, wanted) == own.end()) found->steps.emplace_back(*wanted.map);
      }
    }
  }
  return transforms;
}

Status plan_joint_maps(const std::vector<FieldTransform>& transforms, SamplePlan& plan) {
  std::vector<std::vector<Occurrence>> steps(plan.fields.size());
  for (std::size_t field = 0; field < plan.fields.size(); ++field) {
    const auto found = std::ranges::find(transforms, plan.fields[field].name, &FieldTransform::field);
    if (found != transforms.end()) steps[field] = joint_maps_of(found->steps);
  }
  const auto done = [&](std::size_t field) { return plan.fields[field].joint_maps.size(); };
  const auto is_finished = [&](std::size_t field) { return done(field) == steps[field].size(); };
  // A derived field begins when its parent is finished.
  const auto is_next = [&](std::size_t field, const Occurrence& step) {
    const int parent = plan.fields[field].derive_from;
    return !is_finished(field) && steps[field][done(field)] == step &&
           (parent < 0 || is_finished(static_cast<std::size_t>(parent)));
  };
  const auto index_of = [&](const std::string& name) {
    const auto found = std::ranges::find(plan.fields, name, &FieldPlan::name);
    return static_cast<std::size_t>(found - plan.fields.begin());
  };
  const auto run_one = [&]() -> bool {
    for (std::size_t field = 0; field < plan.fields.size(); ++field) {
      if (is_finished(field)) continue;
      const Occurrence step = steps[field][done(field)];
      JointMap map{step.map->function, {}};
      for (const std::string& name : step.map->fields) map.fields.push_back(index_of(name));
      if (!std::ranges::all_of(map.fields, [&](std::size_t other) { return is_next(other, step); })) continue;
      for (const std::size_t other : map.fields)
        plan.fields[other].joint_maps.push_back(plan.joint_maps.size());
      plan.joint_maps.push_back(std::move(map));
      return true;
    }
    return false;
  };
  while (run_one()) {}
  for (std::size_t field = 0; field < plan.fields.size(); ++field)
    if (!is_finished(field))
      return fail(
          ErrorCode::kInvalidArgument,
          fmt::format("Map(fields={}) can never run: its fields have their Maps in different order, or one "
                      "of them derives from another (field \"{}\")",
                      quoted(steps[field][done(field)].map->fields), plan.fields[field].name));
  return {};
}

}  // namespace penstock
