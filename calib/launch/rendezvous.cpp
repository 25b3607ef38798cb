#include "calib/launch/rendezvous.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>
#include <vector>

#include "calib/launch/socket.h"
#include "sim/base/atomic_file.h"
#include "sim/base/error.h"

namespace tessella::calib {
namespace {

using Clock = std::chrono::steady_clock;

constexpr char kHello = 'H';     // "rank size identity"
constexpr char kRefused = 'R';   // why
constexpr char kBroadcast = 'B'; // the payload
constexpr char kArrived = 'A';   // at a barrier
constexpr char kRelease = 'G';   // from a barrier
constexpr char kBeat = 'T';
constexpr char kLost = 'L'; // who
constexpr char kBye = 'Q';

std::string identity() {
  return fmt::format("{}, process {}", own_host_name(), ::getpid());
}

struct Peer {
  int rank = 0;
  std::string identity;
  Socket socket;
  Clock::time_point heard = Clock::now();
  bool left = false; // said goodbye
};

void check_hello(int rank, int size, const World& world, const std::vector<bool>& present) {
  if (size != world.size)
    throw InputError("rendezvous", fmt::format("it is one of {} ranks, not of {}", size, world.size));
  if (rank <= 0 || rank >= world.size || present[static_cast<std::size_t>(rank)])
    throw InputError("rendezvous", fmt::format("rank {} is taken or does not exist", rank));
}

} // namespace

class Rendezvous::Impl {
 public:
  Impl(const World& world, RendezvousOptions options) : world_(world), options_(std::move(options)) {
    if (world_.size == 1) return;
    if (world_.rank == 0)
      gather();
    else
      join();
    watcher_ = std::thread([this] { watch(); });
  }

  ~Impl() {
    leaving_ = true;
    if (watcher_.joinable()) watcher_.join();
    for (const Peer& p : peers_)
      if (p.socket.open()) p.socket.send({kBye, ""});
    if (world_.rank == 0 && options_.host.empty() && !options_.file.empty()) {
      std::error_code ignored;
      std::filesystem::remove(options_.file, ignored);
    }
  }

  std::string broadcast(const std::string& text) {
    if (world_.size == 1) return text;
    if (world_.rank == 0) {
      send_to_all({kBroadcast, text});
      throw_if_lost();
      return text;
    }
    return wait_for(broadcasts_);
  }

  void barrier() {
    if (world_.size == 1) return;
    if (world_.rank == 0) {
      std::unique_lock lock(guard_);
      changed_.wait(lock, [this] { return arrived_ >= world_.size - 1 || lost_; });
      if (lost_) throw RankLost(reason_);
      arrived_ -= world_.size - 1;
      lock.unlock();
      send_to_all({kRelease, ""});
      return;
    }
    send_to_all({kArrived, ""});
    wait_for(releases_);
  }

  const StopFlag& lost() const { return lost_; }
  std::string reason() const {
    const std::lock_guard lock(guard_);
    return reason_;
  }

 private:
  // --- rank 0: everybody must come ---
  void gather() {
    const Socket listener = listen_on(options_.host.empty() ? 0 : options_.port);
    if (options_.host.empty()) write_file(options_.file, fmt::format("{} {}\n", own_host_name(), port_of(listener)));
    std::vector<bool> present(static_cast<std::size_t>(world_.size), false);
    const auto end = Clock::now() + options_.join_timeout;
    while (static_cast<int>(peers_.size()) < world_.size - 1) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
      Socket s = left.count() > 0 ? accept_from(listener, left) : Socket();
      if (!s.open()) throw InputError("rendezvous", missing_text(present));
      admit(std::move(s), present);
    }
    std::sort(peers_.begin(), peers_.end(), [](const Peer& a, const Peer& b) { return a.rank < b.rank; });
    for (const Peer& p : peers_) p.socket.send({kHello, fmt::format("0 {} {}", world_.size, identity())});
  }

  void admit(Socket s, std::vector<bool>& present) {
    const auto hello = s.wait(std::chrono::seconds(5));
    int rank = 0;
    int size = 0;
    int used = 0;
    if (!hello || hello->type != kHello || std::sscanf(hello->payload.c_str(), "%d %d %n", &rank, &size, &used) != 2)
      return; // not one of ours
    try {
      check_hello(rank, size, world_, present);
    } catch (const InputError& error) {
      s.send({kRefused, error.message()});
      throw InputError("rendezvous",
                       fmt::format("rank {} ({}) cannot join: {}", rank,
                                   hello->payload.substr(static_cast<std::size_t>(used)), error.message()));
    }
    present[static_cast<std::size_t>(rank)] = true;
    peers_.push_back({rank, hello->payload.substr(static_cast<std::size_t>(used)), std::move(s)});
  }

  std::string missing_text(const std::vector<bool>& present) const {
    std::string ranks;
    for (int r = 1; r < world_.size; ++r)
      if (!present[static_cast<std::size_t>(r)]) ranks += fmt::format("{}{}", ranks.empty() ? "" : ", ", r);
    return fmt::format("rank {} did not come within {} s", ranks, options_.join_timeout.count() / 1000);
  }

