// One parser under fire. A fuzz target is a file tests/fuzz/NAME_fuzz.cpp:
//
//   FUZZ_TARGET("layout") {                       // bytes: std::string_view
//     try { parse_layout(std::string(bytes)); } catch (const LayoutError&) {}
//   }
//
// What the body throws, and what the sanitizers see, is a failure: a parser may only refuse with its documented error.
// The usual build replays tests/fuzz/corpus/NAME (replay.cpp); `./dev fuzz` runs the same target under libFuzzer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tessella::testing {
extern const char* const kFuzzTarget; // names the corpus folder
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

#define FUZZ_TARGET(name)                                                                                              \
  namespace tessella::testing {                                                                                        \
  const char* const kFuzzTarget = name;                                                                                \
  }                                                                                                                    \
  static void fuzz_one(std::string_view bytes);                                                                        \
  extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {                                  \
    fuzz_one({reinterpret_cast<const char*>(data), size});                                                             \
    return 0;                                                                                                          \
  }                                                                                                                    \
  static void fuzz_one(std::string_view bytes)
