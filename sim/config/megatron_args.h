// Megatron-LM arguments out of what people keep them in. Part of import_megatron.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tessella {

struct MegatronArgs {
  std::map<std::string, std::vector<std::string>> flags; // "tensor-model-parallel-size" -> values; none: a switch
  std::map<std::string, std::string> variables;          // TP=2, NNODES=8, ...

  bool has(const std::string& flag) const { return flags.contains(flag); }
};

// Adds what a text holds; later texts win. A text is one of
//   arguments   --flag value --flag=value, over any number of lines
//   script      the same amid shell: comments, continued lines, quotes, VAR=value, VAR=${VAR:-value}, ARRAY=( --flag
//   ... ) modelzoo    YAML with MODEL_ARGS (and ENV_VARS): a map of "--flag": value, true and false for switches
// Placeholders ${VAR} and $VAR become the variables; see resolve().
// Throws InputError at `file_name` for a quote that is not closed, or a YAML file that is none.
void add_megatron_text(MegatronArgs& args, const std::string& file_name, const std::string& text);

// Puts variables into the values, in any order of definition; a placeholder without a value is an error that names it
// when `flag` is one that matters (the caller asks for it), so it is left in place here.
void resolve_variables(MegatronArgs& args);

} // namespace tessella
