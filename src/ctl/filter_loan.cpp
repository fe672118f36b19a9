#include "ctl/filter_loan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <utility>

#include "ctl/filter_args.h"
#include "ctl/json_access.h"
#include "ctl/rpc_client.h"

namespace ktraced {

using nlohmann::json;

Result<FilterLoan> FilterLoan::follow(const std::string& socket, int pid) {
  auto client = RpcClient::connect(socket);
  if (!client) return pass_on(client);
  auto before = client->call("filter.show");
  if (!before) return pass_on(before);
  json wanted = {{"pid", json::array()},
                 {"uid", json::array()},
                 {"comm", json::array()},
                 {"cgroup", json::array()},
                 {"follow", {pid}}};
  auto now = client->call("filter.set", {{"filter", wanted}});
  if (!now) return pass_on(now);
  return FilterLoan(socket, member(*before, "filter"));
}

FilterLoan::FilterLoan(FilterLoan&& other) noexcept
    : socket_(std::move(other.socket_)), before_(std::exchange(other.before_, nullptr)) {}

FilterLoan::~FilterLoan() { give_back(); }

// On a connection of its own: the recording may have taken long, and the daemon closes those
// that are silent.
void FilterLoan::give_back() {
  const json before = std::exchange(before_, nullptr);
  if (before.is_null()) return;
  auto client = RpcClient::connect(socket_);
  Result<json> set = client ? client->call("filter.set", {{"filter", before}}) : pass_on(client);
  if (set) return;
  const auto args = filter_to_args(before);
  fmt::print(stderr, "ktracectl: cannot restore the filter: {}; it was: {}\n", set.error().message,
             args.empty() ? "none" : fmt::format("{}", fmt::join(args, " ")));
}

}  // namespace ktraced
