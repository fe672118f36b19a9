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

// Implements a method. `params` is always an object. An error of ExitCode::usage means bad
// parameters, ExitCode::no_permission a rejection; both keep their exit code.
using Handler =
    std::function<Result<nlohmann::json>(const nlohmann::json& params, const Peer& peer)>;
class Reply;
// Implements a method whose answer takes time. Other connections do not wait for it.
using DeferredHandler =
    std::function<void(const nlohmann::json& params, const Peer& peer, Reply reply)>;
// Gets the connection once the answer has been sent.
using Takeover = std::function<void(Fd connection, const Peer& peer)>;
class RequestSource;

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

// Answers one deferred request, once, even if its client has disconnected. Copies answer the same
// request. If the last copy is destroyed without an answer, an error is sent. Belongs to the loop's
// thread.
class Reply {
 public:
  // Sends the line of an answer; empty: sends nothing. With `takeover`, the answer ends JSON-RPC on
  // this connection.
  using Send = std::function<void(std::string line, Takeover takeover)>;

  // Without an id, for a notification, the line is empty.
  Reply(Send send, std::optional<nlohmann::json> id,
        std::weak_ptr<const RequestSource> source = {});
  void operator()(const Result<nlohmann::json>& result) const;
  // Answers, and hands over the connection afterwards, unless the client disconnects before.
  void hand_over(const nlohmann::json& result, Takeover takeover) const;
  // Answers with a result that is already JSON text.
  void text(std::string_view result) const;
  // False once the client has disconnected.
  [[nodiscard]] bool connected() const { return !source_.expired(); }
  // Sends a notification to the client that waits, if it still does.
  void notify(std::string_view method, const nlohmann::json& params) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
  std::weak_ptr<const RequestSource> source_;
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

// A connection while it carries requests: until either side closes it, or it is handed over.
class RequestSource : public std::enable_shared_from_this<RequestSource> {
 public:
  // Sends a progress notification for the current request at once. It is lost if the client does
  // not read.
  void notify(std::string_view method, const nlohmann::json& params) const;
  // Sets the receiver of notifications, one line each.
  void set_output(std::function<void(const std::string& line)> output) {
    output_ = std::move(output);
  }

 private:
  std::function<void(const std::string& line)> output_;
};

// The methods of a server.
class Methods {
 public:
  void add(MethodName name, Role role, Handler handler);
  // Adds a method that answers later, or before its handler returns. Its answer may end JSON-RPC on
  // this connection.
  void add_deferred(MethodName name, Role role, DeferredHandler handler);

  // `edit` may change each line that is sent to a client, in place.
  using Edit = std::function<void(const Peer& peer, std::string& line)>;
  void edit_lines(Edit edit) { edit_ = std::move(edit); }
  // Applies it; a line is sent as it is if there is none.
  void edit_line(const Peer& peer, std::string& line) const {
    if (edit_) edit_(peer, line);
  }

  struct Answer {
    std::string line;       // with its newline; empty for a notification
    bool deferred = false;  // the line is or was given to `send_later`
  };
  // Never fails: the answer reports errors of the request. Of a deferred method
  // the answer is given to `send_later`; that of a notification is empty.
  [[nodiscard]] Answer answer(std::string_view request, const Peer& peer, RequestSource& source,
                              Reply::Send send_later = nullptr) const;

 private:
  [[nodiscard]] Answer answer_unguarded(std::string_view request, const Peer& peer,
                                        RequestSource& source, Reply::Send send_later) const;

  struct Method {
    [[nodiscard]] bool logged_for(const Peer& peer) const;

    std::vector<std::string_view> params;
    Logged logged;
    Role role;
    Handler handler;
    DeferredHandler deferred;  // instead of handler
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
