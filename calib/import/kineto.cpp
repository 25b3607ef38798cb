#include "calib/import/kineto.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <deque>
#include <iterator>
#include <nlohmann/json.hpp>
#include <queue>
#include <streambuf>

#include "calib/import/imported.h"
#include "sim/base/error.h"

namespace tessella::calib {
namespace {

// A file, plain or gzip, as a stream buffer of fixed size.
class GzipSource : public std::streambuf {
 public:
  explicit GzipSource(const std::string& path) : file_(gzopen(path.c_str(), "rb")) {
    if (file_ == nullptr) throw InputError(path, "cannot open");
  }
  ~GzipSource() override { gzclose(file_); }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;

 protected:
  int_type underflow() override {
    const int n = gzread(file_, buffer_.data(), static_cast<unsigned>(buffer_.size()));
    if (n <= 0) return traits_type::eof();
    setg(buffer_.data(), buffer_.data(), buffer_.data() + n);
    return traits_type::to_int_type(*gptr());
  }

 private:
  gzFile file_;
  std::array<char, 1 << 16> buffer_{};
};

struct Kernel {
  double begin = 0.0; // microseconds
  double end = 0.0;
  KernelClass kind = KernelClass::other;
};

// Takes the events of "traceEvents" one by one; keeps kernels only. Depth 1 is the root, 2 the list, 3 an event.
class TraceReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit TraceReader(TraceSummary& summary) : summary_(summary) {}

  bool null() override { return value(); }
  bool boolean(bool) override { return value(); }
  bool number_integer(number_integer_t v) override { return number(static_cast<double>(v)); }
  bool number_unsigned(number_unsigned_t v) override { return number(static_cast<double>(v)); }
  bool number_float(number_float_t v, const string_t&) override { return number(v); }
  bool string(string_t& v) override {
    if (in_event()) {
      if (key_ == "ph") phase_ = v;
      if (key_ == "cat") category_ = v;
      if (key_ == "name") name_ = v;
      if (key_ == "dur") duration_ = std::strtod(v.c_str(), nullptr); // some exporters quote numbers
      if (key_ == "ts") begin_ = std::strtod(v.c_str(), nullptr);
    }
    return value();
  }
  bool binary(binary_t&) override { return value(); }
  bool start_object(std::size_t) override {
    ++depth_;
    if (depth_ == event_depth_) {
      phase_.clear();
      category_.clear();
      name_.clear();
      begin_ = duration_ = 0.0;
    }
    return true;
  }
  bool key(string_t& v) override {
    if (depth_ == event_depth_) key_ = v;
    if (depth_ == 1) events_key_ = v == "traceEvents";
    return true;
  }
  bool end_object() override {
    if (depth_ == event_depth_) finish_event();
    --depth_;
    return true;
  }
  bool start_array(std::size_t) override {
    ++depth_;
    // {"traceEvents": [...]}, or the list alone.
    if ((depth_ == 2 && events_key_) || depth_ == 1) event_depth_ = depth_ + 1;
    return true;
  }
  bool end_array() override {
    if (depth_ + 1 == event_depth_) event_depth_ = 0;
    --depth_;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    error_ = fmt::format("byte {}: {}", position, error.what());
    return false;
  }

  const std::string& error() const { return error_; }
  std::deque<Kernel>& kernels() { return kernels_; }

 private:
  bool in_event() const { return event_depth_ > 0 && depth_ == event_depth_; }
  bool value() { return true; }
  bool number(double v) {
    if (in_event() && key_ == "ts") begin_ = v;
    if (in_event() && key_ == "dur") duration_ = v;
    return value();
  }

  void finish_event() {
    if (phase_ != "X") {
      ++summary_.dropped["events without a duration"];
      return;
    }
    const bool gpu =
        category_ == "kernel" || category_ == "Kernel" || category_ == "gpu_memcpy" || category_ == "gpu_memset";
    if (!gpu) {
      ++summary_.dropped["events of the CPU and annotations"];
      return;
    }
    const KernelClass kind = category_.starts_with("gpu_mem") ? KernelClass::copy : class_of(name_);
    kernels_.push_back({begin_, begin_ + duration_, kind});
    if (kind == KernelClass::other) summary_.other_kernels[name_] += duration_ * 1e-6;
  }

  TraceSummary& summary_;
  int depth_ = 0;
  int event_depth_ = 0; // 0: not in the list of events
  bool events_key_ = false;
  std::string key_;
  std::string phase_;
  std::string category_;
  std::string name_;
  double begin_ = 0.0;
  double duration_ = 0.0;
  std::string error_;
  std::deque<Kernel> kernels_; // grows without a copy
};

// How many kernels of each class and side run, from one begin or end to the next.
class Sweep {
 public:
  explicit Sweep(TraceSummary& summary) : s_(summary) {}

  void begin(const Kernel& k) {
    pass_to(k.begin);
    change(k.kind, 1);
  }
  void end(const Kernel& k) {
    pass_to(k.end);
    change(k.kind, -1);
  }

