#include "penstock/loader.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <initializer_list>
#include <optional>
#include <string_view>

namespace penstock {
namespace {

std::optional<std::uint32_t> number_variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) return std::nullopt;
  const std::string_view text = value;
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end == text.data()) return std::nullopt;
  return number;
}

std::optional<RankInfo> read_ranks(const char* found_by, const char* rank, const char* world,
                                   std::initializer_list<const char*> local) {
  const auto rank_value = number_variable(rank), world_value = number_variable(world);
  if (!rank_value || !world_value || *world_value == 0 || *rank_value >= *world_value) return std::nullopt;
  RankInfo info{*rank_value, *world_value, *world_value, found_by};
  for (const char* name : local)
    // Slurm writes "4(x2),3" for uneven nodes; the first number is right to within one.
    if (const auto value = number_variable(name); value && *value > 0) {
      info.local_ranks = std::min(*value, info.world_size);
      break;
    }
  return info;
}

}  // namespace

RankInfo ranks_from_environment() {
  if (auto info = read_ranks("torchrun", "RANK", "WORLD_SIZE", {"LOCAL_WORLD_SIZE"})) return *info;
  if (auto info = read_ranks("srun step", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS",
                             {"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"}))
    return *info;
  if (auto info =
          read_ranks("mpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", {"OMPI_COMM_WORLD_LOCAL_SIZE"}))
    return *info;
  if (auto info = read_ranks("mpi", "PMI_RANK", "PMI_SIZE", {"MPI_LOCALNRANKS"})) return *info;
  return {};
}

}  // namespace penstock
