// tessella import simai and chakra: what other tools' workloads and traces send.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "sim/base/atomic_file.h"
#include "sim/base/error.h"
#include "sim/cli/exit_code.h"
#include "sim/cli/import_jobs.h"
#include "sim/config/file_role.h"
#include "sim/config/import_chakra.h"
#include "sim/config/import_simai.h"
#include "sim/config/source.h"
#include "sim/report/comm_ledger.h"

namespace tessella {
namespace {

// The table on standard output, unless the CSV goes there.
void print_ledger(const ImportFlags& flags, const CommLedger& ledger) {
  if (flags.csv == "-")
    fmt::print("{}", comm_ledger_csv(ledger));
  else if (!flags.csv.empty())
    write_file(flags.csv, comm_ledger_csv(ledger));
  if (flags.csv != "-") fmt::print("{}", comm_ledger_text(ledger));
}

// By its beginning: the rest may be large.
void require_chakra(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::string beginning(4096, '\0');
  in.read(beginning.data(), static_cast<std::streamsize>(beginning.size()));
  beginning.resize(static_cast<std::size_t>(in.gcount()));
  require_role(display_path(file), beginning, FileRole::chakra);
}

} // namespace

int from_simai(const ImportFlags& flags) {
  const SimaiWorkload w = parse_simai(display_path(flags.file), read_file(flags.file));
  list_flags("ignored words of the header", w.ignored);
  print_ledger(flags, ledger_of(w));
  const Parallelism& p = w.parallelism;
  fmt::print(stderr, "{} GPUs: tp {}, pp {}, vpp {}, ep {}, dp {}; {} micro-batches; {} bytes between stages\n",
             p.world_size, p.tp, p.pp, p.vpp, p.ep, p.dp(), w.micro_batches, w.pp_message.count);
  if (flags.out.empty()) return kExitOk;
  if (flags.model.empty() || flags.seq_length == 0)
    throw InputError("-o", "an experiment also needs --model and --seq, which a SimAI workload does not name");
  SimaiJob job;
  job.name = name_of(flags, "imported");
  job.model = flags.model;
  job.topology = flags.topology.empty() ? "hopper_rail_12288" : flags.topology;
  job.profile = flags.profile.empty() ? "h100_sxm/2026-11-29-published" : flags.profile;
  job.micro_batch_size = flags.micro_batch_size;
  job.seq_length = flags.seq_length;
  write_file(flags.out, experiment_of(w, job));
  return kExitOk;
}

int from_chakra(const ImportFlags& flags) {
  std::error_code error;
  std::ifstream in(flags.file, std::ios::binary);
  if (!in || std::filesystem::is_directory(flags.file, error))
    throw InputError(SourceSpan{flags.file, 0, 0, 0, {}}, "cannot be read");
  if (std::filesystem::is_regular_file(flags.file, error)) require_chakra(flags.file);
  const ChakraTrace trace = read_chakra(flags.file, in);
  print_ledger(flags, trace.ledger);
  fmt::print(stderr,
             "schema {}: {} nodes of one rank, {} of them compute; compute, dependencies and times are dropped\n",
             trace.version, trace.nodes, trace.compute_nodes);
  if (trace.without_size > 0)
    fmt::print(stderr, "warning: {} communication nodes do not say their size and count as 0 bytes\n",
               trace.without_size);
  return kExitOk;
}

} // namespace tessella
