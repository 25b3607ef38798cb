#include "sim/cli/sweep_run.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "sim/base/check.h"
#include "sim/base/error.h"
#include "sim/base/sha256.h"
#include "sim/cli/progress.h"
#include "sim/planner/simulate.h"

namespace tessella {
namespace {

constexpr auto kBatchTime = std::chrono::milliseconds(250);
constexpr std::size_t kBatchRows = 500;

struct Todo {
  std::int64_t point = 0;
  std::string key;
};

std::string joined(const std::vector<std::string>& overrides) {
  std::string out;
  for (const std::string& text : overrides) out += (out.empty() ? "" : "\n") + text;
  return out;
}

std::string missing_text(const NotCovered& error) {
  std::string out = error.what();
  for (const std::string& row : error.missing()) out += "; " + row;
  return out;
}

// Rows on their way from the workers to the one thread that writes.
class Mailbox {
 public:
  void put(ResultRow row) {
    const std::lock_guard lock(mutex_);
    rows_.push_back(std::move(row));
    if (rows_.size() >= kBatchRows) filled_.notify_one();
  }
  void worker_ends(std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    ++ended_;
    if (error && !error_) error_ = std::move(error);
    filled_.notify_one();
  }
  // What has come in a quarter of a second, or earlier when it is a batch or everyone has ended.
  std::vector<ResultRow> take(std::size_t workers) {
    std::unique_lock lock(mutex_);
    filled_.wait_for(lock, kBatchTime, [&] { return rows_.size() >= kBatchRows || ended_ == workers; });
    return std::exchange(rows_, {});
  }
  bool done(std::size_t workers) {
    const std::lock_guard lock(mutex_);
    return ended_ == workers && rows_.empty();
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable filled_;
  std::vector<ResultRow> rows_;
  std::size_t ended_ = 0;
  std::exception_ptr error_;
};

ResultRow compute(const SweepJob& job, const Todo& todo) {
  const std::vector<std::string> overrides = job.points.overrides(todo.point);
  ResultRow row{todo.key, job.spec.name, job.spec.experiment, job.tool, joined(overrides), {}, {}, {}};
  try {
    const Scenario scenario = job.cache.load(overrides);
    fill(row, scenario, simulate(scenario, RunOptions{}));
  } catch (const InputError& error) {
    row.status = "illegal";
    row.reason = error.message();
  } catch (const InfeasiblePlan& error) {
    row.status = "does_not_fit";
    row.reason = error.what();
  } catch (const NotCovered& error) {
    row.status = "not_covered";
    row.reason = missing_text(error);
  } catch (const InternalError& error) {
    row.status = "error";
    row.reason = error.what();
  }
  return row;
}

// Keys of this shard's points, each once, and those the database lacks.
std::vector<Todo> missing_points(const SweepJob& job, const ResultsDb& db, SweepOutcome& outcome) {
  const std::unordered_set<std::string> have = db.keys();
  std::unordered_set<std::string> seen; // membership only
  std::vector<Todo> todo;
  for (std::int64_t i = job.shard.index; i < job.points.size(); i += job.shard.count) {
    std::string key = sha256_hex(job.tool + "\n" + job.cache.digest(job.points.overrides(i)));
    if (!seen.insert(key).second) continue;
    outcome.keys.push_back(key);
    if (have.contains(key))
      ++outcome.found;
    else
      todo.push_back({i, std::move(key)});
  }
  return todo;
}

} // namespace

SweepOutcome run_sweep(const SweepJob& job, ResultsDb& db) {
  SweepOutcome outcome;
  const std::vector<Todo> todo = missing_points(job, db, outcome);
  const std::size_t workers = std::min<std::size_t>(job.threads, todo.size());
  std::atomic<std::size_t> next{0};
  std::atomic<bool> give_up{false};
  const std::atomic<bool>& interrupted = interrupt_flag();
  Mailbox mailbox;
  const auto work = [&] {
    std::exception_ptr error;
    try {
      for (std::size_t i; !interrupted && !give_up && (i = next++) < todo.size();) mailbox.put(compute(job, todo[i]));
    } catch (...) {
      error = std::current_exception();
      give_up = true;
    }
    mailbox.worker_ends(error);
  };
  std::vector<std::jthread> threads;
  for (std::size_t w = 0; w < workers; ++w) threads.emplace_back(work);
  Progress progress("sweep '" + job.spec.name + "': scenarios");
  try {
    while (!mailbox.done(workers)) {
      const std::vector<ResultRow> rows = mailbox.take(workers);
      db.insert(rows);
      outcome.computed += static_cast<std::int64_t>(rows.size());
      progress.update(outcome.computed, static_cast<std::int64_t>(todo.size()));
    }
  } catch (...) {
    give_up = true; // the workers end before their threads are joined
    throw;
  }
  mailbox.rethrow();
  outcome.interrupted = interrupted && outcome.computed < static_cast<std::int64_t>(todo.size());
  return outcome;
}

} // namespace tessella
