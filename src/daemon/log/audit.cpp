// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/log/audit.h"

#include <spdlog/spdlog.h>

#include <nlohmann/json.hpp>

#include "base/text/json_dump.h"
#include "daemon/log/log_fields.h"

namespace ktraced {
namespace {

constexpr size_t kParamsMax = 500;  // bytes

std::string text_of(const nlohmann::json& params) {
  std::string text = dump_json(params, -1, true);
  if (text.size() <= kParamsMax) return text;
  text.resize(kParamsMax);
  return fmt::format("{} (cut)", text);
}

}  // namespace

void log_request(const Peer& peer, std::string_view method, const nlohmann::json& params) {
  const LogFields fields({fmt::format("KTRACED_METHOD={}", method),
                          fmt::format("KTRACED_UID={}", peer.uid),
                          fmt::format("KTRACED_PID={}", peer.pid)});
  // Whatever the level of the log is.
  const auto& sinks = spdlog::default_logger()->sinks();
  spdlog::logger("ktraced", sinks.begin(), sinks.end())
      .info("uid {}, pid {} requests {} {}", peer.uid, peer.pid, method, text_of(params));
}

}  // namespace ktraced
