// Files appear whole or not at all.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "sim/base/atomic_file.h"
#include "sim/base/error.h"

using namespace tessella;
namespace fs = std::filesystem;

namespace {

// A folder of its own, removed at the end.
struct Folder {
  fs::path path;
  explicit Folder(const std::string& name) : path(fs::temp_directory_path() / ("tessella_atomic_" + name)) {
    fs::remove_all(path);
    fs::create_directories(path);
  }
  ~Folder() { fs::remove_all(path); }
  std::string operator/(const std::string& file) const { return (path / file).string(); }
  auto count() const { return std::distance(fs::directory_iterator(path), fs::directory_iterator()); }
};

std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

} // namespace

TEST_CASE("A committed file replaces the old one and leaves no temporary") {
  const Folder folder("commit");
  write_file(folder / "a.txt", "old");
  write_file(folder / "a.txt", std::string("new\0bytes", 9));
  CHECK(read(folder / "a.txt") == std::string("new\0bytes", 9));
  CHECK(folder.count() == 1);
}

TEST_CASE("Until the commit the old file stands, and without one it stays") {
  const Folder folder("abandon");
  write_file(folder / "a.txt", "old");
  {
    AtomicFile file(folder / "a.txt");
    file.write("half of the ne");
    CHECK(read(folder / "a.txt") == "old");
    CHECK(folder.count() == 2);
  }
  CHECK(read(folder / "a.txt") == "old");
  CHECK(folder.count() == 1);
}

TEST_CASE("Errors name the path and the reason") {
  const Folder folder("errors");
  CHECK_THROWS_WITH_AS(
      write_file(folder / "no/such/folder.txt", "x"),
      (folder / "no/such/folder.txt: error: cannot create the file: No such file or directory\n").c_str(), InputError);
  CHECK_THROWS_WITH_AS(write_file(folder.path.string(), "x"),
                       (folder.path.string() + ": error: cannot create the file: Is a directory\n").c_str(),
                       InputError);
  CHECK(folder.count() == 0);
}

TEST_CASE("A full disk is an error and leaves nothing behind") {
  if (!fs::exists("/dev/full")) return;
  CHECK_THROWS_WITH_AS(write_file("/dev/full", std::string(1 << 16, 'x')),
                       "/dev/full: error: cannot write the file: No space left on device\n", InputError);
  CHECK_THROWS_AS(write_file("/dev/full", "small enough to be buffered"), InputError);
}

TEST_CASE("Devices are written, not replaced; symbolic links are followed") {
  write_file("/dev/null", "gone");
  CHECK(fs::is_character_file("/dev/null"));

  const Folder folder("link");
  write_file(folder / "target.txt", "old");
  fs::create_symlink(folder / "target.txt", folder / "link.txt");
  write_file(folder / "link.txt", "new");
  CHECK(fs::is_symlink(folder / "link.txt"));
  CHECK(read(folder / "target.txt") == "new");
}
