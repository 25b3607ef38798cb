// From measured rows of the host to a profile the simulator reads: each row of the profile is a form of
// sim/domain/kernel_forms.h whose parameters make it evaluate to what was measured at the shapes measured.
//
// The host computes and moves fp32 where the simulator counts bf16; rates are given per counted byte, so times are
// right. Residuals are of the rows fitted: the profile is used at these shapes, not to extrapolate.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "calib/protocol/raw_table.h"
#include "sim/domain/cluster.h"
#include "sim/domain/profile.h"

namespace tessella::calib {

struct HostFit {
  Profile profile;
  Bandwidth link; // of the fastest collective: what the topology's scale-up link must be able to carry
};

// How often a shape runs in what the profile is for; rows that run more weigh more. 1 for all by default.
using RowWeight = std::function<double(const OpShape&)>;

// Uses cold rows of kernels and all of collectives. Rows that failed are left out. Throws InputError when nothing is
// left.
HostFit fit_host(const std::vector<RawRow>& rows, const std::string& name, const std::string& cpu,
                 const RowWeight& weight = {});

// A single node of `ranks` such "GPUs".
Cluster host_cluster(const HostFit& fit, int ranks);

// Minimises the weighted squares of y - A c over c >= 0, for few columns: every subset is tried. [row][column].
std::vector<double> non_negative_least_squares(const std::vector<std::vector<double>>& a, const std::vector<double>& y,
                                               const std::vector<double>& weight);

} // namespace tessella::calib
