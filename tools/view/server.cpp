#include "server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "base/clock.h"
#include "base/error.h"
#include "request.h"

namespace tprof::view {
namespace {

constexpr u64 kSecond = 1'000'000'000;
constexpr size_t kMostConnections = 256;
constexpr u64 kToAsk = 10 * kSecond;      // until a request is whole
constexpr u64 kToTake = 30 * kSecond;     // until an answer is taken ...
constexpr u64 kSlowest = 100'000;         // ... and a second more for so many bytes
constexpr u64 kToLeave = 2 * kSecond;     // until the client closes, too
constexpr size_t kMostDrained = 1 << 20;  // bytes that a client sends after its request
constexpr u64 kPause = kSecond / 10;      // where no more can be accepted
constexpr int kPortsTried = 100;

u64 now_ns() { return clock_ns(CLOCK_MONOTONIC); }

int listen_on(int port) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), yes = 1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(u16(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (fd >= 0 && bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 && listen(fd, SOMAXCONN) == 0)
    return fd;
  int why = errno;
  if (fd >= 0) close(fd);
  errno = why;
  return -1;
}

const char* words_of(int status) {
  switch (status) {
    case 200: return "OK";
    case 202: return "Accepted";
    case 400: return "Bad Request";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 413: return "Content Too Large";
    case 431: return "Request Header Fields Too Large";
    case 503: return "Service Unavailable";
    case 505: return "HTTP Version Not Supported";
  }
  return "Internal Server Error";
}

u64 length_of(const Answer& answer) { return answer.file ? answer.file->bytes : answer.body.size(); }

std::string head_of(const Answer& answer) {
  std::string out = "HTTP/1.1 " + std::to_string(answer.status) + " " + words_of(answer.status) + "\r\n";
  if (answer.status == 405) out += "Allow: GET, HEAD\r\n";
  out += "Content-Type: " + answer.type + "\r\nContent-Length: " + std::to_string(length_of(answer)) +
         "\r\nContent-Security-Policy: " + answer.policy + "; frame-ancestors 'none'\r\n";
  return out +
         "Cache-Control: no-store\r\n"
         "X-Content-Type-Options: nosniff\r\n"
         "Referrer-Policy: no-referrer\r\n"
         "Cross-Origin-Resource-Policy: same-origin\r\n"
         "Cross-Origin-Opener-Policy: same-origin\r\n"
         "Connection: close\r\n\r\n";
}

}  // namespace

Server::Server(std::optional<int> port) {
  int fd = -1;
  for (int tried = port.value_or(kFirstPort); fd < 0 && tried < port.value_or(kFirstPort + kPortsTried - 1) + 1;
       tried++)
    fd = listen_on(tried);
  if (fd < 0 && !port) fd = listen_on(0);
  if (fd < 0)
    throw Error(Fault::usage, "port " + std::to_string(port.value_or(0)) + " of 127.0.0.1 cannot be listened to (" +
                                  strerror(errno) + "); another --port, or none for the first that is free");
  socket_ = std::make_shared<File>(fd);
  sockaddr_in address{};
  socklen_t size = sizeof address;
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  port_ = ntohs(address.sin_port);
}

void Server::serve(const Handler& answer, int wake, const std::function<bool()>& woken) {
  for (;;) {
    u64 now = now_ns(), until = now + 3600 * kSecond;
    bool accepts = now >= pause_until_ns_;
    if (!accepts) until = pause_until_ns_;
    std::vector<pollfd> watched = {{wake, POLLIN, 0}, {accepts ? socket_->fd() : -1, POLLIN, 0}};
    for (const Connection& connection : connections_) {
      watched.push_back(
          {connection.socket->fd(), short(connection.phase == Connection::Phase::writes ? POLLOUT : POLLIN), 0});
      until = std::min(until, connection.until_ns);
    }
    constexpr u64 kNsPerMs = 1'000'000;
    int wait_ms = int((std::max(until, now) - now) / kNsPerMs) + 1;
    if (poll(watched.data(), watched.size(), wait_ms) < 0) continue;  // EINTR: `wake` says why
    if (watched[0].revents && !woken()) return;
    size_t at = 2;
    for (Connection& connection : connections_)
      if (watched[at++].revents) go_on(connection, answer);
    now = now_ns();
    connections_.remove_if(
        [&](const Connection& c) { return c.phase == Connection::Phase::over || c.until_ns <= now; });
    if (watched[1].revents) accept_one();
  }
}

void Server::accept_one() {
  bool has_room = connections_.size() < kMostConnections || make_room();
  int fd = has_room ? accept4(socket_->fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK) : -1;
  if (fd >= 0)
    connections_.push_back({std::make_shared<File>(fd), now_ns() + kToAsk});
  else if (!has_room || (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED && !make_room()))
    pause_until_ns_ = now_ns() + kPause;
}

// Who has its answer goes first, then who has not asked yet; of these the oldest.
bool Server::make_room() {
  for (Connection::Phase phase : {Connection::Phase::drains, Connection::Phase::reads}) {
    auto is_in = [=](const Connection& connection) { return connection.phase == phase; };
    auto oldest = std::find_if(connections_.begin(), connections_.end(), is_in);
    if (oldest == connections_.end()) continue;
    connections_.erase(oldest);
    return true;
  }
  return false;
}

void Server::go_on(Connection& connection, const Handler& answer) {
  switch (connection.phase) {
    case Connection::Phase::reads: return read(connection, answer);
    case Connection::Phase::writes: return write(connection);
    case Connection::Phase::drains: return drain(connection);
    case Connection::Phase::over: return;
  }
}

void Server::read(Connection& connection, const Handler& answer) {
  char buffer[4096];
  size_t room = std::min(sizeof buffer, kLongestHead - connection.bytes.size());
  ssize_t n = recv(connection.socket->fd(), buffer, room, 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) {
    connection.phase = Connection::Phase::over;
    return;
  }
  connection.bytes.append(buffer, size_t(n));
  std::optional<size_t> end = end_of_head(connection.bytes);
  if (!end && connection.bytes.size() < kLongestHead) return;
  Answer said{.status = 431, .body = "the request is too long\n"};
  if (end) said = answer(std::string_view(connection.bytes).substr(0, *end));
  connection.bytes = head_of(said);
  if (!said.head_only) {
    connection.bytes += said.body;
    if (said.file) connection.file = *said.file;
  }
  connection.phase = Connection::Phase::writes;
  connection.until_ns = now_ns() + kToTake + length_of(said) / kSlowest * kSecond;
  write(connection);
}

void Server::write(Connection& connection) {
  int fd = connection.socket->fd();
  while (connection.done < connection.bytes.size() || connection.file.bytes) {
    bool in_memory = connection.done < connection.bytes.size();
    off_t begin = off_t(connection.file.begin);
    constexpr u64 kAtOnce = 1 << 20;  // others want to be served, too
    ssize_t n = in_memory ? send(fd, connection.bytes.data() + connection.done,
                                 connection.bytes.size() - connection.done, MSG_NOSIGNAL)
                          : sendfile(fd, connection.file.file->fd(), &begin, std::min(connection.file.bytes, kAtOnce));
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) {
      connection.phase = Connection::Phase::over;
      return;
    }
    if (in_memory) {
      connection.done += size_t(n);
    } else {
      connection.file.begin += u64(n);
      connection.file.bytes -= u64(n);
      if (connection.file.bytes) return;
    }
  }
  // Closing a socket of which not all was read would take the answer from the client.
  shutdown(fd, SHUT_WR);
  connection.bytes.clear();
  connection.done = 0;
  connection.file = {};
  connection.phase = Connection::Phase::drains;
  connection.until_ns = now_ns() + kToLeave;
}

void Server::drain(Connection& connection) {
  char buffer[4096];
  ssize_t n = recv(connection.socket->fd(), buffer, sizeof buffer, 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  connection.done += size_t(std::max<ssize_t>(n, 0));
  if (n <= 0 || connection.done > kMostDrained) connection.phase = Connection::Phase::over;
}

}  // namespace tprof::view
