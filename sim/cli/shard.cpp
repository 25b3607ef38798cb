#include "sim/cli/shard.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>

#include "sim/base/error.h"

namespace tessella {
namespace {

std::int64_t whole(const std::string& what, const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    throw InputError(what, fmt::format("'{}' is not a whole number", text));
  return value;
}

std::optional<std::int64_t> from_environment(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return std::nullopt;
  return whole(name, text);
}

Shard checked(Shard shard) {
  if (shard.count < 1 || shard.index < 0 || shard.index >= shard.count)
    throw InputError(
        shard.from, fmt::format("there is no shard {} of {}; shards are 0 to n-1, e.g. 0/8", shard.index, shard.count));
  return shard;
}

} // namespace

Shard shard_of(const std::string& flag, std::optional<std::int64_t> shards) {
  if (!flag.empty()) {
    const std::size_t slash = flag.find('/');
    if (slash == std::string::npos) throw InputError("--shard", fmt::format("'{}' is not k/n, e.g. 0/8", flag));
    return checked({whole("--shard", flag.substr(0, slash)), whole("--shard", flag.substr(slash + 1)), "--shard"});
  }
  if (const auto task = from_environment("SLURM_ARRAY_TASK_ID")) {
    const std::int64_t first = from_environment("SLURM_ARRAY_TASK_MIN").value_or(0);
    const std::int64_t step = std::max<std::int64_t>(1, from_environment("SLURM_ARRAY_TASK_STEP").value_or(1));
    const auto count = shards ? shards : from_environment("SLURM_ARRAY_TASK_COUNT");
    if (!count) throw InputError("SLURM_ARRAY_TASK_ID", "is set without SLURM_ARRAY_TASK_COUNT; give --shards N");
    return checked({(*task - first) / step, *count, "SLURM_ARRAY_TASK_ID"});
  }
  if (const auto pod = from_environment("JOB_COMPLETION_INDEX")) {
    if (!shards) throw InputError("JOB_COMPLETION_INDEX", "is set; give --shards N, the completions of the job");
    return checked({*pod, *shards, "JOB_COMPLETION_INDEX"});
  }
  if (shards && *shards != 1)
    throw InputError("--shards", "is given, but no array job says which of them this is; use --shard k/n");
  return {};
}

} // namespace tessella
