#include "sim/base/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "sim/base/check.h"
#include "sim/base/error.h"

namespace tessella {
namespace {

struct Opened {
  int descriptor;
  std::string name;
};

// A new file beside the target; O_EXCL so that two writers never share one. The mode honours the user's umask.
Opened open_beside(const std::string& target) {
  for (int attempt = 0;; ++attempt) {
    std::string name = fmt::format("{}.tmp-{}-{}", target, ::getpid(), attempt);
    const int descriptor = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor >= 0 || errno != EEXIST || attempt == 100) return {descriptor, std::move(name)};
  }
}

} // namespace

AtomicFile::AtomicFile(const std::string& path) : path_(path), target_(path) {
  std::error_code unresolved; // a path that does not exist yet stays as it is
  const std::filesystem::path real = std::filesystem::canonical(path, unresolved);
  if (!unresolved) target_ = real.string();

  struct stat status {};
  const bool exists = ::stat(target_.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) fail("create", EISDIR);
  int descriptor = -1;
  if (exists && !S_ISREG(status.st_mode)) {
    descriptor = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    Opened opened = open_beside(target_);
    descriptor = opened.descriptor;
    if (descriptor >= 0) temporary_ = std::move(opened.name);
  }
  if (descriptor < 0) fail("create", errno);
  file_ = ::fdopen(descriptor, "wb");
  if (file_ == nullptr) {
    const int error = errno;
    ::close(descriptor);
    fail("create", error);
  }
}

AtomicFile::~AtomicFile() {
  if (file_ != nullptr) std::fclose(file_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::string_view bytes) {
  TSL_CHECK(file_ != nullptr);
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) fail("write", errno);
}

void AtomicFile::commit() {
  TSL_CHECK(file_ != nullptr);
  if (std::fclose(std::exchange(file_, nullptr)) != 0) fail("write", errno);
  if (temporary_.empty()) return;
  if (std::rename(temporary_.c_str(), target_.c_str()) != 0) fail("replace", errno);
  temporary_.clear();
}

void AtomicFile::fail(const char* action, int error) {
  // The destructor does not run when the constructor throws.
  if (!temporary_.empty()) ::unlink(std::exchange(temporary_, {}).c_str());
  throw InputError(path_, fmt::format("cannot {} the file: {}", action, std::generic_category().message(error)));
}

void write_file(const std::string& path, std::string_view contents) {
  AtomicFile file(path);
  file.write(contents);
  file.commit();
}

} // namespace tessella
