// A page opened in headless Chromium, where there is one: what became of it, and what it complained about.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tessella::testing {

// The browser's path: $CHROMIUM, or chromium, chromium-browser, google-chrome of PATH; nothing when there is none.
std::optional<std::string> find_browser();

struct Page {
  std::string dom;                  // as HTML, after `probe` ran
  std::vector<std::string> console; // what scripts and the page said: a page without fault says nothing
  double seconds = 0.0;             // of processor time, the browser's start included

  // Attribute maps of every element of that name, entities resolved; and the texts inside, tags left out.
  struct Element {
    std::map<std::string, std::string> attributes;
    std::string text;
  };
  // Elements <tag ...> whose attributes include `attribute`; they must not contain a tag of the same name.
  std::vector<Element> elements(const std::string& tag, const std::string& attribute) const;
};

// Opens a copy of the file with the script `probe` at its end, which runs when the page has been drawn. No name is
// resolved, so what a page wants from a network fails and is seen in `console`.
Page open_page(const std::string& browser, const std::string& file, const std::string& probe = "");

// Processor time to load and draw the page, without that of starting the browser: the difference to an empty page.
// A wall clock would measure what else the machine does.
double seconds_to_open(const std::string& browser, const std::string& file);

} // namespace tessella::testing
