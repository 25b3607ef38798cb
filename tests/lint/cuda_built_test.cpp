// The GPU part does not drop out in silence: where there is an nvcc, the build must have found it. Without one, the
// build says "CUDA (GPU benches): NO" in its summary, and the GPU tests report that they were skipped.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace {

// TESSELLA_BUILT_WITH_CUDA is 1 or 0, from meson.
constexpr bool kBuiltWithCuda = TESSELLA_BUILT_WITH_CUDA == 1;

std::string find_nvcc() {
  namespace fs = std::filesystem;
  std::string folders = "/usr/local/cuda/bin";
  if (const char* path = std::getenv("PATH")) folders = std::string(path) + ":" + folders;
  for (std::size_t at = 0; at <= folders.size();) {
    const std::size_t end = std::min(folders.find(':', at), folders.size());
    const fs::path candidate = fs::path(folders.substr(at, end - at)) / "nvcc";
    std::error_code ignored;
    if (fs::is_regular_file(candidate, ignored)) return candidate.string();
    at = end + 1;
  }
  return "";
}

} // namespace

TEST_CASE("Where there is an nvcc, the GPU benches are built") {
  const std::string nvcc = find_nvcc();
  if (nvcc.empty()) {
    MESSAGE("no nvcc here: nothing to check");
    return;
  }
  CHECK_MESSAGE(kBuiltWithCuda, "there is ", nvcc,
                ", but this build has no GPU part; put it on the PATH, with cuBLASLt and NCCL in its toolkit, "
                "and run `meson setup --reconfigure build`");
}
