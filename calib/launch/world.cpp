#include "calib/launch/world.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <optional>

#include "sim/base/error.h"

namespace tessella::calib {
namespace {

struct Launcher {
  const char* name;
  const char* rank;
  const char* size;
  const char* local_rank;
};

// torchrun first: under srun, its variables are the ones that count.
constexpr Launcher kLaunchers[] = {
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK"},
    {"srun", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"},
    {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
    {"pmi", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
};

std::optional<int> number(const Environment& get, const char* name) {
  const char* text = get(name);
  if (text == nullptr) return std::nullopt;
  int value = 0;
  const char* end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, value);
  if (error != std::errc{} || stop != end || value < 0)
    throw InputError(name, fmt::format("'{}' is not a number", text));
  return value;
}

} // namespace

World world_from(const Environment& get) {
  for (const Launcher& l : kLaunchers) {
    const std::optional<int> rank = number(get, l.rank);
    const std::optional<int> size = number(get, l.size);
    if (!rank && !size) continue;
    // salloc sets the size for a shell that is no rank.
    if (!rank && std::strcmp(l.name, "srun") == 0) continue;
    if (!rank || !size)
      throw InputError(rank ? l.rank : l.size, fmt::format("is set, but {} is not", rank ? l.size : l.rank));
    if (*rank >= *size) throw InputError(l.rank, fmt::format("{} is not below {}={}", *rank, l.size, *size));
    const std::optional<int> local = number(get, l.local_rank);
    return {*rank, *size, local.value_or(0), l.name};
  }
  return {};
}

} // namespace tessella::calib
