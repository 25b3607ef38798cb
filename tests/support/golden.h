// Golden files: small reviewed texts that say "unchanged". With GOLDEN_ACCEPT=1 in the environment they are rewritten
// instead of compared, and the test program ends as skipped; review the diff before committing it.
//
// Link tests/support/golden_main.cpp instead of main.cpp.
#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace tessella::testing {

inline bool accepting_goldens() {
  const char* flag = std::getenv("GOLDEN_ACCEPT");
  return flag != nullptr && std::string(flag) == "1";
}

// The first line that differs, with both versions.
inline std::string first_difference(const std::string& want, const std::string& got) {
  std::size_t line = 1;
  std::size_t start = 0;
  for (std::size_t i = 0; i < want.size() && i < got.size() && want[i] == got[i]; ++i) {
    if (want[i] != '\n') continue;
    ++line;
    start = i + 1;
  }
  const auto rest = [&](const std::string& text) {
    return start >= text.size() ? std::string("(end)") : text.substr(start, text.find('\n', start) - start);
  };
  return "line " + std::to_string(line) + "\n  golden: " + rest(want) + "\n  actual: " + rest(got);
}

// Compares `actual` with the file at `path`, relative to the repository root.
inline void check_golden(const std::string& path, const std::string& actual) {
  if (accepting_goldens()) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << actual;
    MESSAGE("skipped: rewrote " << path);
    return;
  }
  std::ifstream file(path, std::ios::binary);
  REQUIRE_MESSAGE(file.good(), "no golden file " << path << "; GOLDEN_ACCEPT=1 writes it");
  const std::string want{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  CHECK_MESSAGE(want == actual, path << " changed at " << first_difference(want, actual));
}

} // namespace tessella::testing
