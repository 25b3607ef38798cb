#include "sim/config/megatron_args.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <memory>

#include "sim/base/error.h"
#include "sim/config/node.h"

namespace tessella {
namespace {

constexpr std::size_t kMaxText = 1 << 20;
constexpr int kMaxRounds = 8; // of variables that hold variables

bool is_blank(char c) {
  return std::isspace(static_cast<unsigned char>(c)) != 0;
}

bool is_name(const std::string& text) {
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) == 0 &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; });
}

// The closing brace or parenthesis of the one at `open`; the end of the text when there is none.
std::size_t closing(const std::string& text, std::size_t open, char opens, char closes) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == opens) ++depth;
    if (text[i] == closes && --depth == 0) return i;
  }
  return text.size() - 1;
}

// Shell words: quotes joined, comments and line continuations gone, separators apart.
std::vector<std::string> words_of(const std::string& file_name, const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  bool open = false; // a word has begun, be it empty
  const auto flush = [&] {
    if (open) words.push_back(word);
    word.clear();
    open = false;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\' && i + 1 < text.size()) {
      if (text[++i] == '\n') continue;
      word += text[i];
      open = true;
    } else if (c == '\'' || c == '"') {
      const std::size_t end = text.find(c, i + 1);
      if (end == std::string::npos) throw InputError(file_name, fmt::format("a {} is not closed", c));
      word += text.substr(i + 1, end - i - 1);
      open = true;
      i = end;
    } else if (c == '#' && !open) {
      i = std::min(text.find('\n', i), text.size()) - 1;
    } else if (c == '$' && i + 1 < text.size() && (text[i + 1] == '{' || text[i + 1] == '(')) {
      const std::size_t end = closing(text, i + 1, text[i + 1], text[i + 1] == '{' ? '}' : ')');
      word += text.substr(i, end - i + 1);
      open = true;
      i = end;
    } else if (is_blank(c)) {
      flush();
    } else if (c == ';' || c == '&' || c == '|') { // the next command
      flush();
      words.push_back(";");
    } else if ((c == '(' && (word.empty() || word.back() == '=')) ||
               (c == ')' && std::count(word.begin(), word.end(), '(') == 0)) {
      if (c == '(' && !word.empty() && !word.starts_with("--")) { // ARRAY=( or ARRAY+=(: its words stand alone
        word.clear();
        open = false;
      } else if (c == '(') { // ([0]*3+[1]*58): a value
        const std::size_t end = closing(text, i, '(', ')');
        if (text.substr(i, end - i).find('[') == std::string::npos) continue;
        word += text.substr(i, end - i + 1);
        open = true;
        i = end;
      } else {
        flush();
      }
    } else {
      word += c;
      open = true;
    }
  }
  flush();
  return words;
}

// ARGS="--flag value ...": a variable that holds flags.
bool holds_flags(const std::string& value) {
  return value.starts_with("--") || value.find(" --") != std::string::npos || value.find("\n--") != std::string::npos;
}

void add_words(MegatronArgs& args, const std::string& file_name, const std::vector<std::string>& words) {
  std::vector<std::string>* values = nullptr;
  for (const std::string& word : words) {
    if (word.starts_with("--") && word.size() > 2) {
      const std::size_t equals = word.find('=');
      values = &args.flags[word.substr(2, equals == std::string::npos ? equals : equals - 2)];
      values->clear();
      if (equals != std::string::npos) values->push_back(word.substr(equals + 1));
    } else if (const std::size_t equals = word.find('=');
               equals != std::string::npos && is_name(word.substr(0, equals))) {
      const std::string name = word.substr(0, equals);
      values = nullptr;
      // VAR=${VAR:-default} keeps a value that is known already.
      if (word.substr(equals + 1).starts_with("${" + name) && args.variables.contains(name)) continue;
      args.variables[name] = word.substr(equals + 1);
      // A value is shorter than the word it came in, so this ends.
      if (holds_flags(args.variables[name])) add_words(args, file_name, words_of(file_name, args.variables[name]));
    } else if (word == ";") {
      values = nullptr;
    } else if (values) {
      values->push_back(word);
    }
  }
}

