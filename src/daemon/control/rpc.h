// SPDX-License-Identifier: BSD-2-Clause
// JSON-RPC 2.0: converts one line of request to one line of answer. No sockets here.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "daemon/runtime/peer.h"

namespace ktraced {

class Reply;
// Implements a method. `params` is always an object. Answers by `reply`, before it returns or
// later; other connections do not wait for the answer. An error of ExitCode::usage means bad
// parameters, ExitCode::no_permission a rejection; both keep their exit code.
using Handler =
    std::function<void(const nlohmann::json& params, const Peer& peer, const Reply& reply)>;
// Gets the connection once the answer has been sent.
using Takeover = std::function<void(Fd connection, const Peer& peer)>;

// A connection while it carries requests: until either side closes it, or it is handed over. Only
// the connection owns it; what answers later refers to it weakly.
struct RequestSource {
  // Sends the answer to the current request, with its newline; empty: sends nothing. With
  // `takeover`, the answer ends JSON-RPC on this connection.
  std::function<void(std::string line, Takeover takeover)> answer;
  // Sends a notification, with its newline, at once. It is lost if the client does not read.
  std::function<void(const std::string& line)> notify = nullptr;
};

// Error numbers of JSON-RPC, and our own.
enum class RpcCode : int {
  not_json = -32700,
  not_a_request = -32600,
  unknown_method = -32601,
  bad_params = -32602,
  internal = -32603,
  permission = -32001,
  failed = -32000,
};

// Answers one request, once; nothing is sent if its client has disconnected. Copies answer the same
// request. If the last copy is destroyed without an answer, an error is sent. Belongs to the loop's
// thread.
class Reply {
 public:
  void operator()(const Result<nlohmann::json>& result) const;
  // Answers, and hands over the connection afterwards, unless the client disconnects before.
  void hand_over(const nlohmann::json& result, Takeover takeover) const;
  // Answers with a result that is already JSON text.
  void text(std::string_view result) const;
  // False once the client has disconnected.
  [[nodiscard]] bool connected() const;
  // Sends a notification to the client that waits, if it still does.
  void notify(std::string_view method, const nlohmann::json& params) const;

 private:
  friend class Methods;
  struct State;
  explicit Reply(std::shared_ptr<State> state) : state_(std::move(state)) {}

  std::shared_ptr<State> state_;
};

// Which requests of a method by administrators are logged, see log_request().
enum class Logged {
  if_privileged,  // if readers may not make them
  always,         // also if readers may make them: administrators get more data
};

// A method's name and the names of its parameters; a request with others is rejected. `add("pause",
// …)`, `add({"filter.set", {"filter"}}, …)`.
struct MethodName {
  MethodName(const char* method, std::vector<std::string_view> parameters = {},
             Logged requests = Logged::if_privileged)
      : name(method), params(std::move(parameters)), logged(requests) {}

  std::string name;
  std::vector<std::string_view> params;  // with static lifetime
  Logged logged;
};

// The methods of a server.
class Methods {
 public:
  void add(MethodName name, Role role, Handler handler);

  // `edit` may change each line that is sent to a client, in place.
  using Edit = std::function<void(const Peer& peer, std::string& line)>;
  void edit_lines(Edit edit) { edit_ = std::move(edit); }
  // Applies it; a line is sent as it is if there is none.
  void edit_line(const Peer& peer, std::string& line) const {
    if (edit_) edit_(peer, line);
  }

  // Carries out a request. `source` gets one answer, before this returns or later; that of a
  // notification is empty. Errors of the request are answers, too.
  void answer(std::string_view request, const Peer& peer,
              const std::weak_ptr<const RequestSource>& source) const;

 private:
  void carry_out(std::string_view request, const Peer& peer, const Reply& reply) const;

  struct Method {
    [[nodiscard]] bool logged_for(const Peer& peer) const;

    MethodName name;
    Role role;
    Handler handler;
  };
  std::map<std::string, Method, std::less<>> methods_;
  Edit edit_;
};

// The JSON-RPC code for an error.
[[nodiscard]] RpcCode code_of(const Error& error);

// An error answer, with its newline. `id` is null if the id of the request is unknown.
[[nodiscard]] std::string error_line(RpcCode code, const Error& error,
                                     const nlohmann::json& id = nullptr);

}  // namespace ktraced
