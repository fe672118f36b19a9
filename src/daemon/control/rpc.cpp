// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/control/rpc.h"
#include "daemon/log/audit.h"

#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "base/limits.h"
#include "base/text/suggest.h"
#include "daemon/runtime/failure_barrier.h"
#include "daemon/runtime/json_text.h"

namespace ktraced {
namespace {

using nlohmann::json;

// Deeper requests are rejected unparsed: all functions that walk a value, including its destructor,
// may recurse.
constexpr size_t kRequestDepthMax = 32;

// The nesting depth of brackets outside of strings. For text that is not JSON, any number.
size_t nesting_depth(std::string_view text) {
  size_t depth = 0, deepest = 0;
  bool quoted = false;
  for (size_t at = 0; at < text.size(); ++at) {
    char c = text[at];
    if (quoted) {
      if (c == '\\') ++at;
      quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return deepest;
}

std::string to_line(const json& value) { return json_text(value) + '\n'; }

std::string result_line(json result, const json& id) {
  return to_line({{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}});
}

// A parsed request. On failure `id` has what could be read of it.
struct Request {
  std::optional<json> id;  // nothing: a notification
  std::string method;
  json params = json::object();
};

Error bad(std::string message) { return {ExitCode::usage, std::move(message)}; }

struct Refusal {
  RpcCode code;
  Error error;
};

std::optional<Refusal> read_request(std::string_view text, Request& request) {
  if (nesting_depth(text) > kRequestDepthMax)
    return Refusal{RpcCode::not_a_request,
                   bad(fmt::format("the request nests deeper than {} levels", kRequestDepthMax))};
  json value = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (value.is_discarded())
    return Refusal{RpcCode::not_json, bad("the line is not JSON; send one request a line")};
  auto invalid = [](std::string message) {
    return Refusal{RpcCode::not_a_request, bad(std::move(message))};
  };
  if (!value.is_object())
    return invalid("a request is a JSON object, one a line; batches are not supported");
  if (auto id = value.find("id"); id != value.end()) {
    request.id = json();
    if (!id->is_string() && !id->is_number())
      return invalid("the request's id must be a string or a number");
    request.id = *id;
  }
  if (value.value("jsonrpc", json()) != "2.0")
    return invalid(R"(the request must have "jsonrpc":"2.0")");
  auto method = value.find("method");
  if (method == value.end() || !method->is_string())
    return invalid("the request must have a \"method\", which is a string");
  request.method = method->get<std::string>();
  if (auto params = value.find("params"); params != value.end()) {
    if (!params->is_object())
      return Refusal{RpcCode::bad_params, bad("\"params\" must be an object of named values")};
    request.params = std::move(*params);
  }
  return std::nullopt;
}

// A misspelled parameter must not be treated as missing.
Result<> check_params(const Request& request, std::span<const std::string_view> known) {
  for (const auto& [key, value] : request.params.items()) {
    if (std::ranges::find(known, key) != known.end()) continue;
    if (known.empty())
      return fail(ExitCode::usage, "{} takes no parameters, and was given '{:.64}'", request.method,
                  key);
    return fail(
        ExitCode::usage, "{}: {}", request.method,
        unknown_name("parameter", key, known, fmt::format("there are {}", fmt::join(known, ", "))));
  }
  return {};
}

Error not_permitted(std::string_view method, Role role) {
  if (role != Role::admin) return no_role_error();
  return {ExitCode::no_permission,
          fmt::format("{} is for administrators: root, or a uid of control.admin_uids in the "
                      "configuration",
                      method)};
}

}  // namespace

struct Reply::State {
  explicit State(std::weak_ptr<const RequestSource> client) : source(std::move(client)) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    FailureBarrier("a request").run([this] {
      refuse(RpcCode::internal,
             {ExitCode::software, "internal error: the request was not answered"});
    });
  }

  // The line is built before the request counts as answered: if that fails, another answer is sent.
  template <class LineOf>
  void answer(const LineOf& line_of, Takeover takeover = nullptr) {
    if (answered) return;
    std::string line = id ? line_of(*id) : std::string();
    answered = true;
    if (const auto client = source.lock()) client->answer(std::move(line), std::move(takeover));
  }
  void refuse(RpcCode code, const Error& error) {
    answer([&](const json& request_id) { return error_line(code, error, request_id); });
  }

  std::weak_ptr<const RequestSource> source;
  std::optional<json> id{std::in_place};  // null: unreadable; none: a notification
  bool answered = false;
};

void Reply::operator()(const Result<json>& result) const {
  if (!result) return state_->refuse(code_of(result.error()), result.error());
  hand_over(*result, nullptr);
}

void Reply::hand_over(const json& result, Takeover takeover) const {
  state_->answer([&](const json& id) { return result_line(result, id); }, std::move(takeover));
}

void Reply::text(std::string_view result) const {
  state_->answer([&](const json& id) {
    return fmt::format("{{\"id\":{},\"jsonrpc\":\"2.0\",\"result\":{}}}\n", json_text(id), result);
  });
}

bool Reply::connected() const { return !state_->source.expired(); }

void Reply::notify(std::string_view method, const json& params) const {
  if (state_->answered) return;
  if (const auto source = state_->source.lock())
    source->notify(to_line({{"jsonrpc", "2.0"}, {"method", method}, {"params", params}}));
}

void Methods::add(MethodName name, Role role, Handler handler) {
  methods_.insert_or_assign(name.name, Method{name, role, std::move(handler)});
}

bool Methods::Method::logged_for(const Peer& peer) const {
  return peer.role == Role::admin && (role == Role::admin || name.logged == Logged::always);
}

// An exception that a handler does not catch must not end the daemon.
void Methods::answer(std::string_view text, const Peer& peer,
                     const std::weak_ptr<const RequestSource>& source) const {
  const Reply reply(std::make_shared<Reply::State>(source));
  try {
    carry_out(text, peer, reply);
  } catch (const json::exception& error) {
    reply(fail(ExitCode::usage, "bad parameters: {}", error.what()));
  } catch (...) {
    Error error = unexpected_error();
    spdlog::error("a request failed: {}", error.message);
    reply(std::unexpected(std::move(error)));
  }
}

void Methods::carry_out(std::string_view text, const Peer& peer, const Reply& reply) const {
  Request request;
  const auto refusal = read_request(text, request);
  Reply::State& state = *reply.state_;
  if (request.id || !refusal) state.id = request.id;

  if (peer.role == Role::none)
    return state.refuse(RpcCode::permission, not_permitted(request.method, Role::read));
  if (refusal) return state.refuse(refusal->code, refusal->error);
  const auto found = methods_.find(request.method);
  if (found == methods_.end())
    return state.refuse(RpcCode::unknown_method,
                        bad(fmt::format("unknown method '{:.64}'", request.method)));
  const Method& method = found->second;
  if (method.role > peer.role)
    return state.refuse(RpcCode::permission, not_permitted(request.method, method.role));
  if (auto known = check_params(request, method.name.params); !known)
    return state.refuse(RpcCode::bad_params, known.error());
  if (method.logged_for(peer)) log_request(peer, request.method, request.params);
  method.handler(request.params, peer, reply);
}

RpcCode code_of(const Error& error) {
  switch (error.code) {
    case ExitCode::usage:
      return RpcCode::bad_params;
    case ExitCode::no_permission:
      return RpcCode::permission;
    case ExitCode::software:
      return RpcCode::internal;
    default:
      return RpcCode::failed;
  }
}

std::string error_line(RpcCode code, const Error& error, const json& id) {
  return to_line({{"jsonrpc", "2.0"},
                  {"id", id},
                  {"error",
                   {{"code", static_cast<int>(code)},
                    {"message", error.message},
                    {"data", {{"exit_code", static_cast<int>(error.code)}}}}}});
}

}  // namespace ktraced
