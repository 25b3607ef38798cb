#include "sim/config/catalog.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "sim/config/source.h"

using namespace tessella;
namespace fs = std::filesystem;

namespace {

// A folder of its own that goes away at the end.
struct Folder {
  fs::path path = fs::temp_directory_path() / "tessella_catalog_test";
  Folder() {
    fs::remove_all(path);
    fs::create_directories(path);
  }
  ~Folder() { fs::remove_all(path); }
  void touch(const char* file) const {
    fs::create_directories((path / file).parent_path());
    std::ofstream(path / file) << "x: 1\n";
  }
};

const SourceSpan kHere{"e.yaml", 1, 1, 0, {}};

} // namespace

TEST_CASE("catalog: the home comes first, then the folders upwards") {
  const Folder f;
  f.touch("models/zz_a.yaml");
  f.touch("home/models/zz_a.yaml");
  f.touch("home/calib/profiles/zz_gpu/2026-01-01-x/profile.yaml");
  f.touch("sub/models/zz_b.yaml");
  fs::create_directories(f.path / "sub/deep");
  const SearchPath path = search_path(f.path / "sub/deep", f.path / "home");
  const auto find = [&](Catalog c, const char* name) { return resolve(c, name, f.path / "sub/deep", path, kHere); };
  CHECK(find(Catalog::model, "zz_a") == f.path / "home/models/zz_a.yaml");
  CHECK(find(Catalog::model, "zz_b") == f.path / "sub/models/zz_b.yaml");
  CHECK(find(Catalog::profile, "zz_gpu/2026-01-01-x") ==
        f.path / "home/calib/profiles/zz_gpu/2026-01-01-x/profile.yaml");
  CHECK(find(Catalog::model, "../x.yaml") == f.path / "sub/deep/../x.yaml");
  CHECK(resolve(Catalog::model, "zz_a", f.path, search_path(f.path), kHere) == f.path / "models/zz_a.yaml");
}

TEST_CASE("catalog: names stay below their folder") {
  const Folder f;
  f.touch("secret.yaml");
  f.touch("models/a.yaml");
  const SearchPath path = {f.path};
  for (const char* bad : {"../secret", "/etc/passwd", "a/../../secret", "./a", "a/", "", ".."})
    CHECK_THROWS_AS(resolve(Catalog::model, bad, f.path, path, kHere), InputError);
}

TEST_CASE("catalog: an unknown name is answered with the nearest") {
  const Folder f;
  f.touch("topologies/h100_rail_256.yaml");
  f.touch("topologies/gb200_72.yaml");
  f.touch("topologies/notes.txt");
  const SearchPath path = {f.path};
  CHECK(available(Catalog::topology, path) == std::vector<std::string>{"gb200_72", "h100_rail_256"});
  CHECK(available(Catalog::model, path).empty());
  const auto refusal = [&](const char* name) {
    try {
      resolve(Catalog::topology, name, f.path, path, kHere);
    } catch (const InputError& error) {
      return error.message();
    }
    return std::string("found");
  };
  CHECK(refusal("h100_rail_265") == "unknown topology 'h100_rail_265'; did you mean 'h100_rail_256'?");
  CHECK(refusal("xyz") == "unknown topology 'xyz'; known are gb200_72, h100_rail_256");
}

TEST_CASE("source: what is not a readable file") {
  const Folder f;
  CHECK_THROWS_WITH_AS(read_file(f.path / "none.yaml"), doctest::Contains("no such file"), InputError);
  CHECK_THROWS_WITH_AS(read_file(f.path), doctest::Contains("is a directory"), InputError);
  CHECK_THROWS_WITH_AS(read_file("/dev/zero"), doctest::Contains("not a regular file"), InputError);
  f.touch("big.yaml");
  fs::resize_file(f.path / "big.yaml", (2 << 20) + 1);
  CHECK_THROWS_WITH_AS(read_file(f.path / "big.yaml"), doctest::Contains("the limit is 2097152"), InputError);
  f.touch("ok.yaml");
  CHECK(read_file(f.path / "ok.yaml") == "x: 1\n");
}

TEST_CASE("source: paths below the current directory are shown short") {
  CHECK(display_path("sim/../models/a.yaml") == "models/a.yaml");
  CHECK(display_path(fs::current_path() / "models/a.yaml") == "models/a.yaml");
  CHECK(display_path("/etc/x.yaml") == "/etc/x.yaml");
}
