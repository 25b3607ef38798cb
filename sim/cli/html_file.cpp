#include "sim/cli/html_file.h"

#include <fmt/format.h>

#include <cstdio>

#include "sim/base/atomic_file.h"

namespace tessella {

bool write_report(const std::string& path, std::span<const ReportInput> results, std::string_view comparison) {
  if (!report_page_missing().empty()) {
    fmt::print(stderr, "warning: {} is not written: {}\n", path, report_page_missing());
    return false;
  }
  const std::string html = html_report(results, comparison);
  if (path == "-")
    fmt::print("{}", html);
  else
    write_file(path, html);
  return true;
}

} // namespace tessella
