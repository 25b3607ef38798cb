#include "calib/import/nccl_tests.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "sim/base/error.h"

namespace tessella::calib {
namespace {

using Json = nlohmann::json;

// The program's name -> the op of a profile row.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kPrograms = {
    {{"all_reduce_perf", "all_reduce"},
     {"all_gather_perf", "all_gather"},
     {"reduce_scatter_perf", "reduce_scatter"},
     {"alltoall_perf", "all_to_all"},
     {"sendrecv_perf", "send_recv"}}};

std::string op_in(std::string_view text) {
  for (const auto& [program, op] : kPrograms)
    if (text.find(program) != std::string_view::npos) return std::string(op);
  return "";
}

struct Job {
  std::string op;
  std::int64_t ranks = 0;
  std::set<std::string> hosts;
};

void require(const std::string& name, const Job& job) {
  if (job.op.empty()) throw InputError(name, "does not say which collective it is; give --op all_reduce or another");
  if (job.ranks < 2) throw InputError(name, "lists fewer than two ranks; is it the output of nccl-tests?");
}

void add_row(Imported& out, const Job& job, double bytes, double time_us, double wrong) {
  if (wrong > 0.0) {
    ++out.dropped["rows with wrong elements"];
    return;
  }
  if (!(time_us > 0.0) || !(bytes > 0.0)) {
    ++out.dropped["rows without a size or a time"];
    return;
  }
  RawRow row;
  row.shape = {job.op, "nccl-tests", "", {{"bytes", static_cast<std::int64_t>(bytes)}}, job.ranks};
  row.shape.dims.emplace_back("nodes", static_cast<std::int64_t>(job.hosts.size()));
  row.measurement.temperature = Temperature::hot;
  row.measurement.summary.median = time_us * 1e-6;
  row.measurement.summary.n = 1;
  row.work.bytes = bytes;
  row.note = "mean of nccl-tests, out of place";
  out.rows.push_back(std::move(row));
}

// "#  Rank  0 Group  0 Pid   6899 on HOST device  0 [...]": older versions write "Rank  0 Pid".
void read_comment(std::string_view line, Job& job) {
  if (job.op.empty()) job.op = op_in(line);
  const std::vector<std::string_view> words = words_of(line);
  if (words.size() < 6 || words[1] != "Rank") return;
  ++job.ranks;
  for (std::size_t i = 0; i + 1 < words.size(); ++i)
    if (words[i] == "on") job.hosts.emplace(words[i + 1]);
}

double to_double(std::string_view word) {
  double value = 0.0;
  return number_after(word, "", value) ? value : 0.0;
}

Imported read_table(const std::string& name, const std::string& text, const std::string& op) {
  Job job;
  job.op = op;
  Imported out;
  std::vector<std::vector<std::string_view>> rows;
  for (const std::string_view line : lines_of(text)) {
    const std::vector<std::string_view> words = words_of(line);
    if (words.empty()) continue;
    if (words[0].starts_with('#')) {
      read_comment(line, job);
      continue;
    }
    // size count type redop root, then time algbw busbw #wrong twice: out of place, in place
    if (words.size() >= 9 && words[0].find_first_not_of("0123456789") == std::string_view::npos) {
      rows.push_back(words);
      if (words.size() >= 13) ++out.dropped["in-place results"];
    } else if (job.op.empty()) {
      job.op = op_in(line);
    } else {
      ++out.dropped["lines that are no row"];
    }
  }
  require(name, job);
  for (const auto& words : rows) add_row(out, job, to_double(words[0]), to_double(words[5]), to_double(words[8]));
  return out;
}

Imported read_json(const std::string& name, const Json& root, const std::string& op) {
  Job job;
  job.op = op;
  if (job.op.empty() && !root.at("args").empty()) job.op = op_in(root.at("args").at(0).get<std::string>());
  // Ranks stand under "config" or a "devices" list, depending on the version: any object with a rank and a host name.
  const auto collect = [&job](const auto& self, const Json& node) -> void {
    if (node.is_object() && node.contains("rank") && node.contains("hostname")) {
      ++job.ranks;
      job.hosts.insert(node.at("hostname").get<std::string>());
      return;
    }
    if (node.is_structured())
      for (const auto& child : node) self(self, child);
  };
  collect(collect, root);
  require(name, job);
  Imported out;
  for (const Json& row : root.at("results")) {
    const Json& body = row.contains("out_of_place") ? row.at("out_of_place") : Json();
    if (!body.is_object()) {
      ++out.dropped["rows without an out-of-place result"];
      continue;
    }
    if (row.contains("in_place") && row.at("in_place").is_object()) ++out.dropped["in-place results"];
    const Json& wrong = body.contains("nwrong") ? body.at("nwrong") : Json();
    add_row(out, job, row.at("size").get<double>(), body.contains("time") ? body.at("time").get<double>() : 0.0,
            wrong.is_number() ? wrong.get<double>() : 0.0);
  }
  return out;
}

} // namespace

Imported import_nccl_tests(const std::string& name, const std::string& text, const std::string& op) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || text[first] != '{') return read_table(name, text, op);
  try {
    return read_json(name, Json::parse(text), op);
  } catch (const Json::exception& error) {
    throw InputError(name, fmt::format("is not the JSON of nccl-tests: {}", error.what()));
  }
}

} // namespace tessella::calib
