#include "tests/support/simgrid_flows.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <memory>
#include <simgrid/s4u.hpp>
#include <string>

namespace tessella::testing {
namespace {

namespace sg = simgrid::s4u;

// CM02 is max-min sharing of raw bandwidths; no TCP window, no cross traffic. All rates are solved anew at every event:
// the default lazy updates of SimGrid 3.32 overfilled a link threefold in one of our cases (with latencies on the
// links).
std::unique_ptr<sg::Engine> make_engine() {
  static char program[] = "flows";
  static char model[] = "--cfg=network/model:CM02";
  static char gamma[] = "--cfg=network/TCP-gamma:0";
  static char crosstraffic[] = "--cfg=network/crosstraffic:0";
  static char update[] = "--cfg=network/optim:Full";
  static char stacks[] = "--cfg=contexts/stack-size:128"; // KiB an actor; hundreds of them
  static char quiet[] = "--log=root.thresh:critical";
  static char* argv[] = {program, model, gamma, crosstraffic, update, stacks, quiet, nullptr};
  int argc = 7;
  return std::make_unique<sg::Engine>(&argc, argv);
}

// One host pair per flow, joined by the links of the flow's route. The sender waits out the path's latency itself:
// SimGrid would share links in inverse proportion to it, as TCP does.
struct Job {
  sg::Host* from = nullptr;
  sg::Host* to = nullptr;
  double bytes = 0.0;
  double start = 0.0;
  double* end = nullptr;
};

Job add_flow(sg::NetZone* zone, const SimgridCase& c, const Flow& flow, std::size_t number, const std::string& prefix,
             std::map<int, sg::Link*>& links, double* end) {
  const std::vector<Path> paths = c.graph.paths(flow.from, flow.to, Routing::fixed, number);
  std::vector<sg::LinkInRoute> route;
  for (const LinkIndex l : paths.at(0)) {
    const GraphLink& link = c.graph.links()[static_cast<std::size_t>(l.value)];
    if (!std::isfinite(link.bandwidth.bytes_per_second)) continue;
    sg::Link*& made = links[l.value];
    if (made == nullptr)
      made = zone->create_link(fmt::format("{}l{}", prefix, l.value), link.bandwidth.bytes_per_second)->seal();
    route.emplace_back(made);
  }
  Job job;
  job.from = zone->create_host(fmt::format("{}a{}", prefix, number), 1e9)->seal();
  job.to = zone->create_host(fmt::format("{}b{}", prefix, number), 1e9)->seal();
  zone->add_route(job.from->get_netpoint(), job.to->get_netpoint(), nullptr, nullptr, route, false);
  job.bytes = static_cast<double>(flow.size.count);
  job.start = (flow.start + latency(c.graph, paths.at(0))).seconds();
  job.end = end;
  return job;
}

} // namespace

std::vector<std::vector<double>> simgrid_arrivals(const std::vector<SimgridCase>& cases) {
  const auto engine = make_engine();
  sg::NetZone* zone = sg::create_full_zone("world");
  std::vector<std::vector<double>> ends;
  std::vector<Job> jobs;
  for (const SimgridCase& c : cases) ends.emplace_back(c.flows.size());
  for (std::size_t i = 0; i < cases.size(); ++i) {
    std::map<int, sg::Link*> links;
    for (std::size_t f = 0; f < cases[i].flows.size(); ++f)
      jobs.push_back(add_flow(zone, cases[i], cases[i].flows[f], f, fmt::format("c{}_", i), links, &ends[i][f]));
  }
  zone->seal();
  for (const Job& job : jobs)
    sg::Actor::create("send", job.from, [job] {
      simgrid::s4u::this_actor::sleep_until(job.start);
      sg::Comm::sendto(job.from, job.to, static_cast<std::uint64_t>(job.bytes));
      *job.end = sg::Engine::get_clock();
    });
  engine->run();
  return ends;
}

} // namespace tessella::testing
