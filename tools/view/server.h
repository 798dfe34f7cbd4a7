// Answers requests on a port of 127.0.0.1, one on each connection, in one thread. What a client may take is bounded:
// connections, the bytes of a request, the time until it is whole, and the time until its answer is taken.
#pragma once
#include <functional>
#include <list>
#include <string_view>

#include "pages.h"

namespace tprof::view {

struct Answer {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body = {};
  std::optional<Stretch> file = {};                                                // in place of `body`
  std::string policy = "default-src 'none'; base-uri 'none'; form-action 'none'";  // Content-Security-Policy
  bool head_only = false;
};

class Server {
 public:
  // Listens. `port`: 0: any that is free; nothing: the first that is free from kFirstPort on, else any.
  // Throws Error(Fault::usage) if the port cannot be had.
  static constexpr int kFirstPort = 6006;
  explicit Server(std::optional<int> port);
  int port() const { return port_; }

  // Answers what `answer` says to the head of a request (request.h). When `wake` can be read, `woken` is called, until
  // it returns false.
  using Handler = std::function<Answer(std::string_view head)>;
  void serve(const Handler& answer, int wake, const std::function<bool()>& woken);

 private:
  struct Connection {
    enum class Phase { reads, writes, drains, over };
    std::shared_ptr<File> socket;
    u64 until_ns;  // on the monotonic clock; then it is closed
    Phase phase = Phase::reads;
    std::string bytes = {};  // received, then to be sent
    size_t done = 0;         // of them, when they are sent or drained
    Stretch file = {};       // to be sent after them
  };

  void accept_one();
  bool make_room();
  void go_on(Connection& connection, const Handler& answer);
  void read(Connection& connection, const Handler& answer);
  void write(Connection& connection);
  void drain(Connection& connection);

  std::shared_ptr<File> socket_;
  int port_ = 0;
  u64 pause_until_ns_ = 0;             // nothing is accepted until then
  std::list<Connection> connections_;  // oldest first
};

}  // namespace tprof::view
