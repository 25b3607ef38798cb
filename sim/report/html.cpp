#include "sim/report/html.h"

#include <nlohmann/json.hpp>

#include "sim/base/check.h"
#include "sim/report/html_page.h"

namespace tessella {
namespace {

constexpr std::string_view kMark = "<!--data-->";

// JSON that cannot end the <script> element it stands in: '<' occurs inside of strings only.
void append_escaped(std::string& out, std::string_view json) {
  for (const char c : json)
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
}

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

} // namespace

std::string_view report_page_missing() {
  return html_page_missing();
}

std::string html_report(std::span<const ReportInput> results, std::string_view comparison) {
  const std::string_view page = html_page();
  const std::size_t mark = page.find(kMark);
  TSL_CHECK(mark != std::string_view::npos);
  std::string out(page.substr(0, mark));
  out += "<script type=\"application/json\" id=\"data\">{\"results\":[";
  for (std::size_t i = 0; i < results.size(); ++i) {
    out += i == 0 ? "{\"name\":" : ",{\"name\":";
    append_escaped(out, quoted(results[i].name));
    out += ",\"result\":";
    append_escaped(out, results[i].json);
    out += "}";
  }
  out += "],\"comparison\":";
  append_escaped(out, comparison.empty() ? "null" : comparison);
  out += "}</script>";
  out += page.substr(mark + kMark.size());
  return out;
}

} // namespace tessella
