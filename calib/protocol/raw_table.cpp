#include "calib/protocol/raw_table.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "calib/fit/csv.h"
#include "sim/base/error.h"
#include "sim/base/nearest.h"

namespace tessella::calib {
namespace {

constexpr std::array kStatusNames = {"ok", "wrong_result", "out_of_memory", "throttled", "failed", "unsupported"};

// Quoted where a comma, quote or line break would confuse a reader; line breaks become blanks.
std::string csv_text(std::string text) {
  bool quote = false;
  std::string out;
  for (char& c : text) {
    if (c == '\n' || c == '\r') c = ' ';
    if (c == ',' || c == '"') quote = true;
    out += c;
    if (c == '"') out += '"';
  }
  return quote ? '"' + out + '"' : out;
}

std::string maybe(const std::optional<double>& value) {
  return value ? fmt::format("{:.6g}", *value) : "";
}

template <class Parse>
auto checked(const Table& table, std::size_t row, const std::string& column, Parse parse) {
  try {
    return parse(table.text(row, column));
  } catch (const std::invalid_argument& error) {
    table.fail(row, column, error.what());
  }
}

RowStatus parse_status(const std::string& text) {
  for (std::size_t i = 0; i < kStatusNames.size(); ++i)
    if (text == kStatusNames[i]) return static_cast<RowStatus>(i);
  const std::vector<std::string> names(kStatusNames.begin(), kStatusNames.end());
  throw std::invalid_argument(fmt::format("unknown status '{}'{}", text, did_you_mean(text, names)));
}

Temperature parse_temperature(const std::string& text) {
  if (text == "cold") return Temperature::cold;
  if (text == "hot") return Temperature::hot;
  throw std::invalid_argument(fmt::format("'{}' is neither cold nor hot", text));
}

RawRow row_of(const Table& t, std::size_t i) {
  RawRow r;
  r.shape.op = t.text(i, "op");
  r.shape.kernel = t.text(i, "kernel");
  r.shape.dtype = t.text(i, "dtype");
  r.shape.dims = checked(t, i, "dims", parse_dims);
  r.shape.ranks = t.whole(i, "ranks");
  Measurement& m = r.measurement;
  m.temperature = checked(t, i, "temperature", parse_temperature);
  m.summary = {t.number(i, "median_s"), t.number(i, "mad_s"), t.number(i, "ci95"),
               static_cast<std::int64_t>(t.number(i, "n")), static_cast<std::int64_t>(t.number(i, "outliers"))};
  m.throttled = static_cast<std::int64_t>(t.number(i, "throttled"));
  m.batch = t.whole(i, "batch");
  r.work = {t.number(i, "flops"), t.number(i, "bytes"), static_cast<std::size_t>(t.number(i, "footprint"))};
  m.error = t.number(i, "error");
  m.clock_mhz = t.maybe_positive(i, "clock_mhz");
  m.power_w = t.maybe_positive(i, "power_w");
  m.temperature_c = t.maybe_positive(i, "temperature_c");
  r.status = checked(t, i, "status", parse_status);
  r.note = t.text(i, "note");
  if (r.status == RowStatus::ok && !(m.summary.median > 0.0)) t.fail(i, "median_s", "a time that is not positive");
  return r;
}

std::vector<RawRow> parse_rows(const std::string& path, const std::string& text) {
  const Table table = Table::parse(path, text);
  std::vector<RawRow> rows;
  for (std::size_t i = 0; i < table.rows(); ++i) rows.push_back(row_of(table, i));
  return rows;
}

void write_all(int file, const std::string& path, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(file, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0)
      throw InputError(path, fmt::format("cannot write: {}; what was measured before is kept, and the same command "
                                         "resumes there",
                                         std::strerror(errno)));
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

} // namespace

const char* name(RowStatus s) {
  return kStatusNames[static_cast<std::size_t>(s)];
}

std::string raw_header() {
  return "op,kernel,dtype,dims,ranks,temperature,median_s,mad_s,ci95,n,outliers,throttled,batch,flops,bytes,footprint,"
         "error,clock_mhz,power_w,temperature_c,status,note\n";
}

std::string to_csv(const RawRow& r) {
  const Measurement& m = r.measurement;
  const double ci = m.summary.ci95 < 1e9 ? m.summary.ci95 : 1e9; // infinity is no number to a CSV reader
  return fmt::format("{},{},{},{},{},{},{:.9g},{:.4g},{:.4g},{},{},{},{},{:.9g},{:.9g},{},{:.3g},{},{},{},{},{}\n",
                     csv_text(r.shape.op), csv_text(r.shape.kernel), csv_text(r.shape.dtype), r.shape.dims_text(),
                     r.shape.ranks, name(m.temperature), m.summary.median, m.summary.mad, ci, m.summary.n,
                     m.summary.outliers, m.throttled, m.batch, r.work.flops, r.work.bytes, r.work.footprint, m.error,
                     maybe(m.clock_mhz), maybe(m.power_w), maybe(m.temperature_c), name(r.status), csv_text(r.note));
}

std::vector<RawRow> read_raw(const std::string& path) {
  return parse_rows(path, read_plain_or_gzip(path));
}

RawTable::RawTable(const std::string& path) : path_(path) {
  const bool exists = std::filesystem::exists(path);
  if (exists && !std::filesystem::is_regular_file(path)) throw InputError(path, "is not a file");
  std::string text = exists ? read_plain_or_gzip(path) : "";
  const std::size_t whole = text.empty() ? 0 : text.rfind('\n') + 1; // npos + 1 = 0
  cut_ = whole != text.size();
  text.resize(whole);
  if (!text.empty()) {
    if (!text.starts_with(raw_header()))
      throw InputError(path, "is not a table of measurements of this version; choose another folder");
    rows_ = parse_rows(path, text);
    for (const RawRow& r : rows_) remember(r);
  }
  file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0) throw InputError(path, fmt::format("cannot open for writing: {}", std::strerror(errno)));
  if (::ftruncate(file_, static_cast<off_t>(whole)) != 0 || ::lseek(file_, 0, SEEK_END) < 0) {
    const int reason = errno;
    ::close(file_);
    throw InputError(path, fmt::format("cannot continue: {}", std::strerror(reason)));
  }
  try {
    if (text.empty()) write_all(file_, path_, raw_header());
  } catch (...) {
    ::close(file_);
    throw;
  }
}

RawTable::~RawTable() {
  ::close(file_);
}

void RawTable::append(const RawRow& row) {
  write_all(file_, path_, to_csv(row));
  rows_.push_back(row);
  remember(row);
}

void RawTable::remember(const RawRow& row) {
  if (row.status != RowStatus::throttled) known_.insert({row.shape, row.measurement.temperature});
}

} // namespace tessella::calib
