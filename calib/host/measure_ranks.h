// The protocol on all ranks at once: every rank measures the same op at the same time, because in training the other
// cores are not idle either (they share memory, caches and power). Also the collectives, which need more than one.
#pragma once

#include <vector>

#include "calib/host/host_comm.h"
#include "calib/protocol/measure.h"
#include "calib/protocol/raw_table.h"

namespace tessella::calib {

// Rows of one op at one shape, per temperature: the mean over ranks of each rank's median. A case that fails its
// protocol (wrong result, throttled throughout) makes rows that say so.
std::vector<RawRow> measure_on_ranks(const OpShape& shape, int ranks, const MeasureOptions& options,
                                     const std::vector<Temperature>& temperatures);

// all_to_all, all_reduce, all_gather, reduce_scatter (dims: bytes = nccl-tests' size) or send_recv, on shape.ranks
// threads. Time is from the last rank's arrival to the end, the mean over ranks. work.bytes counts what the simulator
// counts: bf16 for all_to_all and send_recv, fp32 for gradients and their norm.
RawRow measure_collective(const OpShape& shape, const MeasureOptions& options);

// The same for ranks that share a block of memory and run elsewhere, such as processes: every rank calls it, and every
// rank gets the same row. Not for send_recv.
RawRow measure_collective_on(const OpShape& shape, HostComm& comm, const MeasureOptions& options);

// One row from the rows of several rounds: the median of medians, all samples counted. The rows must be of one shape
// and temperature; rounds that failed are left out unless all did.
RawRow pool(const std::vector<RawRow>& rounds);

} // namespace tessella::calib
