// The HTML report as a person opens it: every number on the page is that of the JSON inside, nothing is loaded from
// elsewhere, names from files stay text, the keyboard works, and 12,288 ranks open fast. Without Chromium, or in a
// build without npm, the cases that need them say so and are skipped.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "sim/report/format.h"
#include "sim/report/html.h"
#include "tests/support/browser.h"
#include "tests/support/command.h"
#include "tests/support/temp_folder.h"

using namespace tessella::testing;
using nlohmann::json;

namespace {

const std::string kOne = "experiments/01_qwen3_235b_h100_256/experiment.yaml";
const std::string kTwo = "experiments/02_qwen3_next_12288/experiment.yaml";
const std::string kPairs = "experiments/10_dbo_ablation/experiment.yaml";

// The browser, when this build can write reports and there is one; otherwise says why not.
std::optional<std::string> browser_for_reports() {
  if (!tessella::report_page_missing().empty()) {
    MESSAGE("skipped: " << std::string(tessella::report_page_missing()));
    return std::nullopt;
  }
  const auto browser = find_browser();
  if (!browser) MESSAGE("skipped: no Chromium in PATH or $CHROMIUM");
  return browser;
}

std::string report_of(const TempFolder& folder, const std::string& experiment, const std::string& flags = "") {
  const std::string file = folder / "report.html";
  const CommandResult r = tessella::testing::tessella("run " + experiment + " --report " + file + " " + flags);
  CHECK_MESSAGE((r.exit_code == 0 || r.exit_code == 3), r.err);
  return file;
}

json data_of(const std::string& html) {
  const std::string open = "<script type=\"application/json\" id=\"data\">";
  const std::size_t begin = html.find(open) + open.size();
  return json::parse(html.substr(begin, html.find("</script>", begin) - begin));
}

// "a.b.0" -> the value there.
json at(const json& root, const std::string& path) {
  std::string pointer = "/" + path;
  std::replace(pointer.begin(), pointer.end(), '.', '/');
  return root.at(json::json_pointer(pointer));
}

// Every number of the page against the JSON; returns the texts by path.
std::map<std::string, std::string> check_numbers(const Page& page, const json& data) {
  std::map<std::string, std::string> texts;
  for (const Page::Element& e : page.elements("span", "data-path")) {
    const std::string& path = e.attributes.at("data-path");
    const json& result = data["results"][std::stoul(e.attributes.at("data-result"))]["result"];
    CHECK_MESSAGE(json::parse(e.attributes.at("data-value")) == at(result, path), path);
    CHECK_MESSAGE(!e.text.empty(), path);
    texts[path] = e.text;
  }
  return texts;
}

tessella::Duration duration(const json& seconds) {
  return tessella::round_to_picoseconds(seconds.get<double>());
}

} // namespace

TEST_CASE("Without a page in the build, run and report say so and everything else is written") {
  if (tessella::report_page_missing().empty()) return;
  const TempFolder folder;
  const CommandResult r =
      tessella::testing::tessella("run " + kOne + " --report " + folder / "r.html" + " --json " + folder / "r.json");
  CHECK(r.exit_code == 0);
  CHECK(r.err.find("is not written: npm") != std::string::npos);
  CHECK(std::filesystem::exists(folder / "r.json"));
  CHECK_FALSE(std::filesystem::exists(folder / "r.html"));
}

TEST_CASE("Files in the wrong role are told where they belong") {
  const TempFolder folder;
  const auto refused = [&](const std::string& file, const std::string& why) {
    const CommandResult r = tessella::testing::tessella("report " + file + " -o " + folder / "out.html");
    CHECK(r.exit_code == 2);
    CHECK_MESSAGE(r.err.find(why) != std::string::npos, r.err);
    CHECK_FALSE(std::filesystem::exists(folder / "out.html"));
  };
  refused(kOne, "tessella run " + kOne + " --report");
  refused(folder.write("trace.json", "{\"traceEvents\": []}"), "ui.perfetto.dev");
  refused(folder.write("config.json", "{\"num_hidden_layers\": 4}"), "tessella import hf");
  refused(folder.write("plan.json", "{\"objective_s\": 4}"), "a plan of tessella plan");
  refused(folder.write("old.html", "<!doctype html><p>"), "open it in a browser");
  refused(folder.write("sweep.db", "SQLite format 3 and more"), "a results database");
  refused(folder.write("empty.json", ""), "is not JSON");
  refused(folder / "nowhere.json", "nowhere.json");
}

