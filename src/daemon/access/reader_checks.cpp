// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/access/reader_checks.h"

#include <nlohmann/json.hpp>

namespace ktraced {

using nlohmann::json;

bool hides_addresses(const ReaderAccess& access, const Peer& peer) {
  return peer.role != Role::admin && !access.rules().real_addresses;
}

bool hides_user_addresses(const ReaderAccess& access, const Peer& peer) {
  const ReaderRules rules = access.rules();
  return peer.role != Role::admin && !rules.own_only && !rules.real_user_addresses;
}

bool is_confined(const ReaderAccess& access, const Peer& peer) {
  return peer.role != Role::admin && access.rules().own_only;
}

Result<> check_unconfined(const ReaderAccess& access, const Peer& peer, std::string_view what) {
  if (!is_confined(access, peer)) return {};
  return fail(ExitCode::no_permission,
              "{} may be about other users: control.readers_see of the configuration lets you see "
              "only your own processes",
              what);
}

void remove_others(const ReaderAccess& access, const Peer& peer, json& list) {
  if (!is_confined(access, peer)) return;
  json kept = json::array();
  for (json& entry : list)
    if (entry["pid"] == 0 || entry["uid"] == peer.uid) kept.push_back(std::move(entry));
  list = std::move(kept);
}

}  // namespace ktraced
