#include "calib/launch/process_machine.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "calib/host/cases.h"
#include "calib/host/crew.h"
#include "calib/host/host_clock.h"
#include "calib/host/host_comm.h"
#include "calib/host/measure_ranks.h"
#include "calib/launch/socket.h"
#include "sim/base/error.h"

namespace tessella::calib {
namespace {

constexpr std::int64_t kFloats = std::int64_t{1} << 22; // 16 MiB per rank

// POSIX shared memory that all ranks map; its name comes from rank 0, and is gone once all have it.
class SharedMemory {
 public:
  SharedMemory(const World& world, Rendezvous& rendezvous) : size_(comm_block_bytes(world.size, kFloats)) {
    const std::string mine = fmt::format("{} /tessella_calib_{}", own_host_name(), ::getpid());
    int fd = -1;
    std::string problem;
    if (world.rank == 0 && (fd = create(name_of(mine))) < 0)
      problem = fmt::format("{} ranks need {} MiB in /dev/shm: {}", world.size, size_ >> 20, std::strerror(errno));
    const std::string shared = rendezvous.broadcast(problem.empty() ? mine : ""); // rank 0 has created it by now
    if (world.rank != 0) {
      if (shared.empty())
        problem = "rank 0 could not make it; its own message says why";
      else if (shared.substr(0, shared.find(' ')) != own_host_name())
        throw InputError("--backend host", "its ranks share memory, so they must all be on one machine");
      else
        fd = ::shm_open(name_of(shared).c_str(), O_RDWR, 0600);
    }
    void* at = fd < 0 ? MAP_FAILED : ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED && problem.empty()) problem = std::strerror(errno);
    if (fd >= 0) ::close(fd);
    rendezvous.barrier();
    if (world.rank == 0) ::shm_unlink(name_of(mine).c_str());
    if (at == MAP_FAILED) throw InputError("shared memory", problem);
    memory_ = at;
  }
  ~SharedMemory() { ::munmap(memory_, size_); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  void* get() const { return memory_; }

 private:
  static std::string name_of(const std::string& text) { return text.substr(text.find(' ') + 1); }
  // With its memory taken at once: a file that only claims its size would end the program when it is written to.
  int create(const std::string& name) const {
    const int fd = ::shm_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR, 0600);
    if (fd < 0) return -1;
    const int error = ::posix_fallocate(fd, 0, static_cast<off_t>(size_));
    if (error == 0) return fd;
    ::close(fd);
    ::shm_unlink(name.c_str());
    errno = error;
    return -1;
  }

  std::size_t size_;
  void* memory_ = nullptr;
};

class ProcessMachine : public Machine {
 public:
  ProcessMachine(const World& world, Rendezvous& rendezvous)
      : world_(world), rendezvous_(rendezvous), memory_(world, rendezvous),
        comm_(memory_.get(), world.rank, world.size, kFloats, rendezvous.lost()) {
    const std::vector<int> cpus = usable_cpus();
    pin_to_cpu(cpus[static_cast<std::size_t>(world.local_rank) % cpus.size()]);
  }

  DeviceIdentity identity() const override { return {"host", cpu_name(), "", "", ""}; }
  std::vector<std::pair<std::string, std::string>> facts() const override {
    return {{"ranks", std::to_string(world_.size)},
            {"launcher", world_.launcher},
            {"cores", std::to_string(usable_cpus().size())}};
  }

  bool can_measure(const OpShape& shape, std::string& why_not) const override {
    if (shape.ranks > 1) {
      why_not = fmt::format("this job has {} ranks", world_.size);
      return shape.ranks == world_.size && shape.op != "send_recv" && shape.dim("skew") == 0 &&
             shape.dim("bytes") <= kFloats * 4;
    }
    return host_can(shape, why_not);
  }

  std::vector<RawRow> measure(const OpShape& shape, const MeasureOptions& options) override try {
    comm_.barrier();
    std::vector<RawRow> rows;
    if (shape.ranks > 1)
      rows = {measure_collective_on(shape, comm_, options)};
    else
      rows = measure_on_ranks(shape, 1, options, {Temperature::cold, Temperature::hot});
    comm_.barrier();
    return rows;
  } catch (const Stopped&) { // while waiting in shared memory; the rendezvous knows for whom
    throw RankLost(rendezvous_.reason());
  }

 private:
  World world_;
  Rendezvous& rendezvous_;
  SharedMemory memory_;
  HostComm comm_;
};

} // namespace

std::unique_ptr<Machine> process_machine(const World& world, Rendezvous& rendezvous) {
  return std::make_unique<ProcessMachine>(world, rendezvous);
}

} // namespace tessella::calib
