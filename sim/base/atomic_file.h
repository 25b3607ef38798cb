// Files that appear whole or not at all: bytes go to a temporary beside the target, commit() renames it into place.
// Without a commit (an exception, an interrupt that unwinds) the temporary is removed and an older file stays as it
// was.
//
//   AtomicFile file("results/run.json");
//   file.write(text);
//   file.commit();
//
// A target that exists and is not a regular file (a pipe, /dev/null) is written directly, since renaming over it would
// destroy it; a symbolic link is followed. Guards against a killed program, not against a power cut (no fsync).
// Errors: InputError naming the path and the system's reason, because the path is the user's.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace tessella {

class AtomicFile {
 public:
  explicit AtomicFile(const std::string& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::string_view bytes);
  // Flushes, closes and renames; nothing may be written afterwards.
  void commit();

 private:
  [[noreturn]] void fail(const char* action, int error);

  std::string path_;      // as the user typed it, for messages
  std::string target_;    // with symbolic links resolved
  std::string temporary_; // empty: the target itself is open
  std::FILE* file_ = nullptr;
};

// The whole file in one call.
void write_file(const std::string& path, std::string_view contents);

} // namespace tessella