TEST_CASE("Every number on the page is that of the JSON inside") {
  const auto browser = browser_for_reports();
  if (!browser) return;
  const TempFolder folder;
  const std::string file = report_of(folder, kPairs, "--steps 3");
  const json data = data_of(read_text_file(file));
  const Page page = open_page(*browser, file);
  CHECK(page.console == std::vector<std::string>{});
  const auto texts = check_numbers(page, data);
  const json& result = data["results"][0]["result"];
  CHECK(texts.size() > 80);
  CHECK(texts.at("step_time_s") == tessella::format_duration(duration(result["step_time_s"])));
  CHECK(texts.at("step_time_p95_s") == tessella::format_duration(duration(result["step_time_p95_s"])));
  CHECK(texts.at("mfu") == tessella::format_percent(result["mfu"]));
  CHECK(texts.at("memory.peak_bytes") == tessella::format_gib({result["memory"]["peak_bytes"].get<std::int64_t>()}));
  CHECK(texts.at("ranks") == "256");
  for (const char* id :
       {"where", "ranks", "timeline", "closeup", "memory", "stages", "single", "load", "steps", "evidence", "inputs"})
    CHECK_MESSAGE(page.dom.find(std::string("<section id=\"") + id + "\"") != std::string::npos, id);
}

TEST_CASE("The keyboard reaches every action, rank and zoom level; columns are wide enough") {
  const auto browser = browser_for_reports();
  if (!browser) return;
  const TempFolder folder;
  const Page page = open_page(*browser, report_of(folder, kPairs), R"(
    const press = (canvas, key) => canvas.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true}));
    const said = (id) => document.querySelector(id + " .said").textContent;
    const out = document.body.dataset;
    const timeline = document.querySelector("#timeline canvas");
    press(timeline, "n"); out.first = said("#timeline");
    press(timeline, "n"); out.second = said("#timeline");
    press(timeline, "ArrowDown"); out.below = said("#timeline");
    out.whole = document.querySelectorAll("#timeline .tick").length;
    press(timeline, "Enter"); out.near = document.querySelector("#timeline .tick text").textContent;
    press(timeline, "0"); out.again = document.querySelector("#timeline .tick text").textContent;
    const single = document.querySelector("#single canvas");
    press(single, "ArrowRight"); out.rank = document.querySelector("#single h3").textContent;
    press(single, "ArrowDown"); out.position = document.querySelector("#single h3").textContent;
    const before = said("#closeup");
    press(document.querySelector("#closeup canvas"), "ArrowRight"); out.moved = before !== said("#closeup");
    out.pair = before;
    out.hashes = [...document.querySelectorAll("#inputs code")].every((one) => one.getClientRects().length === 1);
    out.focus = [...document.querySelectorAll("canvas.focusable")].every((one) => one.tabIndex === 0 && one.getAttribute("aria-label"));)");
  CHECK(page.console == std::vector<std::string>{});
  const auto body = page.elements("body", "data-first");
  REQUIRE(body.size() == 1);
  const auto said = [&](const std::string& name) { return body[0].attributes.at("data-" + name); };
  CHECK(said("first").find("rank 0 [TP00-DP00-PP00-EP00]: 0F0 forward, stage 0, micro-batch 0") == 0);
  CHECK(said("second").find("0F1 forward") != std::string::npos);
  CHECK(said("below").find("rank 64 ") == 0);
  CHECK(std::stoi(said("whole")) >= 3);
  CHECK(said("near") != said("again"));
  CHECK(said("again") == "0 s");
  CHECK(said("rank") == "rank 1, pipeline rank 0");
  CHECK(said("position") == "rank 65, pipeline rank 1");
  CHECK(said("moved") == "true");
  CHECK(said("pair").find(" beside ") != std::string::npos);
  CHECK(said("focus") == "true");
  CHECK(said("hashes") == "true"); // each on one line
}

