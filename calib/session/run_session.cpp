#include "calib/session/run_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "sim/base/atomic_file.h"
#include "sim/base/error.h"

namespace tessella::calib {
namespace {

// The record to go on with; throws before anything in the folder is touched.
RunRecord open_record(Machine& machine, const SessionOptions& options, const std::string& path) {
  RunRecord record;
  record.device = machine.identity();
  record.date = utc_now();
  record.command = options.command;
  record.facts = machine.facts();
  if (std::filesystem::exists(path))
    return continue_record(read_run_record(path), record, options.folder, options.force);
  if (std::filesystem::exists(options.folder + "/raw.csv"))
    throw InputError(options.folder, "has measurements but no run.json that says of what device");
  std::filesystem::create_directories(options.folder);
  return record;
}

class Session {
 public:
  Session(Machine& machine, const SessionOptions& options)
      : machine_(machine), options_(options), record_path_(options.folder + "/run.json"),
        record_(open_record(machine, options, record_path_)), table_(options.folder + "/raw.csv") {
    save(); // says whose folder this is before the first row
    if (table_.cut_partial_line()) say("the last run was cut off while writing a line; that line is measured again");
  }

  SessionResult run(const std::vector<Job>& jobs) {
    const Budget budget(options_.budget_seconds);
    std::size_t next = 0;
    for (; next < jobs.size() && !budget.spent() && !stop(); ++next) one(jobs[next].shape, next, jobs.size());
    tell(Decision::end);
    for (; next < jobs.size(); ++next) skip(jobs[next].shape);
    result_.interrupted = stop();
    record_.complete = record_.left_out.empty();
    save();
    return result_;
  }

 private:
  bool stop() const { return options_.interrupted != nullptr && *options_.interrupted; }
  void tell(Decision d) const {
    if (options_.tell) options_.tell(d);
  }
  void say(const std::string& line) const {
    if (options_.say) options_.say(line);
  }
  bool known(const OpShape& shape) const {
    return table_.has(shape, Temperature::cold) || table_.has(shape, Temperature::hot);
  }
  bool impossible(const OpShape& shape) {
    std::string why;
    if (machine_.can_measure(shape, why)) return false;
    ++result_.cannot;
    const std::string line = fmt::format("{} {}: {}", shape.op, shape.kernel, why);
    if (reasons_.insert(line).second) record_.not_measured.push_back(line);
    return true;
  }

  void one(const OpShape& shape, std::size_t index, std::size_t all) {
    const bool possible = !impossible(shape);
    if (possible && known(shape)) ++result_.known;
    if (!possible || known(shape)) {
      tell(Decision::skip);
      return;
    }
    tell(Decision::measure);
    for (const RawRow& row : machine_.measure(shape, options_.measure)) {
      table_.append(row);
      if (row.status != RowStatus::ok && row.status != RowStatus::unsupported) ++result_.failed;
      say(line_of(row, index, all));
    }
    ++result_.measured;
  }

  void skip(const OpShape& shape) {
    if (impossible(shape)) return;
    if (known(shape)) {
      ++result_.known;
      return;
    }
    ++result_.left_out;
    record_.left_out.push_back(shape.text());
  }

  static std::string line_of(const RawRow& row, std::size_t index, std::size_t all) {
    const Measurement& m = row.measurement;
    const std::string what =
        row.status == RowStatus::ok
            ? fmt::format("{:9.2f} us +-{:.1f} %  {:7.1f} TFLOPS {:7.0f} GB/s  n={} dropped={}", 1e6 * m.summary.median,
                          100.0 * std::min(m.summary.ci95, 9.99), row.work.flops / m.summary.median * 1e-12,
                          row.work.bytes / m.summary.median * 1e-9, m.summary.n, m.throttled)
            : fmt::format("{}: {}", name(row.status), row.note);
    return fmt::format("[{}/{}] {} {}: {}", index + 1, all, row.shape.text(), name(m.temperature), what);
  }

  void save() { write_file(record_path_, to_json(record_)); }

  Machine& machine_;
  const SessionOptions& options_;
  std::string record_path_;
  RunRecord record_;
  RawTable table_;
  SessionResult result_;
  std::set<std::string> reasons_;
};

} // namespace

SessionResult run_session(Machine& machine, const std::vector<Job>& jobs, const SessionOptions& options) {
  return Session(machine, options).run(jobs);
}

void follow_session(Machine& machine, const std::vector<Job>& jobs, const MeasureOptions& options,
                    const std::function<Decision()>& hear) {
  for (const Job& job : jobs) {
    const Decision decision = hear();
    if (decision == Decision::end) return;
    if (decision == Decision::measure) machine.measure(job.shape, options);
  }
  hear(); // the end
}

} // namespace tessella::calib
