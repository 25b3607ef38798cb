// nccl-tests' output, with and without redop and root, and what is wrong with a row.
#include <doctest/doctest.h>

#include "sim/base/error.h"
#include "sim/config/nccl_log.h"

using namespace tessella;

TEST_CASE("The out-of-place time of every row, whatever stands around it") {
  const std::string log =
      "# nThread 1 nGpus 8\n"
      "#       size         count      type   redop    root     time   algbw   busbw #wrong\n"
      "     1048576        262144     float     sum      -1    35.20   29.79   52.13      0    34.1\n"
      "     2097152         32768     float    70.5   29.75   27.89  0e+00\n"
      "# Avg bus bandwidth    : 40.0\n";
  const std::vector<NcclRow> rows = load_nccl_log_text("a.log", log);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].size == Bytes{1 << 20});
  CHECK(rows[0].seconds == doctest::Approx(35.2e-6));
  CHECK(rows[1].size == Bytes{1 << 21});
  CHECK(rows[1].seconds == doctest::Approx(70.5e-6));
}

TEST_CASE("Rows without a positive time are named, and so is a file without rows") {
  const auto message = [](const std::string& text) -> std::string {
    try {
      load_nccl_log_text("a.log", text);
    } catch (const InputError& e) {
      return std::to_string(e.where().line) + ": " + e.message();
    }
    return "";
  };
  CHECK(message("# nothing\n") == "0: holds no row of nccl-tests");
  CHECK(message("\n1024 256 float none -1 0.00 1 1\n") ==
        "2: column 6 of an nccl-tests row is its time in us, not '0.00'");
  CHECK(message("1024 256 float none -1\n") == "1: column 6 of an nccl-tests row is its time in us, not ''");
  CHECK(message("1024 256 float none -1 nan\n") == "1: column 6 of an nccl-tests row is its time in us, not 'nan'");
}
