#include "calib/fit/write_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "sim/base/check.h"
#include "sim/domain/kernel_forms.h"

namespace tessella::calib {
namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string quantity(double si, Dimension dimension) {
  switch (dimension) {
  case Dimension::plain:
    return fmt::format("{:.5g}", si);
  case Dimension::seconds:
    return fmt::format("{:.5g} us", si * 1e6);
  case Dimension::bytes:
    return fmt::format("{:.5g} kB", si * 1e-3);
  case Dimension::bandwidth:
    return fmt::format("{:.5g} GB/s", si * 1e-9);
  case Dimension::flop_rate:
    return fmt::format("{:.5g} TFLOPS", si * 1e-12);
  }
  TSL_CHECK(false);
}

Dimension dimension_of(const ProfileEntry& e, const std::string& param) {
  for (const FormSpec& form : form_table()) {
    if (form.name != e.form) continue;
    for (const FormParam& p : form.params) {
      if (p.name == param) return p.dimension;
    }
  }
  throw InternalError(fmt::format("form {} has no parameter {}", e.form, param));
}

std::string entry_yaml(const ProfileEntry& e) {
  std::string out = fmt::format("  - op: {}\n", e.op);
  if (!e.dtype.empty()) out += fmt::format("    dtype: {}\n", e.dtype);
  if (!e.tier.empty()) out += fmt::format("    tier: {}\n", e.tier);
  out += fmt::format("    form: {}\n    params: {{", e.form);
  for (std::size_t i = 0; i < e.params.size(); ++i) {
    const auto& [name, value] = e.params[i];
    out += fmt::format("{}{}: {}", i == 0 ? "" : ", ", name, quantity(value, dimension_of(e, name)));
  }
  out += fmt::format("}}\n    provenance: {}\n    source: {}\n", name(e.provenance), quoted(e.source));
  if (e.residual) {
    out += fmt::format("    residual: {{median: {:.4f}, p95: {:.4f}, rows: {}}}\n", e.residual->median, e.residual->p95,
                       e.residual->rows);
  }
  return out;
}

double quantile(std::vector<double> v, double q) {
  std::sort(v.begin(), v.end());
  return v[static_cast<std::size_t>(std::max(0.0, std::ceil(q * static_cast<double>(v.size())) - 1.0))];
}

std::string csv_line(const ProfileEntry& e, const std::string& bucket, const std::vector<double>& errors,
                     std::int64_t held_out) {
  const Residual r = summarize(errors);
  return fmt::format("{},{},{},{},{},{},{:.4f},{:.4f},{:.4f}\n", e.op, e.dtype, e.tier, bucket, r.rows, held_out,
                     quantile(errors, 0.5), r.median, r.p95);
}

std::string label(const ProfileEntry& e) {
  std::string text = e.op + (e.dtype.empty() ? "" : " " + e.dtype) + (e.tier.empty() ? "" : " " + e.tier);
  std::replace(text.begin(), text.end(), '_', '-'); // gnuplot reads an underscore as a subscript
  return text;
}

} // namespace

std::string profile_yaml(const Profile& profile, const std::string& comment) {
  const GpuSpec& g = profile.gpu;
  std::string out = fmt::format("# {}\nprofile: {}\n", comment, profile.name);
  out += fmt::format("gpu: {{name: {}, sms: {}, bf16_peak: {}, ", g.name, g.sms,
                     quantity(g.bf16_peak.flops_per_second, Dimension::flop_rate));
  if (g.fp8_peak.flops_per_second > 0.0) {
    out += fmt::format("fp8_peak: {}, ", quantity(g.fp8_peak.flops_per_second, Dimension::flop_rate));
  }
  out += fmt::format("hbm: {}, memory: {} GiB, source: {}}}\nentries:\n",
                     quantity(g.hbm.bytes_per_second, Dimension::bandwidth), g.memory.count >> 30, quoted(g.source));
  for (const ProfileEntry& e : profile.entries) out += entry_yaml(e);
  return out;
}

std::string residuals_csv(const std::vector<FitResult>& results) {
  std::string out = "op,dtype,tier,bucket,rows,held_out,median_error,median_abs_error,p95_abs_error\n";
  for (const FitResult& r : results) {
    if (!r.entry.residual) continue;
    std::vector<std::string> order; // buckets as they come
    std::map<std::string, std::vector<double>> errors;
    std::map<std::string, std::int64_t> unseen;
    for (const BucketError& e : r.errors) {
      if (!errors.contains(e.bucket)) order.push_back(e.bucket);
      errors[e.bucket].push_back(e.error);
      unseen[e.bucket] += e.held_out ? 1 : 0;
    }
    out += fmt::format("{},{},{},held out,{},{},,{:.4f},{:.4f}\n", r.entry.op, r.entry.dtype, r.entry.tier,
                       r.entry.residual->rows, r.entry.residual->rows, r.entry.residual->median, r.entry.residual->p95);
    for (const std::string& b : order) out += csv_line(r.entry, b, errors.at(b), unseen.at(b));
  }
  return out;
}

bool plot_residuals(const std::vector<FitResult>& results, const std::string& title, const std::string& file) {
  if (std::all_of(results.begin(), results.end(), [](const FitResult& r) { return r.errors.empty(); })) return true;
  if (std::system("gnuplot --version > /dev/null 2>&1") != 0) return false;
  std::FILE* pipe = popen("gnuplot", "w");
  if (pipe == nullptr) return false;
  std::string tics;
  std::string data;
  int n = 0;
  for (const FitResult& r : results) {
    if (r.errors.empty()) continue;
    std::vector<double> percent;
    for (const BucketError& e : r.errors) percent.push_back(100.0 * e.error);
    tics += fmt::format("{}\"{}\" {}", n == 0 ? "" : ", ", label(r.entry), n);
    data += fmt::format("{} {:.3f} {:.3f} {:.3f} {:.3f} {:.3f}\n", n, quantile(percent, 0.25), quantile(percent, 0.05),
                        quantile(percent, 0.95), quantile(percent, 0.75), quantile(percent, 0.5));
    ++n;
  }
  fmt::print(
      pipe,
      "set terminal svg size 960,480 font 'sans-serif,11'\nset output '{}'\nset title '{}' noenhanced\n"
      "set ylabel 'predicted / measured - 1, %'\nset grid ytics\nset xtics rotate by -45 ({})\n"
      "set xrange [-1:{}]\nset yrange [-50:50]\nset boxwidth 0.5\nset style fill solid 0.3\nunset key\n"
      "plot '-' using 1:2:3:4:5 with candlesticks whiskerbars lc '#3366aa', '' using 1:6:6:6:6 with candlesticks "
      "lc '#aa3333' lw 2, 0 lc '#888888'\n{}e\n{}e\n",
      file, title, tics, n, data, data);
  return pclose(pipe) == 0;
}

} // namespace tessella::calib
