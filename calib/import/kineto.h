// A PyTorch profiler trace (Kineto's Chrome JSON, plain or gzip), read as a stream: of the text nothing is kept, of
// each GPU kernel 24 bytes (some 90 MB for a trace of 2 GB). GPU kernels are sorted into classes by name; time in which
// communication runs with no compute beside it is exposed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tessella::calib {

// What a kernel does, as far as its name says.
enum class KernelClass {
  gemm,
  grouped_gemm,
  attention,
  norm,
  activation,
  permute,
  router,
  cast,
  elementwise,
  optimizer,
  copy,
  expert_communication, // DeepEP, HybridEP, NCCL all-to-all and send-receive
  collective,           // NCCL's others
  waiting,              // communication kernels that only wait or notify
  other,
};
inline constexpr int kKernelClasses = 15;
const char* name(KernelClass c);
bool is_communication(KernelClass c);

// By the words in a kernel's name; the table is in kineto_classes.cpp.
KernelClass class_of(const std::string& kernel);

struct ClassTime {
  std::int64_t kernels = 0;
  double seconds = 0.0; // summed over streams
  double alone = 0.0;   // of which with nothing of the other kind (compute or communication) beside it
};

struct TraceSummary {
  std::vector<ClassTime> classes; // by KernelClass
  double span = 0.0;              // first begin to last end of a kernel, seconds
  double compute_busy = 0.0;      // union over streams
  double communication_busy = 0.0;
  double exposed = 0.0;                        // communication with no compute beside it
  double idle = 0.0;                           // no kernel at all
  std::map<std::string, double> other_kernels; // seconds by name, of class other: what the table does not know
  std::map<std::string, std::int64_t> dropped; // events that are no GPU kernels, by why
};

// Throws InputError when the file is no such trace, or has no GPU kernel.
TraceSummary import_kineto(const std::string& path);

std::string to_csv(const TraceSummary& s);
std::string to_text(const TraceSummary& s);

} // namespace tessella::calib
