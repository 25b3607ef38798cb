// What nccl-tests prints, read back: the out-of-place columns of every row.
//
//   #       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw
//   #wrong
//        1048576          2048     float    none      -1    35.20   29.79   27.93    N/A ...
//
// Older releases have no redop and root. Lines that do not start with a size are skipped. Throws InputError with its
// line for a row whose time is no positive number, and for a file without a row.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sim/base/units.h"

namespace tessella {

struct NcclRow {
  Bytes size;
  double seconds = 0.0;
  bool operator==(const NcclRow&) const = default;
};

std::vector<NcclRow> load_nccl_log(const std::filesystem::path& file);
std::vector<NcclRow> load_nccl_log_text(const std::string& file_name, const std::string& text);

} // namespace tessella