  // --- the others: rank 0 may start later than we do ---
  void join() {
    const auto end = Clock::now() + options_.join_timeout;
    for (;;) {
      Socket s = try_connect();
      if (s.open() && s.send({kHello, fmt::format("{} {} {}", world_.rank, world_.size, identity())})) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
        const auto answer = s.wait(std::max(left, std::chrono::milliseconds(1)));
        if (answer && answer->type == kRefused) throw InputError("rendezvous", answer->payload);
        if (answer && answer->type == kHello) {
          const std::size_t name = answer->payload.find(' ', 2) + 1;
          peers_.push_back({0, answer->payload.substr(name), std::move(s)});
          return;
        }
      }
      if (Clock::now() >= end)
        throw InputError("rendezvous", fmt::format("rank {} cannot reach rank 0 within {} s", world_.rank,
                                                   options_.join_timeout.count() / 1000));
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }

  // Nothing yet is no error; a file left over from an earlier job leads nowhere and is read again.
  Socket try_connect() const {
    if (!options_.host.empty()) return connect_to(options_.host, options_.port);
    std::ifstream in(options_.file);
    std::string host;
    int port = 0;
    return in >> host >> port ? connect_to(host, port) : Socket();
  }

  // --- everybody, on the watcher's thread ---
  void watch() {
    auto next_beat = Clock::now() + options_.heartbeat;
    while (!leaving_ && !lost_) {
      std::vector<pollfd> fds;
      for (const Peer& p : peers_)
        if (!p.left) fds.push_back({p.socket.fd(), POLLIN, 0});
      if (::poll(fds.data(), fds.size(), 20) > 0) read_all(fds);
      if (Clock::now() < next_beat) continue;
      next_beat = Clock::now() + options_.heartbeat;
      send_to_all({kBeat, ""});
      for (const Peer& p : peers_)
        if (!p.left && Clock::now() - p.heard > options_.silence) declare_lost(p, "is silent");
    }
  }

  void read_all(const std::vector<pollfd>& fds) {
    for (Peer& p : peers_) {
      const bool ready = std::any_of(fds.begin(), fds.end(), [&p](const pollfd& f) {
        return f.fd == p.socket.fd() && (f.revents & (POLLIN | POLLHUP | POLLERR)) != 0;
      });
      if (!ready || p.left) continue;
      const bool alive = p.socket.fill();
      p.heard = Clock::now();
      while (const auto m = p.socket.next()) take(p, *m);
      if (!alive && !p.left && !lost_) declare_lost(p, "died");
    }
  }

  void take(Peer& p, const Message& m) {
    const std::lock_guard lock(guard_);
    if (m.type == kBye) p.left = true;
    if (m.type == kBroadcast) broadcasts_.push_back(m.payload);
    if (m.type == kArrived) ++arrived_;
    if (m.type == kRelease) releases_.push_back("");
    if (m.type == kLost) set_lost(m.payload);
    changed_.notify_all();
  }

  void declare_lost(const Peer& p, const char* how) {
    const std::string text = fmt::format("rank {} ({}) {}", p.rank, p.identity, how);
    if (world_.rank == 0) send_to_all({kLost, text});
    const std::lock_guard lock(guard_);
    set_lost(text);
    changed_.notify_all();
  }

  void set_lost(const std::string& text) { // guard_ is held
    if (lost_) return;
    reason_ = text;
    lost_ = true;
    if (options_.on_lost) options_.on_lost(text);
  }

  void send_to_all(const Message& m) {
    const std::lock_guard lock(sending_);
    for (const Peer& p : peers_)
      if (!p.left) p.socket.send(m); // whether it is gone, the reading side finds out
  }

  void throw_if_lost() const {
    const std::lock_guard lock(guard_);
    if (lost_) throw RankLost(reason_);
  }

  std::string wait_for(std::deque<std::string>& queue) {
    std::unique_lock lock(guard_);
    changed_.wait(lock, [&] { return !queue.empty() || lost_; });
    if (queue.empty()) throw RankLost(reason_);
    std::string front = std::move(queue.front());
    queue.pop_front();
    return front;
  }

  World world_;
  RendezvousOptions options_;
  std::vector<Peer> peers_; // rank 0: all others; the others: rank 0
  std::thread watcher_;
  std::atomic<bool> leaving_ = false;
  std::mutex sending_;
  mutable std::mutex guard_; // of what follows
  std::condition_variable changed_;
  std::deque<std::string> broadcasts_;
  std::deque<std::string> releases_;
  int arrived_ = 0;
  StopFlag lost_ = false;
  std::string reason_;
};

RendezvousOptions rendezvous_from(const Environment& get, const std::string& file) {
  RendezvousOptions o;
  o.file = file;
  if (!file.empty()) return o;
  const char* host = get("MASTER_ADDR");
  const char* port = get("MASTER_PORT");
  if (host == nullptr || port == nullptr)
    throw InputError("rendezvous", "several ranks need MASTER_ADDR and MASTER_PORT, or --rendezvous FILE on a file "
                                   "system that all of them see");
  o.host = host;
  o.port = std::atoi(port);
  if (o.port <= 0 || o.port > 65535) throw InputError("MASTER_PORT", fmt::format("'{}' is not a port", port));
  return o;
}

Rendezvous::Rendezvous(const World& world, RendezvousOptions options)
    : impl_(std::make_unique<Impl>(world, std::move(options))) {}
Rendezvous::~Rendezvous() = default;
std::string Rendezvous::broadcast(const std::string& text) {
  return impl_->broadcast(text);
}
void Rendezvous::barrier() {
  impl_->barrier();
}
const StopFlag& Rendezvous::lost() const {
  return impl_->lost();
}
std::string Rendezvous::reason() const {
  return impl_->reason();
}

} // namespace tessella::calib
