#include "sim/config/validation_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>

#include "sim/base/error.h"
#include "sim/config/csv.h"
#include "sim/config/file_role.h"

namespace tessella {
namespace {

struct TextColumn {
  const char* name;
  std::string MeasuredRun::*field;
};
constexpr TextColumn kText[] = {
    {"id", &MeasuredRun::id},
    {"group", &MeasuredRun::group},
    {"usable", &MeasuredRun::usable},
    {"model", &MeasuredRun::model},
    {"gpu", &MeasuredRun::gpu},
    {"network", &MeasuredRun::network},
    {"precision", &MeasuredRun::precision},
    {"sharding", &MeasuredRun::sharding},
    {"recompute", &MeasuredRun::recompute},
    {"dispatcher", &MeasuredRun::dispatcher},
    {"overlap", &MeasuredRun::overlap},
    {"routing", &MeasuredRun::routing},
    {"framework", &MeasuredRun::framework},
    {"sw", &MeasuredRun::sw},
};
struct CountColumn {
  const char* name;
  std::optional<std::int64_t> MeasuredRun::*field;
};
constexpr CountColumn kCounts[] = {
    {"layers", &MeasuredRun::layers}, {"gpus", &MeasuredRun::gpus}, {"gpus_per_node", &MeasuredRun::gpus_per_node},
    {"seq", &MeasuredRun::seq},       {"gbs", &MeasuredRun::gbs},   {"mbs", &MeasuredRun::mbs},
    {"tp", &MeasuredRun::tp},         {"pp", &MeasuredRun::pp},     {"vpp", &MeasuredRun::vpp},
    {"cp", &MeasuredRun::cp},         {"ep", &MeasuredRun::ep},     {"etp", &MeasuredRun::etp},
    {"dp", &MeasuredRun::dp},
};
struct RateColumn {
  const char* name;
  std::optional<double> MeasuredRun::*field;
};
constexpr RateColumn kRates[] = {
    {"step_s", &MeasuredRun::step_s},
    {"tokens_s_gpu", &MeasuredRun::tokens_s_gpu},
    {"tflops_per_gpu", &MeasuredRun::tflops_per_gpu},
};
constexpr const char* kRequired[] = {"id", "group", "model", "gpu", "gpus", "seq", "gbs", "tp", "pp"};

constexpr double kLargestCount = 1e15;
constexpr double kSameWork = 0.05; // step_s and tokens_s_gpu may differ by rounding and by warm-up steps

// All mistakes of a file become one InputError, the first with the others as notes.
class Mistakes {
 public:
  explicit Mistakes(const Source& source) : source_(source) {}
  void add(int line, std::string text) { all_.emplace_back(line, std::move(text)); }
  void done() const {
    if (all_.empty()) return;
    std::vector<Note> notes;
    for (std::size_t i = 1; i < all_.size() && i < kShown; ++i)
      notes.push_back({csv_line(source_, all_[i].first), all_[i].second});
    if (all_.size() > kShown) notes.push_back({std::nullopt, fmt::format("and {} more", all_.size() - kShown)});
    throw InputError(csv_line(source_, all_.front().first), all_.front().second, notes);
  }

 private:
  static constexpr std::size_t kShown = 10;
  const Source& source_;
  std::vector<std::pair<int, std::string>> all_;
};

std::optional<double> number(const std::string& text) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

// Position of every wanted column; nothing where the file lacks it.
class Columns {
 public:
  explicit Columns(const CsvTable& table) : table_(table) {}
  bool has(const std::string& name) const { return find(name) < table_.columns.size(); }
  const std::string& of(const CsvRow& row, const std::string& name) const {
    static const std::string none;
    const std::size_t i = find(name);
    return i < row.fields.size() ? row.fields[i] : none;
  }

