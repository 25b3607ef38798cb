// What runs in each phase of a job to which something happens: the steps between two changes, the scenario that holds
// in them, and its program with everything the events do to it.
//
//   slow_gpu, slow_nic, slow_link, failed_rail   handicaps of ranks; how much a slower NIC or port costs is the ratio
//                                                of two costings of the whole program, per kind of collective
//   jitter, move_layers                          another scenario
//   dense_circuit                                the gradient and parameter collectives of dense weights, costed at its
//                                                bandwidth
//   work_stealing                                expert ops are evened out inside a node; the toll is tokens out and
//                                                back and the weights, over the scale-up links, per time of the work
#pragma once

#include <cstdint>
#include <vector>

#include "sim/domain/scenario.h"
#include "sim/planner/overlap/overlap_list.h"
#include "sim/planner/simulate.h"

namespace tessella {

// Steps [first, first + count) to which the same events happen, in order of the events; all steps of the scenario.
struct Phase {
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::vector<std::size_t> events; // indices into Scenario::events
  bool operator==(const Phase&) const = default;
};
std::vector<Phase> phases_of(const Scenario& scenario);

// Where the layers are in this phase; `planned` where no event says otherwise.
const Partition& partition_in(const Scenario& scenario, const Phase& phase, const Partition& planned);

// The optical circuit of this phase; nullptr when none is set up.
const DenseCircuit* circuit_in(const Scenario& scenario, const Phase& phase);

// Partition and jitter as they are in this phase.
Scenario scenario_in(const Scenario& scenario, const Phase& phase, const Partition& planned);

// The program of a step, `now` being scenario_in() of the phase. One or two lowerings, and one more for a slower port.
LoweredStep lower_phase(const Scenario& scenario, const Phase& phase, const Scenario& now, const Schedule& schedule,
                        unsigned threads, const AlignRule& align);

// How long the state of the layers that change their pipeline rank is on its way: all GPUs of a pipeline rank send and
// receive at once, each its share of weights and optimizer, through its NIC.
Duration move_time(const Scenario& scenario, const Partition& from, const Partition& to);

} // namespace tessella
