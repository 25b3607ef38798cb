#include "calib/measured/coverage.h"

#include <fmt/format.h>

#include <set>

namespace tessella::calib {
namespace {

const ProfileEntry* entry_of(const Profile& profile, const OpShape& s) {
  return profile.find(s.op, s.dtype, s.ranks > 1 ? "node" : "");
}

bool is_step_op(const OpShape& s) {
  return s.op != "overlap" && s.op != "memcpy" && s.kernel != "best";
}

} // namespace

Coverage coverage_of(const Profile& profile, const std::vector<Job>& jobs) {
  Coverage c;
  double total = 0.0;
  std::set<std::string> others;
  for (const Job& job : jobs) {
    if (!is_step_op(job.shape)) continue;
    const ProfileEntry* e = entry_of(profile, job.shape);
    total += job.step_seconds;
    (e == nullptr ? c.missing : c.share[static_cast<std::size_t>(e->provenance)]) += job.step_seconds;
    if (e != nullptr && e->provenance == Provenance::measured) continue;
    others.insert(fmt::format("{}{}{}: {}", job.shape.op, job.shape.dtype.empty() ? "" : " ", job.shape.dtype,
                              e == nullptr ? "missing" : name(e->provenance)));
  }
  if (total <= 0.0) return c;
  for (double& s : c.share) s /= total;
  c.missing /= total;
  c.not_measured.assign(others.begin(), others.end());
  return c;
}

std::string to_text(const Coverage& c) {
  std::string text;
  for (int p = 0; p < kNumProvenances; ++p)
    text +=
        fmt::format("{} {:.1f} %, ", name(static_cast<Provenance>(p)), 100.0 * c.share[static_cast<std::size_t>(p)]);
  text += fmt::format("missing {:.1f} % of a step's kernel time by a roofline\n", 100.0 * c.missing);
  for (const std::string& op : c.not_measured) text += "  " + op + "\n";
  return text;
}

} // namespace tessella::calib
