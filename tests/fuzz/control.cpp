// SPDX-License-Identifier: BSD-2-Clause
// Requests on the control socket. Each is answered by at most one line, which is JSON-RPC 2.0 with
// the id of the request and either a result or an error. No role reaches a method above it.
#include <nlohmann/json.hpp>

#include "daemon/config/config.h"
#include "daemon/control/rpc.h"
#include "fuzz/fuzz.h"

namespace ktraced::fuzz {
namespace {

using nlohmann::json;

// Methods with parameters of the kinds that the real ones have.
class FakeMethods {
 public:
  FakeMethods() {
    methods_.add({"echo", {"a", "b"}}, Role::read,
                 [](const json& params, const Peer&, const Reply& reply) { reply(params); });
    methods_.add({"filter.set", {"filter"}}, Role::admin,
                 [](const json& params, const Peer& peer, const Reply& reply) {
                   require(peer.role == Role::admin, "filter.set is for administrators");
                   auto filter = merge_filter({}, params.at("filter"));
                   if (!filter) return reply(propagate(filter));
                   reply(filter_to_json(*filter));
                 });
    methods_.add({"filter.clear", {"keys"}}, Role::admin,
                 [](const json& params, const Peer&, const Reply& reply) {
                   auto filter = without_keys({}, params.at("keys"));
                   if (!filter) return reply(propagate(filter));
                   reply(filter_to_json(*filter));
                 });
    methods_.add({"later", {"a"}}, Role::read,
                 [](const json& params, const Peer&, const Reply& reply) {
                   if (params.contains("a")) reply(params);  // else on destruction
                 });
  }
  [[nodiscard]] const Methods& methods() const { return methods_; }

 private:
  Methods methods_;
};

// The id that an answer must have; nothing: a notification, or no request.
json id_of(const json& request) {
  if (!request.is_object() || !request.contains("id")) return nullptr;
  const json& id = request["id"];
  return id.is_string() || id.is_number() ? id : json();
}

void check_answer(std::string_view line, Role role, const json& request) {
  if (line.empty()) return;
  require(line.find('\n') == line.size() - 1, "an answer is one line", line);
  const json answer = json::parse(line, nullptr, false);
  require(answer.is_object() && answer.value("jsonrpc", "") == "2.0", "an answer is JSON-RPC",
          line);
  require(answer.contains("result") != answer.contains("error"), "a result or an error", line);
  require(role != Role::none || answer.contains("error"), "nothing without a role", line);
  if (!request.is_discarded())
    require(answer.at("id") == id_of(request), "the id is that of the request", line);
}

}  // namespace

void check_input(std::string_view input) {
  static const FakeMethods fake;
  const json request =
      input.size() < 4096 ? json::parse(input, nullptr, false) : json(json::value_t::discarded);
  for (const Role role : {Role::none, Role::read, Role::admin}) {
    int sent = 0;
    const auto source =
        std::make_shared<RequestSource>([&](const std::string& line, const Takeover&) {
          ++sent;
          check_answer(line, role, request);
        });
    fake.methods().answer(input, Peer{.pid = 1, .uid = 1000, .gid = 1000, .role = role}, source);
    require(sent == 1, "a request is answered once");
  }
}

}  // namespace ktraced::fuzz
