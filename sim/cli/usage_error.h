// What to say when the words of a command line make no sense: the word, and the nearest one that would.
#pragma once

#include <string>

namespace CLI {
class App;
class ParseError;
} // namespace CLI

namespace tessella {

// Two lines: "tessella run: error: unknown flag --schedul; did you mean '--schedule'?" and where help is.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error);

} // namespace tessella
