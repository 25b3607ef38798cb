// Errors by whose fault they are, each with its exit code:
//   InputError      the user's file or flag is wrong          exit 2
//   InfeasiblePlan  the plan is legal but cannot run (memory)  exit 3
//   NotCovered      the profile has no cost for a shape        exit 4
//   InternalError   our bug (sim/base/check.h)                 exit 70
// InputError carries a position and prints the line with a caret:
//
//   topologies/x.yaml:14:16: error: unknown unit 'GBs' for bandwidth; did you mean 'GB/s'?
//      14 |     bandwidth: 450 GBs
//         |                ^~~~~~~
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace tessella {

// Where in a file; line and column count from 1. `length` columns are underlined (0: no caret).
struct SourceSpan {
  std::string file;
  int line = 0; // 0: the whole file or a command-line flag
  int column = 0;
  int length = 0;
  std::string line_text;

  bool operator==(const SourceSpan&) const = default;
};

// Extra context below an error, e.g. "cluster loaded from here" or a hint.
struct Note {
  std::optional<SourceSpan> where;
  std::string text;
};

class InputError : public std::runtime_error {
 public:
  InputError(SourceSpan where, const std::string& message, std::vector<Note> notes = {});
  // For values that have no file, such as a flag: `what` names it.
  InputError(const std::string& what, const std::string& message);

  const SourceSpan& where() const { return where_; }
  const std::string& message() const { return message_; }
  const std::vector<Note>& notes() const { return notes_; }
  InputError with_note(Note note) const;

 private:
  SourceSpan where_;
  std::string message_;
  std::vector<Note> notes_;
};

// A legal plan that cannot run, with the reason and the nearest one that can.
class InfeasiblePlan : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A cost was asked for that the profile does not hold; `missing` lists the rows a calibration must add.
class NotCovered : public std::runtime_error {
 public:
  explicit NotCovered(std::vector<std::string> missing);
  const std::vector<std::string>& missing() const { return missing_; }

 private:
  std::vector<std::string> missing_;
};

// The full text shown to a user: position, message, source line, caret, notes.
std::string format_error(const InputError& error);

} // namespace tessella