void add_map(MegatronArgs& args, const Node& node) {
  for (const Entry& entry : node.entries) {
    std::string flag = entry.key.text;
    if (!flag.starts_with("--")) continue;
    flag.erase(0, 2);
    std::vector<std::string> values;
    if (entry.value.kind == NodeKind::list) {
      for (const Node& item : entry.value.items) values.push_back(item.text);
    } else if (entry.value.kind == NodeKind::scalar && entry.value.text != "true") {
      if (entry.value.text == "false") continue;
      for (std::size_t begin = 0; begin < entry.value.text.size();) { // "moe_act layernorm": several values
        const std::size_t end = std::min(entry.value.text.find(' ', begin), entry.value.text.size());
        if (end > begin) values.push_back(entry.value.text.substr(begin, end - begin));
        begin = end + 1;
      }
    }
    args.flags[flag] = values;
  }
}

void add_modelzoo(MegatronArgs& args, const std::string& file_name, const std::string& text) {
  const Node root = parse_document(std::make_shared<const Source>(Source::file(file_name, text)));
  if (const Entry* variables = root.find("ENV_VARS"))
    for (const Entry& entry : variables->value.entries) args.variables.emplace(entry.key.text, entry.value.text);
  const Entry* model = root.find("MODEL_ARGS");
  if (!model) throw InputError(file_name, "has no MODEL_ARGS");
  add_map(args, model->value);
}

// ${NAME}, ${NAME:-default}, $NAME at `at`: what it stands for and how long it is.
struct Placeholder {
  std::string value;
  std::size_t length = 0; // 0: none, or not known
};

Placeholder placeholder(const std::string& text, std::size_t at, const std::map<std::string, std::string>& variables) {
  std::string body;
  std::size_t length = 0;
  if (at + 1 < text.size() && text[at + 1] == '{') {
    const std::size_t end = closing(text, at + 1, '{', '}');
    body = text.substr(at + 2, end - at - 2);
    length = end - at + 1;
  } else {
    std::size_t end = at + 1;
    while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_')) ++end;
    body = text.substr(at + 1, end - at - 1);
    length = end - at;
  }
  const std::size_t colon = body.find(":-");
  const auto known = variables.find(body.substr(0, colon));
  if (known != variables.end() && known->second.find('$') == std::string::npos) return {known->second, length};
  if (colon != std::string::npos) return {body.substr(colon + 2), length};
  return {};
}

std::string substituted(const std::string& text, const std::map<std::string, std::string>& variables) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const Placeholder p = text[i] == '$' ? placeholder(text, i, variables) : Placeholder{};
    out += p.length > 0 ? p.value : text.substr(i, 1);
    i += std::max<std::size_t>(1, p.length);
    if (out.size() > kMaxText) return text; // variables that grow each other
  }
  return out;
}

} // namespace

void add_megatron_text(MegatronArgs& args, const std::string& file_name, const std::string& text) {
  if (text.size() > kMaxText)
    throw InputError(file_name, fmt::format("has {} bytes; the limit is {}", text.size(), kMaxText));
  if (text.starts_with("MODEL_ARGS:") || text.find("\nMODEL_ARGS:") != std::string::npos)
    add_modelzoo(args, file_name, text);
  else
    add_words(args, file_name, words_of(file_name, text));
}

void resolve_variables(MegatronArgs& args) {
  for (int round = 0; round < kMaxRounds; ++round) {
    const std::map<std::string, std::string> before = args.variables;
    for (auto& [name, value] : args.variables) value = substituted(value, before);
    if (args.variables == before) break;
  }
  for (auto& [flag, values] : args.flags)
    for (std::string& value : values) value = substituted(value, args.variables);
}

} // namespace tessella
