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

// Runs a handler. An exception that it does not catch must not end the daemon.
template <class Call>
Result<json> guarded(Call&& call) {
  try {
    return call();
  } catch (const json::exception& error) {
    return fail(ExitCode::usage, "bad parameters: {}", error.what());
  } catch (...) {
    Error error = unexpected_error();
    spdlog::error("a request failed: {}", error.message);
    return std::unexpected(std::move(error));
  }
}

void call_deferred(const DeferredHandler& handler, const json& params, const Peer& peer,
                   const Reply& reply) {
  auto done = guarded([&]() -> Result<json> {
    handler(params, peer, reply);
    return json();
  });
  if (!done) reply(done);
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
  State(Send to, std::optional<json> request_id) : send(std::move(to)), id(std::move(request_id)) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    FailureBarrier("a request").run([this] {
      answer(fail(ExitCode::software, "internal error: the request was not answered"));
    });
  }

  // The line is built before the request counts as answered: if that fails, another answer is sent.
  void answer(const Result<json>& result) {
    if (!send) return;
    std::string line;
    if (id)
      line = result ? result_line(*result, *id)
                    : error_line(code_of(result.error()), result.error(), *id);
    std::exchange(send, nullptr)(line, nullptr);
  }

  void hand_over(const json& result, Takeover takeover) {
    if (!send) return;
    std::string line = id ? result_line(result, *id) : std::string();
    std::exchange(send, nullptr)(std::move(line), std::move(takeover));
  }

  void answer_text(std::string_view result) {
    if (!send) return;
    std::string line;
    if (id)
      line =
          fmt::format("{{\"id\":{},\"jsonrpc\":\"2.0\",\"result\":{}}}\n", json_text(*id), result);
    std::exchange(send, nullptr)(line, nullptr);
  }

  Send send;               // none: answered, or the client has disconnected
  std::optional<json> id;  // none: a notification
};

Reply::Reply(Send send, std::optional<json> id, std::weak_ptr<const RequestSource> source)
    : state_(std::make_shared<State>(std::move(send), std::move(id))), source_(std::move(source)) {}

void Reply::operator()(const Result<json>& result) const { state_->answer(result); }

void Reply::hand_over(const json& result, Takeover takeover) const {
  state_->hand_over(result, std::move(takeover));
}

void Reply::text(std::string_view result) const { state_->answer_text(result); }

void Reply::notify(std::string_view method, const json& params) const {
  if (const auto source = source_.lock()) source->notify(method, params);
}

void RequestSource::notify(std::string_view method, const json& params) const {
  if (output_) output_(to_line({{"jsonrpc", "2.0"}, {"method", method}, {"params", params}}));
}

void Methods::add(MethodName name, Role role, Handler handler) {
  methods_.insert_or_assign(std::move(name.name), Method{.params = std::move(name.params),
                                                         .logged = name.logged,
                                                         .role = role,
                                                         .handler = std::move(handler),
                                                         .deferred = nullptr});
}

void Methods::add_deferred(MethodName name, Role role, DeferredHandler handler) {
  methods_.insert_or_assign(std::move(name.name), Method{.params = std::move(name.params),
                                                         .logged = name.logged,
                                                         .role = role,
                                                         .handler = nullptr,
                                                         .deferred = std::move(handler)});
}

bool Methods::Method::logged_for(const Peer& peer) const {
  return peer.role == Role::admin && (role == Role::admin || logged == Logged::always);
}

// Handlers have their own guard. This one catches failures to parse the request or to serialize
// the answer.
Methods::Answer Methods::answer(std::string_view text, const Peer& peer, RequestSource& source,
                                Reply::Send send_later) const {
  try {
    return answer_unguarded(text, peer, source, std::move(send_later));
  } catch (...) {
    const Error error = unexpected_error();
    spdlog::error("a request could not be answered: {}", error.message);
    return {.line = error_line(RpcCode::internal, error)};
  }
}

Methods::Answer Methods::answer_unguarded(std::string_view text, const Peer& peer,
                                          RequestSource& source, Reply::Send send_later) const {
  Request request;
  auto refusal = read_request(text, request);
  // An unreadable line is answered with id null; a notification is not answered.
  bool answered = refusal ? true : request.id.has_value();
  json id = request.id.value_or(nullptr);
  auto refuse = [&](RpcCode code, const Error& error) {
    return Answer{.line = answered ? error_line(code, error, id) : std::string()};
  };

  if (peer.role == Role::none)
    return refuse(RpcCode::permission, not_permitted(request.method, Role::read));
  if (refusal) return refuse(refusal->code, refusal->error);
  auto method = methods_.find(request.method);
  if (method == methods_.end())
    return refuse(RpcCode::unknown_method,
                  bad(fmt::format("unknown method '{:.64}'", request.method)));
  if (method->second.role > peer.role)
    return refuse(RpcCode::permission, not_permitted(request.method, method->second.role));
  if (auto known = check_params(request, method->second.params); !known)
    return refuse(RpcCode::bad_params, known.error());
  if (method->second.logged_for(peer)) log_request(peer, request.method, request.params);
  if (method->second.deferred) {
    call_deferred(method->second.deferred, request.params, peer,
                  Reply(std::move(send_later), request.id, source.weak_from_this()));
    return {.line = {}, .deferred = true};
  }
  auto result = guarded([&] { return method->second.handler(request.params, peer); });
  if (!result) return refuse(code_of(result.error()), result.error());
  return {.line = answered ? result_line(std::move(*result), id) : std::string()};
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
