#include "calib/protocol/run_record.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>

#include "sim/base/error.h"

namespace tessella::calib {
namespace {

using Json = nlohmann::ordered_json;

std::string device_text(const DeviceIdentity& d) {
  return fmt::format("{} ({})", d.gpu, d.backend);
}

} // namespace

std::string to_json(const RunRecord& r) {
  Json facts = Json::object();
  for (const auto& [key, value] : r.facts) facts[key] = value;
  const Json root = {{"device",
                      {{"backend", r.device.backend},
                       {"gpu", r.device.gpu},
                       {"driver", r.device.driver},
                       {"cuda", r.device.cuda},
                       {"nccl", r.device.nccl}}},
                     {"date", r.date},
                     {"command", r.command},
                     {"facts", facts},
                     {"left_out", r.left_out},
                     {"not_measured", r.not_measured},
                     {"mixed_with", r.mixed_with},
                     {"complete", r.complete}};
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

RunRecord read_run_record(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw InputError(path, "cannot open");
  try {
    const Json root = Json::parse(in);
    RunRecord r;
    const Json& d = root.at("device");
    r.device = {d.at("backend"), d.at("gpu"), d.at("driver"), d.at("cuda"), d.at("nccl")};
    r.date = root.at("date");
    r.command = root.at("command");
    for (const auto& [key, value] : root.at("facts").items()) r.facts.emplace_back(key, value);
    r.left_out = root.at("left_out");
    r.not_measured = root.at("not_measured");
    r.mixed_with = root.at("mixed_with");
    r.complete = root.at("complete");
    return r;
  } catch (const Json::exception& error) {
    throw InputError(path, fmt::format("is not the record of a run: {}", error.what()));
  }
}

RunRecord continue_record(const RunRecord& old, RunRecord fresh, const std::string& folder, bool force) {
  const bool same = old.device.gpu == fresh.device.gpu && old.device.backend == fresh.device.backend;
  if (!same && !force)
    throw InputError(folder, fmt::format("holds measurements of {}, this is {}; choose another folder, or --force to "
                                         "mix them (the profile is then marked)",
                                         device_text(old.device), device_text(fresh.device)));
  fresh.mixed_with = old.mixed_with;
  const std::string other = device_text(fresh.device);
  if (!same && std::find(fresh.mixed_with.begin(), fresh.mixed_with.end(), other) == fresh.mixed_with.end())
    fresh.mixed_with.push_back(other);
  if (old.device != fresh.device)
    fresh.facts.emplace_back("continued_with", fmt::format("driver {}, CUDA {}, NCCL {}", fresh.device.driver,
                                                           fresh.device.cuda, fresh.device.nccl));
  fresh.device = old.device;
  fresh.date = old.date;
  return fresh;
}

std::string utc_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now));
}

} // namespace tessella::calib
