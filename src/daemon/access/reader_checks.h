// SPDX-License-Identifier: BSD-2-Clause
// What a client that may only read can ask for.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "base/error.h"
#include "daemon/access/reader_access.h"
#include "daemon/runtime/peer.h"

namespace ktraced {

// True if it gets pseudonyms in place of kernel addresses.
[[nodiscard]] bool hides_addresses(const ReaderAccess& access, const Peer& peer);
// True if it gets pseudonyms in place of user addresses in stacks: some may be of other users.
[[nodiscard]] bool hides_user_addresses(const ReaderAccess& access, const Peer& peer);
// True if it gets events of its own processes only.
[[nodiscard]] bool is_confined(const ReaderAccess& access, const Peer& peer);

// Fails with ExitCode::no_permission if the client is confined. `what` it has asked for begins the
// sentence.
[[nodiscard]] Result<> check_unconfined(const ReaderAccess& access, const Peer& peer,
                                        std::string_view what);
// Removes what belongs to other users, by "pid" and "uid", from a list for a confined client.
void remove_others(const ReaderAccess& access, const Peer& peer, nlohmann::json& list);

}  // namespace ktraced
