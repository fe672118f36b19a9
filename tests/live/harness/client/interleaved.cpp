// SPDX-License-Identifier: BSD-2-Clause
#include "harness/client/interleaved.h"

#include <fmt/format.h>

#include <optional>
#include <stdexcept>

#include "harness/client/rpc.h"
#include "harness/machine/held_thread.h"

namespace ktraced::live {
namespace {

std::string line_of(std::string_view method, const json& params = json::object()) {
  return json{{"jsonrpc", "2.0"}, {"id", 1}, {"method", method}, {"params", params}}.dump() + "\n";
}

}  // namespace

Interleaved interleaved(const Daemon& daemon, std::string_view method, const json& params,
                        std::string_view other) {
  RpcConnection worked_for(daemon.socket()), asking(daemon.socket());
  for (RpcConnection* connection : {&worked_for, &asking}) connection->call("version");
  HeldThread main(daemon.pid());
  worked_for.send_bytes(line_of(method, params));
  while (!worked_for.all_read()) main.step();
  asking.send_bytes(line_of(other));
  Interleaved answers;
  std::optional<std::string> line;
  while (!(line = worked_for.read_line(0ms))) {
    main.step();
    if (!asking.read_line(0ms)) continue;
    ++answers.others;
    asking.send_bytes(line_of(other));
  }
  json answer = json::parse(*line);
  if (!answer.contains("result"))
    throw std::runtime_error(fmt::format("{} failed: {}", method, answer.dump()));
  answers.result = std::move(answer["result"]);
  return answers;
}

}  // namespace ktraced::live
