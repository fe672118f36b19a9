// SPDX-License-Identifier: BSD-2-Clause
// JSON-RPC 2.0: from one line of request to one line of answer. No sockets here.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "daemon/peer.h"

namespace ktraced {

// Carries out a method. `params` is always an object. An error of ExitCode::usage
// means bad parameters, ExitCode::no_permission a refusal; both keep their exit code.
using Handler =
    std::function<Result<nlohmann::json>(const nlohmann::json& params, const Peer& peer)>;
class Session;
// Carries out a method that has to do with the connection it was asked by.
using SessionHandler = std::function<Result<nlohmann::json>(const nlohmann::json& params,
                                                            const Peer& peer, Session& session)>;
class Reply;
// Carries out a method whose answer takes time: nobody else waits for it meanwhile.
using DeferredHandler =
    std::function<void(const nlohmann::json& params, const Peer& peer, Reply reply)>;
// Takes over the connection once the answer has been sent.
using Takeover = std::function<void(Fd connection, const Peer& peer)>;
// The same, with the parameters of the request.
using Upgrade = std::function<void(Fd connection, const Peer& peer, const nlohmann::json& params)>;

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

// Answers one deferred request, once, whether its client is still there or not. Copies
// answer the same request. If the last one goes without having answered, an error is sent.
// Belongs to the loop's thread.
class Reply {
 public:
  // Sends the line of an answer; empty: nothing is to be sent.
  using Send = std::function<void(std::string line)>;

  Reply(Send send, nlohmann::json id, std::weak_ptr<const Session> session = {});
  void operator()(const Result<nlohmann::json>& result) const;
  // Sends a notification to the client that waits, if it still does.
  void notify(std::string_view method, const nlohmann::json& params) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
  std::weak_ptr<const Session> session_;
};

// A method's name and those of its parameters; a request with others is refused.
// `add("pause", …)`, `add({"filter.set", {"filter"}}, …)`.
struct MethodName {
  MethodName(const char* method, std::vector<std::string_view> parameters = {})
      : name(method), params(std::move(parameters)) {}

  std::string name;
  std::vector<std::string_view> params;  // of unlimited life
};

// A connection as long as it is one for requests: until it is closed by either side, or is taken
// over.
class Session : public std::enable_shared_from_this<Session> {
 public:
  // Destroys this when the session ends. While there is such a thing the client may be silent for
  // as long as it likes.
  void keep(std::shared_ptr<void> thing) { kept_ = std::move(thing); }
  [[nodiscard]] bool keeps_something() const { return kept_.use_count() != 0; }

  // Sends a notification of the server's, at once: how the request goes on that is being carried
  // out. A client that does not read loses nothing else by it.
  void notify(std::string_view method, const nlohmann::json& params) const;
  // Where notifications go, a line each.
  void set_output(std::function<void(const std::string& line)> output) {
    output_ = std::move(output);
  }

 private:
  std::function<void(const std::string& line)> output_;
  std::shared_ptr<void> kept_;
};

// The methods a server knows.
class Methods {
 public:
  void add(MethodName name, Role role, Handler handler);
  void add_session(MethodName name, Role role, SessionHandler handler);
  // A method after whose successful answer the connection stops being JSON-RPC.
  void add_upgrade(MethodName name, Role role, Handler handler, Upgrade upgrade);

  // A method that answers when it has the answer, perhaps before its handler returns.
  void add_deferred(MethodName name, Role role, DeferredHandler handler);

  struct Answer {
    std::string line;       // with its newline; empty for a notification
    Takeover takeover;      // set after a successful upgrade
    bool deferred = false;  // the line goes, or has gone, to `send_later`
  };
  // Never fails: what is wrong with a request is said in the answer. Of a deferred method
  // the answer is given to `send_later`, for anything but a notification.
  [[nodiscard]] Answer answer(std::string_view request, const Peer& peer, Session& session,
                              Reply::Send send_later = nullptr) const;

 private:
  [[nodiscard]] Answer answer_unguarded(std::string_view request, const Peer& peer,
                                        Session& session, Reply::Send send_later) const;

  struct Method {
    std::vector<std::string_view> params;
    Role role;
    SessionHandler handler;
    Upgrade upgrade;
    DeferredHandler deferred;  // instead of handler
  };
  std::map<std::string, Method, std::less<>> methods_;
};

// How JSON-RPC calls an error.
[[nodiscard]] RpcCode code_of(const Error& error);

// An error answer, with its newline. `id` null: the request's id is not known.
[[nodiscard]] std::string error_line(RpcCode code, const Error& error,
                                     const nlohmann::json& id = nullptr);

}  // namespace ktraced
