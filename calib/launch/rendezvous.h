// How the ranks of a job find each other and notice when one dies, with nothing but TCP: rank 0 listens, the others
// connect and stay connected. Small messages go over these connections (NCCL's unique id, decisions, barriers), and a
// heartbeat. A rank whose connection breaks without a goodbye, or that is silent for too long, is lost: rank 0 tells
// everybody which one it was, and every waiting call throws RankLost.
//
// Where rank 0 listens: at MASTER_ADDR and MASTER_PORT, or at a port of its choice that it writes into a file which all
// ranks can read.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include "calib/host/crew.h"
#include "calib/launch/world.h"

namespace tessella::calib {

struct RendezvousOptions {
  std::string host; // of rank 0; or
  int port = 0;
  std::string file; // shared; used when `host` is empty
  std::chrono::milliseconds join_timeout = std::chrono::seconds(60);
  std::chrono::milliseconds heartbeat = std::chrono::seconds(2);
  std::chrono::milliseconds silence = std::chrono::seconds(15); // then a rank counts as lost
  // Called once, on a thread of the rendezvous, when a rank is lost; may be empty.
  std::function<void(const std::string& reason)> on_lost;
};

// MASTER_ADDR and MASTER_PORT, or `file` when that is given. Throws InputError when there is neither.
RendezvousOptions rendezvous_from(const Environment& get, const std::string& file);

class RankLost : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Rendezvous {
 public:
  // Returns when all ranks are there. Throws InputError when they are not in time (naming those that are missing, on
  // rank 0), or when somebody with another world size or an occupied rank turns up.
  Rendezvous(const World& world, RendezvousOptions options);
  // Says goodbye. A rank that ends without it counts as lost.
  ~Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  // Collective, in the same order on all ranks. Throw RankLost.
  std::string broadcast(const std::string& from_rank_0);
  void barrier();

  // Becomes true when a rank is lost: for code that waits elsewhere.
  const StopFlag& lost() const;
  std::string reason() const; // "rank 3 (node7, process 4242) died"; "" while all are well

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace tessella::calib
