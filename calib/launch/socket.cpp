#include "calib/launch/socket.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "sim/base/error.h"

namespace tessella::calib {
namespace {

constexpr std::uint32_t kLongest = 1 << 20; // payload; ours are ids and words
constexpr std::size_t kHeader = 5;          // type, then the length with its low byte first

void set_up(int fd) {
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const timeval limit{5, 0}; // a peer that takes nothing must not stop us
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

bool readable(int fd, std::chrono::milliseconds timeout) {
  pollfd p{fd, POLLIN, 0};
  int n = 0;
  do {
    n = ::poll(&p, 1, static_cast<int>(timeout.count()));
  } while (n < 0 && errno == EINTR);
  return n > 0;
}

std::uint32_t length_of(const std::string& bytes) {
  std::uint32_t length = 0;
  for (std::size_t i = 0; i < 4; ++i)
    length |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[1 + i])) << (8 * i);
  return length;
}

} // namespace

Socket& Socket::operator=(Socket&& other) noexcept {
  if (this != &other) {
    close();
    fd_ = other.fd_;
    pending_ = std::move(other.pending_);
    other.fd_ = -1;
  }
  return *this;
}

void Socket::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

bool Socket::send(const Message& m) const {
  std::string bytes(1, m.type);
  const auto length = static_cast<std::uint32_t>(m.payload.size());
  for (int i = 0; i < 4; ++i) bytes += static_cast<char>(length >> (8 * i) & 0xffU);
  bytes += m.payload;
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t n = ::send(fd_, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<std::size_t>(n);
  }
  return true;
}

bool Socket::fill() {
  std::array<char, 4096> buffer{};
  ssize_t n = 0;
  do {
    n = ::recv(fd_, buffer.data(), buffer.size(), 0);
  } while (n < 0 && errno == EINTR);
  if (n <= 0) return false;
  pending_.append(buffer.data(), static_cast<std::size_t>(n));
  return pending_.size() < kHeader || length_of(pending_) <= kLongest;
}

std::optional<Message> Socket::next() {
  if (pending_.size() < kHeader) return std::nullopt;
  const std::size_t length = length_of(pending_);
  if (pending_.size() < kHeader + length) return std::nullopt;
  Message m{pending_[0], pending_.substr(kHeader, length)};
  pending_.erase(0, kHeader + length);
  return m;
}

std::optional<Message> Socket::wait(std::chrono::milliseconds timeout) {
  const auto end = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    if (auto m = next()) return m;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    if (left.count() <= 0 || !readable(fd_, left) || !fill()) return std::nullopt;
  }
}

Socket listen_on(int port) {
  Socket s(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!s.open()) throw InputError("rendezvous", fmt::format("no socket: {}", std::strerror(errno)));
  const int on = 1;
  ::setsockopt(s.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  if (::bind(s.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 || ::listen(s.fd(), 1024) != 0)
    throw InputError(fmt::format("port {}", port),
                     fmt::format("rank 0 cannot listen there: {}; choose another MASTER_PORT", std::strerror(errno)));
  return s;
}

int port_of(const Socket& listener) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  ::getsockname(listener.fd(), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

Socket connect_to(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int status = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (status != 0) throw InputError(host, fmt::format("no such host: {}", ::gai_strerror(status)));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> addresses(found, ::freeaddrinfo);
  for (const addrinfo* a = found; a != nullptr; a = a->ai_next) {
    Socket s(::socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol));
    if (!s.open() || ::connect(s.fd(), a->ai_addr, a->ai_addrlen) != 0) continue;
    set_up(s.fd());
    return s;
  }
  return {};
}

Socket accept_from(const Socket& listener, std::chrono::milliseconds timeout) {
  if (!readable(listener.fd(), timeout)) return {};
  Socket s(::accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC));
  if (s.open()) set_up(s.fd());
  return s;
}

std::string own_host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

} // namespace tessella::calib
