#include "tests/support/browser.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "tests/support/temp_folder.h"

namespace tessella::testing {
namespace {

namespace fs = std::filesystem;

// Processor time of all processes started so far.
double child_seconds() {
  rusage used{};
  getrusage(RUSAGE_CHILDREN, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

double run(const std::string& command) {
  const double begin = child_seconds();
  [[maybe_unused]] const int status = std::system(command.c_str());
  return child_seconds() - begin;
}

std::string browser_command(const std::string& browser, const TempFolder& folder) {
  return "timeout 60 '" + browser +
         "' --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars" +
         " --no-first-run --user-data-dir='" + folder / "profile" +
         "' --host-resolver-rules='MAP * ~NOTFOUND' --window-size=1240,900 --enable-logging=stderr ";
}

std::string with_entities_resolved(std::string text) {
  for (const auto& [entity, character] :
       {std::pair{"&quot;", "\""}, {"&lt;", "<"}, {"&gt;", ">"}, {"&nbsp;", " "}, {"&amp;", "&"}})
    for (std::size_t at = text.find(entity); at != std::string::npos; at = text.find(entity, at + 1))
      text.replace(at, std::string(entity).size(), character);
  return text;
}

std::map<std::string, std::string> attributes_of(const std::string& tag) {
  std::map<std::string, std::string> out;
  for (std::size_t at = tag.find("=\""); at != std::string::npos;) {
    const std::size_t name = tag.rfind(' ', at) + 1;
    const std::size_t end = tag.find('"', at + 2);
    out[tag.substr(name, at - name)] = with_entities_resolved(tag.substr(at + 2, end - at - 2));
    at = tag.find("=\"", end);
  }
  return out;
}

std::string without_tags(const std::string& html) {
  std::string out;
  bool inside = false;
  for (const char c : html) {
    if (c == '<') inside = true;
    if (!inside) out += c;
    if (c == '>') inside = false;
  }
  return with_entities_resolved(out);
}

} // namespace

std::optional<std::string> find_browser() {
  const char* chosen = std::getenv("CHROMIUM");
  if (chosen != nullptr && *chosen != '\0') return chosen;
  const char* path = std::getenv("PATH");
  for (const char* name : {"chromium", "chromium-browser", "google-chrome"}) {
    std::istringstream folders(path == nullptr ? "" : path);
    for (std::string folder; std::getline(folders, folder, ':');)
      if (fs::exists(fs::path(folder) / name)) return (fs::path(folder) / name).string();
  }
  return std::nullopt;
}

std::vector<Page::Element> Page::elements(const std::string& tag, const std::string& attribute) const {
  std::vector<Element> out;
  const std::string open = "<" + tag + " ";
  const std::string close = "</" + tag + ">";
  for (std::size_t at = dom.find(open); at != std::string::npos; at = dom.find(open, at + 1)) {
    const std::size_t body = dom.find('>', at);
    const std::size_t end = dom.find(close, body);
    if (body == std::string::npos || end == std::string::npos) break;
    Element element{attributes_of(dom.substr(at, body - at)), without_tags(dom.substr(body + 1, end - body - 1))};
    if (element.attributes.contains(attribute)) out.push_back(std::move(element));
  }
  return out;
}

Page open_page(const std::string& browser, const std::string& file, const std::string& probe) {
  const TempFolder folder;
  // Two frames after loading, everything has been drawn.
  const std::string script =
      "<script>addEventListener('load', () => requestAnimationFrame(() => requestAnimationFrame(() => {" + probe +
      "})));</script>";
  const std::string copy = folder.write("page.html", read_text_file(file) + script);
  Page page;
  page.seconds = run(browser_command(browser, folder) + "--virtual-time-budget=5000 --dump-dom 'file://" + copy +
                     "' >'" + folder / "dom" + "' 2>'" + folder / "log" + "'");
  page.dom = read_text_file(folder / "dom");
  std::istringstream log(read_text_file(folder / "log"));
  for (std::string line; std::getline(log, line);)
    if (line.find("CONSOLE") != std::string::npos) page.console.push_back(line);
  return page;
}

double seconds_to_open(const std::string& browser, const std::string& file) {
  const TempFolder folder;
  const std::string empty = folder.write("empty.html", "<!doctype html><title>empty</title>");
  const auto screenshot = [&](const std::string& page) {
    return run(browser_command(browser, folder) + "--screenshot='" + folder / "page.png" + "' 'file://" + page +
               "' >/dev/null 2>&1");
  };
  screenshot(empty); // the first start fills the profile
  const double start = screenshot(empty);
  return screenshot(file) - start;
}

} // namespace tessella::testing
