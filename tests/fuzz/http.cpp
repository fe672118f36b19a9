// SPDX-License-Identifier: BSD-2-Clause
// Requests to the server of metrics: the first byte says where the rest is split. However it is
// split, each request is answered once, in order, and what is no request ends the connection after
// one refusal.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/fd.h"
#include "daemon/metrics/http_connection.h"
#include "daemon/runtime/event_loop.h"
#include "fuzz/fuzz.h"

namespace ktraced::fuzz {
namespace {

using namespace std::chrono_literals;

constexpr int kTurnsMax = 2000;  // of the loop; a request needs two

// What the server must do with an input.
struct Expected {
  std::vector<HttpRequest> requests;
  std::optional<int> refusal;  // its status, after these requests
};

Expected expected_of(std::string_view input) {
  Expected expected;
  // The server keeps no more of the input than this.
  while (const auto parsed = parse_http_request(input.substr(0, kHttpHeadBytes))) {
    require(parsed->size > 0 && parsed->size <= input.size(), "a request has a size in the input");
    if (const auto* refusal = std::get_if<HttpRefusal>(&parsed->request)) {
      require(refusal->status >= 400 && !refusal->reason.empty(), "a refusal has a reason");
      expected.refusal = refusal->status;
      break;
    }
    const auto& request = std::get<HttpRequest>(parsed->request);
    require(request.path.starts_with('/') && !request.path.contains('?'), "a path", request.path);
    expected.requests.push_back(request);
    if (!request.keep_alive) break;
    input.remove_prefix(parsed->size);
  }
  require(expected.refusal || input.size() < kHttpHeadBytes || !expected.requests.empty(),
          "an input of full length has an answer");
  return expected;
}

std::string body_of(const HttpRequest& request) { return "body of " + request.path + "\n"; }

// One connection on a pair of sockets.
class Session {
 public:
  explicit Session(EventLoop& loop) : loop_(loop) {
    std::array<int, 2> pair{};
    require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair.data()) == 0,
            "there are sockets");
    client_ = Fd(pair[0]);
    connection_.emplace(Fd(pair[1]), std::nullopt, handler_, limits_);
    require(connection_->start(loop_, [this] { connection_.reset(); }).has_value(), "it starts");
  }

  // Sends as much as the connection takes.
  void send(std::string_view text) {
    for (int turn = 0; !text.empty() && connection_ && turn < kTurnsMax; ++turn) {
      const ssize_t sent =
          ::send(client_.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent > 0) text.remove_prefix(static_cast<size_t>(sent));
      step();
    }
  }
  // Returns all answers.
  std::string finish() {
    ::shutdown(client_.get(), SHUT_WR);
    int turn = 0;
    for (; connection_ && turn < kTurnsMax; ++turn) step();
    require(!connection_, "the connection ends after the input");
    receive();
    return answers_;
  }
  [[nodiscard]] const std::vector<HttpRequest>& handled() const { return handled_; }

 private:
  void step() {
    require(loop_.run_once(0ms).has_value(), "the loop runs");
    receive();
  }
  void receive() {
    std::array<char, 16384> bytes;
    for (ssize_t got = 0;
         (got = ::recv(client_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT)) > 0;)
      answers_.append(bytes.data(), static_cast<size_t>(got));
  }

  EventLoop& loop_;
  HttpLimits limits_;
  std::vector<HttpRequest> handled_;
  HttpHandler handler_ = [this](const HttpRequest& request, const HttpReply& reply) {
    handled_.push_back(request);
    const std::string body = body_of(request);
    const HttpAnswer answer{.status = 200, .body = body};
    reply(answer);
    reply(answer);  // only the first one counts
  };
  Fd client_;
  std::string answers_;
  std::optional<HttpConnection> connection_;
};

// Takes one answer from the beginning of `text`, and returns its status.
int take_answer(std::string_view& text, bool head, std::string_view body) {
  require(text.starts_with("HTTP/1.1 "), "an answer begins with the version", text);
  int status = 0;
  std::from_chars(text.data() + 9, text.data() + std::min<size_t>(12, text.size()), status);
  const size_t end = text.find("\r\n\r\n");
  require(end != text.npos, "an answer has a head", text);
  constexpr std::string_view kLength = "Content-Length: ";
  const size_t at = text.find(kLength);
  require(at < end, "an answer has a length", text);
  size_t length = 0;
  std::from_chars(text.data() + at + kLength.size(), text.data() + end, length);
  text.remove_prefix(end + 4);
  if (head) return status;
  require(length <= text.size(), "an answer is whole");
  require(body.empty() || text.substr(0, length) == body, "the answer to this request", text);
  text.remove_prefix(length);
  return status;
}

void check_answers(std::string_view answers, const Expected& expected) {
  for (const HttpRequest& request : expected.requests)
    require(take_answer(answers, request.head, body_of(request)) == 200, "it is answered");
  if (expected.refusal)
    require(take_answer(answers, false, "") == *expected.refusal, "it is refused");
  require(answers.empty(), "there is one answer to each request", answers);
}

}  // namespace

void check_input(std::string_view input) {
  static const std::unique_ptr<EventLoop> loop = EventLoop::create().value();
  if (input.empty()) return;
  const size_t split = std::min<size_t>(static_cast<unsigned char>(input[0]), input.size() - 1);
  const std::string_view text = input.substr(1);
  const Expected expected = expected_of(text);
  Session session(*loop);
  session.send(text.substr(0, split));
  session.send(text.substr(split));
  const std::string answers = session.finish();
  require(session.handled().size() == expected.requests.size(), "each request is handled once");
  check_answers(answers, expected);
}

}  // namespace ktraced::fuzz