 private:
  std::size_t find(const std::string& name) const {
    return static_cast<std::size_t>(std::find(table_.columns.begin(), table_.columns.end(), name) -
                                    table_.columns.begin());
  }
  const CsvTable& table_;
};

void require(const Source& source, const Columns& columns, std::initializer_list<const char*> names) {
  Mistakes mistakes(source);
  for (const char* name : names)
    if (!columns.has(name)) mistakes.add(1, fmt::format("there is no column '{}'", name));
  mistakes.done();
}

void contradict(MeasuredRun& run) {
  const auto say = [&run](std::string text) { run.contradictions.push_back(std::move(text)); };
  if (run.gpus && run.tp && run.pp && run.dp) {
    const std::int64_t cp = run.cp.value_or(1);
    const std::int64_t product = *run.tp * *run.pp * cp * *run.dp;
    if (product != *run.gpus)
      say(fmt::format("gpus {} is not tp {} * pp {} * cp {} * dp {} = {}", *run.gpus, *run.tp, *run.pp, cp, *run.dp,
                      product));
  }
  if (run.gbs && run.mbs && run.dp && *run.gbs % (*run.mbs * *run.dp) != 0)
    say(fmt::format("gbs {} is not a multiple of mbs {} * dp {}", *run.gbs, *run.mbs, *run.dp));
  if (run.step_s && run.tokens_s_gpu && run.gbs && run.seq && run.gpus) {
    const double tokens = static_cast<double>(*run.gbs) * static_cast<double>(*run.seq);
    const double implied = tokens / *run.step_s / static_cast<double>(*run.gpus);
    if (std::abs(implied / *run.tokens_s_gpu - 1.0) > kSameWork)
      say(fmt::format("step_s {} means {:.5g} tokens/s per GPU, not {}", *run.step_s, implied, *run.tokens_s_gpu));
  }
}

MeasuredRun read_run(const CsvRow& row, const Columns& columns, Mistakes& mistakes) {
  MeasuredRun run;
  run.line = row.line;
  for (const TextColumn& c : kText) run.*c.field = columns.of(row, c.name);
  const auto positive = [&](const char* name, const std::string& cell) {
    const std::optional<double> value = number(cell);
    if (!value)
      mistakes.add(row.line, fmt::format("{}: '{}' is not a number", name, cell));
    else if (*value <= 0.0)
      mistakes.add(row.line, fmt::format("{}: {} is not above 0", name, cell));
    else
      return value;
    return std::optional<double>{};
  };
  for (const CountColumn& c : kCounts) {
    const std::string& cell = columns.of(row, c.name);
    if (cell.empty()) continue;
    const std::optional<double> value = positive(c.name, cell);
    if (!value) continue;
    if (*value != std::floor(*value) || *value > kLargestCount)
      mistakes.add(row.line, fmt::format("{}: {} is not a whole number", c.name, cell));
    else
      run.*c.field = static_cast<std::int64_t>(*value);
  }
  for (const RateColumn& c : kRates)
    if (const std::string& cell = columns.of(row, c.name); !cell.empty()) run.*c.field = positive(c.name, cell);
  for (const auto field : {&MeasuredRun::id, &MeasuredRun::group, &MeasuredRun::model, &MeasuredRun::gpu})
    if ((run.*field).empty()) mistakes.add(row.line, "id, group, model and gpu may not be empty");
  contradict(run);
  return run;
}

} // namespace

std::vector<MeasuredRun> load_measured_runs_text(const std::string& file_name, const std::string& text) {
  const Source source = Source::file(file_name, text);
  const CsvTable table = read_csv(source);
  const Columns columns(table);
  Mistakes mistakes(source);
  for (const char* name : kRequired)
    if (!columns.has(name)) mistakes.add(1, fmt::format("there is no column '{}'", name));
  if (std::none_of(std::begin(kRates), std::end(kRates), [&](const RateColumn& c) { return columns.has(c.name); }))
    mistakes.add(1, "there is no column 'step_s', 'tokens_s_gpu' or 'tflops_per_gpu'");
  mistakes.done();
  std::vector<MeasuredRun> runs;
  std::map<std::string, int> seen;
  for (const CsvRow& row : table.rows) {
    runs.push_back(read_run(row, columns, mistakes));
    const auto [first, is_new] = seen.emplace(runs.back().id, row.line);
    if (!is_new) mistakes.add(row.line, fmt::format("id '{}' is already in line {}", first->first, first->second));
  }
  mistakes.done();
  return runs;
}

std::vector<ModelAlias> load_model_aliases_text(const std::string& file_name, const std::string& text) {
  const Source source = Source::file(file_name, text);
  const CsvTable table = read_csv(source);
  const Columns columns(table);
  require(source, columns, {"name", "model", "reason"});
  Mistakes mistakes(source);
  std::vector<ModelAlias> aliases;
  for (const CsvRow& row : table.rows) {
    aliases.push_back({columns.of(row, "name"), columns.of(row, "model"), columns.of(row, "reason")});
    if (aliases.back().model.empty() == aliases.back().reason.empty())
      mistakes.add(row.line, "a name has either a model or a reason why there is none");
  }
  mistakes.done();
  return aliases;
}

std::vector<MeasuredRun> load_measured_runs(const std::filesystem::path& file) {
  const std::string text = read_file(file);
  require_role(display_path(file), text, FileRole::measured_runs);
  return load_measured_runs_text(display_path(file), text);
}

std::vector<ModelAlias> load_model_aliases(const std::filesystem::path& file) {
  return load_model_aliases_text(display_path(file), read_file(file));
}

} // namespace tessella
