// One HTML file that shows one result, or two beside each other, without a network: the page (sim/report/html/, bundled
// when the program is built) with the JSON of the results inside. The page draws those numbers and has none of its own.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tessella {

// A result to show: what a person calls it (its file) and the text of `run --json`, whole.
struct ReportInput {
  std::string name;
  std::string json;
};

// Why this build cannot write reports; empty when it can.
std::string_view report_page_missing();

// `comparison`: comparison_json() of two results, empty for one. Every '<' in names and texts is escaped, so nothing in
// a file can leave its place in the page. Only for a build with a page, and for texts that are valid JSON. O(size).
std::string html_report(std::span<const ReportInput> results, std::string_view comparison);

} // namespace tessella
