// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/live/open_session.h"

#include <utility>

#include "ctl/input/json_access.h"

namespace ktraced {

Result<LiveSource> open_session(RpcClient client, const SelectionArgs& selection,
                                const SessionArgs& session) {
  nlohmann::json recorder_filter;
  if (has_own_filter(selection, session)) {
    auto shown = client.call("filter.show");
    if (!shown) return propagate(shown);
    recorder_filter = member(*shown, "filter");
  }
  return LiveSource::subscribe(std::move(client),
                               session_request(selection, session, recorder_filter));
}

}  // namespace ktraced