TEST_CASE("Names from files stay text") {
  const auto browser = browser_for_reports();
  if (!browser) return;
  const TempFolder folder;
  const std::string name = "</script><img src=x onerror=\"document.body.dataset.owned=1\"><!--<script>&amp;'";
  json result = json::parse(tessella::testing::tessella("run " + kOne + " --json - --detail").out);
  for (const char* key : {"experiment", "model", "topology", "schedule"}) result["plan"][key] = name;
  result["gpu"] = name;
  result["warnings"] = {name};
  result["inputs"] = {{name, name}};
  result["detail"]["timeline"]["ranks"][0]["name"] = name;
  for (json& op : result["detail"]["timeline"]["op_names"]) op = name;
  const std::string a = folder.write("a.json", result.dump());
  const std::string b = folder.write("b.json", tessella::testing::tessella("run " + kOne + " --json -").out);
  for (const std::string& files : {a, a + " " + b}) {
    REQUIRE(tessella::testing::tessella("report " + files + " -o " + folder / "r.html").exit_code == 0);
    const Page page = open_page(*browser, folder / "r.html");
    CHECK(page.console == std::vector<std::string>{});
    CHECK(page.dom.find("<img") == std::string::npos);
    CHECK(page.elements("body", "data-owned").empty());
    check_numbers(page, data_of(read_text_file(folder / "r.html")));
    const bool shown = page.dom.find("&lt;/script&gt;&lt;img src=x onerror=") != std::string::npos;
    CHECK(shown);
  }
}

TEST_CASE("Two results are compared, and each is there in full") {
  const auto browser = browser_for_reports();
  if (!browser) return;
  const TempFolder folder;
  const std::string a = folder / "a.json";
  const std::string b = folder / "b.json";
  REQUIRE(tessella::testing::tessella("run " + kOne + " --json " + a).exit_code == 0);
  REQUIRE(tessella::testing::tessella("run " + kOne + " --set batch.gbs=1024 --json " + b + " --detail").exit_code ==
          0);
  REQUIRE(tessella::testing::tessella("report " + a + " " + b + " -o " + folder / "r.html").exit_code == 0);
  const json data = data_of(read_text_file(folder / "r.html"));
  const Page page = open_page(*browser, folder / "r.html");
  CHECK(page.console == std::vector<std::string>{});
  check_numbers(page, data);
  std::set<std::string> results;
  for (const Page::Element& e : page.elements("span", "data-path")) results.insert(e.attributes.at("data-result"));
  CHECK(results == std::set<std::string>{"0", "1"});
  CHECK(data["comparison"]["settings"].size() > 0);
  CHECK(page.dom.find("global_batch_size") != std::string::npos);
  std::multiset<std::string> ids;
  for (const Page::Element& e : page.elements("section", "id")) ids.insert(e.attributes.at("id"));
  for (const std::string& id : ids) CHECK_MESSAGE(ids.count(id) == 1, id);
}

TEST_CASE("12,288 ranks: less than 10 MB, open in less than two seconds, nothing from elsewhere") {
  const auto browser = browser_for_reports();
  if (!browser) return;
  const TempFolder folder;
  const std::string file = report_of(folder, kTwo);
  const std::string html = read_text_file(file);
  CHECK(html.size() < 10'000'000);
  for (const char* from : {"src=\"http", "href=\"http", "url(http", "@import", "fetch(", "XMLHttpRequest"})
    CHECK_MESSAGE(html.find(from) == std::string::npos, from);
  const json data = data_of(html);
  CHECK(data["results"][0]["result"]["detail"]["rank_ledger_ps"].size() == 12288);
  const double seconds = seconds_to_open(*browser, file);
  MESSAGE("12,288 ranks: " << html.size() << " bytes, open in " << seconds << " s");
  CHECK(seconds < 2.0);
}
