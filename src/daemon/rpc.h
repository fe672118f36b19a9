// JSON-RPC 2.0: from one line of request to one line of answer. No sockets here.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/fd.h"
#include "daemon/peer.h"

namespace ktraced {

// Carries out a method. `params` is always an object. An error of ExitCode::usage
// means bad parameters, ExitCode::no_permission a refusal; both keep their exit code.
using Handler =
    std::function<Result<nlohmann::json>(const nlohmann::json& params, const Peer& peer)>;
// Takes over the connection once the answer has been sent.
using Takeover = std::function<void(Fd connection, const Peer& peer)>;

// Error numbers of JSON-RPC, and our own.
enum class RpcCode : int {
  not_json = -32700,
  not_a_request = -32600,
  unknown_method = -32601,
  bad_params = -32602,
  permission = -32001,
  failed = -32000,
};

// The methods a server knows.
class Methods {
 public:
  void add(std::string name, Role role, Handler handler);
  // A method after whose successful answer the connection stops being JSON-RPC.
  void add_upgrade(std::string name, Role role, Handler handler, Takeover takeover);

  struct Answer {
    std::string line;   // with its newline; empty for a notification
    Takeover takeover;  // set after a successful upgrade
  };
  // Never fails: what is wrong with a request is said in the answer.
  [[nodiscard]] Answer answer(std::string_view request, const Peer& peer) const;

 private:
  struct Method {
    Role role;
    Handler handler;
    Takeover takeover;
  };
  std::map<std::string, Method, std::less<>> methods_;
};

// An error answer, with its newline. `id` null: the request's id is not known.
[[nodiscard]] std::string error_line(RpcCode code, const Error& error,
                                     const nlohmann::json& id = nullptr);

}  // namespace ktraced
