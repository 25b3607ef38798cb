// An output file that appears whole or not at all (sim/base/atomic_file.h) and is gzip-compressed on the fly when its
// name ends in ".gz". Streams: memory does not grow with the file. The gzip header carries no time, so equal contents
// give equal bytes. Errors: InputError with the path.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "sim/base/atomic_file.h"

namespace tessella {

class GzipFile {
 public:
  explicit GzipFile(const std::string& path);
  ~GzipFile();

  void write(std::string_view bytes);
  void commit();

 private:
  struct Deflater;
  AtomicFile file_;
  std::unique_ptr<Deflater> deflater_; // nothing: plain text
};

} // namespace tessella