 private:
  void pass_to(double at) {
    const double length = (at - now_) * 1e-6;
    now_ = at;
    if (!started_) {
      started_ = true;
      return;
    }
    s_.span += length;
    if (sides_[0] > 0) s_.compute_busy += length;
    if (sides_[1] > 0) s_.communication_busy += length;
    if (sides_[1] > 0 && sides_[0] == 0) s_.exposed += length;
    if (sides_[0] == 0 && sides_[1] == 0) s_.idle += length;
    for (std::size_t c = 0; c < running_.size(); ++c) {
      const std::size_t other = is_communication(static_cast<KernelClass>(c)) ? 0 : 1;
      if (sides_[other] == 0) s_.classes[c].alone += length * static_cast<double>(running_[c]);
    }
  }
  void change(KernelClass kind, std::int64_t by) {
    running_[static_cast<std::size_t>(kind)] += by;
    sides_[is_communication(kind) ? 1 : 0] += by;
  }

  TraceSummary& s_;
  bool started_ = false;
  double now_ = 0.0; // microseconds
  std::array<std::int64_t, kKernelClasses> running_{};
  std::array<std::int64_t, 2> sides_{}; // compute, communication
};

// Through the kernels in order of time; of those that run at once only a heap is kept, so that a trace of millions of
// kernels needs no second copy of them.
void sweep(std::deque<Kernel>& kernels, TraceSummary& s) {
  std::sort(kernels.begin(), kernels.end(), [](const Kernel& a, const Kernel& b) { return a.begin < b.begin; });
  const auto ends_later = [](const Kernel& a, const Kernel& b) { return a.end > b.end; };
  std::priority_queue<Kernel, std::vector<Kernel>, decltype(ends_later)> running(ends_later);
  Sweep line(s);
  const auto end_first = [&] {
    line.end(running.top());
    running.pop();
  };
  for (const Kernel& k : kernels) {
    while (!running.empty() && running.top().end <= k.begin) end_first();
    line.begin(k);
    running.push(k);
  }
  while (!running.empty()) end_first();
}

} // namespace

TraceSummary import_kineto(const std::string& path) {
  TraceSummary summary;
  summary.classes.resize(kKernelClasses);
  GzipSource source(path);
  std::istream in(&source);
  TraceReader reader(summary);
  if (!nlohmann::json::sax_parse(in, &reader))
    throw InputError(path, fmt::format("is not a profiler trace: {}", reader.error()));
  if (reader.kernels().empty()) throw InputError(path, "holds no GPU kernel; was the CUDA activity recorded?");
  for (const Kernel& k : reader.kernels()) {
    ClassTime& c = summary.classes[static_cast<std::size_t>(k.kind)];
    ++c.kernels;
    c.seconds += (k.end - k.begin) * 1e-6;
  }
  sweep(reader.kernels(), summary);
  return summary;
}

std::string to_csv(const TraceSummary& s) {
  std::string text = "class,kernels,seconds,alone_s\n";
  for (std::size_t c = 0; c < s.classes.size(); ++c)
    if (s.classes[c].kernels > 0)
      text += fmt::format("{},{},{:.9g},{:.9g}\n", name(static_cast<KernelClass>(c)), s.classes[c].kernels,
                          s.classes[c].seconds, s.classes[c].alone);
  return text;
}

std::string to_text(const TraceSummary& s) {
  std::string text = fmt::format("{:<22} {:>9} {:>11} {:>11}\n", "class", "kernels", "time", "alone");
  for (std::size_t c = 0; c < s.classes.size(); ++c)
    if (s.classes[c].kernels > 0)
      text += fmt::format("{:<22} {:>9} {:>8.3f} ms {:>8.3f} ms\n", name(static_cast<KernelClass>(c)),
                          s.classes[c].kernels, 1e3 * s.classes[c].seconds, 1e3 * s.classes[c].alone);
  text += fmt::format("span {:.3f} ms: compute busy {:.3f}, communication busy {:.3f}, exposed {:.3f} ({:.1f} % of the "
                      "span), idle {:.3f}\n",
                      1e3 * s.span, 1e3 * s.compute_busy, 1e3 * s.communication_busy, 1e3 * s.exposed,
                      s.span > 0.0 ? 100.0 * s.exposed / s.span : 0.0, 1e3 * s.idle);
  std::vector<std::pair<double, std::string>> unknown;
  for (const auto& [kernel, seconds] : s.other_kernels) unknown.emplace_back(seconds, kernel);
  std::sort(unknown.rbegin(), unknown.rend());
  for (std::size_t i = 0; i < std::min<std::size_t>(5, unknown.size()); ++i)
    text += fmt::format("no class for: {:.3f} ms {}\n", 1e3 * unknown[i].first, unknown[i].second.substr(0, 100));
  return text;
}

} // namespace tessella::calib
