// A TCP connection that carries framed messages: type, length, payload. Only what the rendezvous needs.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace tessella::calib {

struct Message {
  char type = 0;
  std::string payload;
};

// Owns a file descriptor; movable.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  ~Socket() { close(); }
  Socket(Socket&& other) noexcept : fd_(other.fd_), pending_(std::move(other.pending_)) { other.fd_ = -1; }
  Socket& operator=(Socket&& other) noexcept;
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  int fd() const { return fd_; }
  bool open() const { return fd_ >= 0; }
  void close();

  // False when the connection is gone, or the other side does not take the bytes for `send_timeout()`.
  bool send(const Message& message) const;
  // Reads what is there, once; false when the connection is gone or the bytes make no sense.
  bool fill();
  // The next complete message among what was read.
  std::optional<Message> next();
  // The first message, waiting for it; nothing when it does not come in time.
  std::optional<Message> wait(std::chrono::milliseconds timeout);

 private:
  int fd_ = -1;
  std::string pending_;
};

// Listens on all interfaces; port 0 = any. Throws InputError when the port is taken.
Socket listen_on(int port);
int port_of(const Socket& listener);
// One attempt; closed when nobody listens there. Throws InputError for a name that does not resolve.
Socket connect_to(const std::string& host, int port);
// The next connection, or a closed socket when none comes in time.
Socket accept_from(const Socket& listener, std::chrono::milliseconds timeout);

std::string own_host_name();

} // namespace tessella::calib
