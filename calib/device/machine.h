// What `tessella-calib run` measures on: a GPU through CUDA, or this host's cores. One interface, so that protocol,
// files, order of work and resuming are the same on both.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "calib/protocol/measure.h"
#include "calib/protocol/raw_table.h"
#include "calib/protocol/run_record.h"

namespace tessella::calib {

class Machine {
 public:
  virtual ~Machine() = default;
  virtual DeviceIdentity identity() const = 0;
  virtual std::vector<std::pair<std::string, std::string>> facts() const = 0;
  // Whether there is a kernel for this op here, and enough ranks; otherwise why not.
  virtual bool can_measure(const OpShape& shape, std::string& why_not) const = 0;
  // One row per temperature that the op has. A case that fails is a row that says so; only a machine that cannot go on
  // at all throws.
  virtual std::vector<RawRow> measure(const OpShape& shape, const MeasureOptions& options) = 0;
};

// No GPU, no driver, or one that does not fit; the message says which, and what to do.
class NoDevice : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Rendezvous;

struct CudaPlace {
  int device = 0; // local rank, when every process sees all GPUs
  int rank = 0;
  int world = 1;                    // with one process, collectives run over GPUs of the machine
  Rendezvous* rendezvous = nullptr; // with several
  int gpus = 0;                     // with one process, over so many GPUs; 0: all
};

// The GPU at a place. Throws NoDevice. Where the program was built without CUDA, always.
std::unique_ptr<Machine> cuda_machine(const CudaPlace& place);

// Names of the GPU benches in this build: op and kernel. Empty when it was built without CUDA.
std::vector<std::pair<std::string, std::string>> cuda_ops();

// This host with `ranks` threads that stand for ranks.
std::unique_ptr<Machine> host_machine(int ranks);

} // namespace tessella::calib
