// What the kinds of `tessella import` share, and the kinds themselves; cmd_import.cpp wires them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tessella {

struct ImportFlags {
  std::string file;
  std::vector<std::string> inputs; // megatron
  std::string out;
  std::string name;
  std::string model;
  std::string topology;
  std::string profile;
  std::string csv;
  std::optional<std::int64_t> gpus;
  std::int64_t micro_batch_size = 1;
  std::int64_t seq_length = 0;
};

void warn(const std::vector<std::string>& warnings);
// --name, else the output's name, else `fallback`; letters, digits and _ - . only.
std::string name_of(const ImportFlags& flags, const std::string& fallback);
std::optional<std::string> given(const std::string& text); // nothing when empty
void list_flags(const char* what, const std::vector<std::string>& flags);
// To the file of -o, else to standard output.
void write_out(const ImportFlags& flags, const std::string& text);

// Each returns an exit code or throws InputError.
int from_hf(const ImportFlags& flags);
int from_megatron(const ImportFlags& flags);
int from_torchtitan(const ImportFlags& flags);
int from_simai(const ImportFlags& flags);
int from_chakra(const ImportFlags& flags);

} // namespace tessella
