// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/going_links.h"

#include <bpf/bpf.h>

#include <algorithm>
#include <thread>

namespace ktraced {
namespace {

// The kernel lets go of a link in a deferred work, which first frees the link's id and then
// detaches the program.
constexpr auto kDetachUsually = std::chrono::milliseconds(200);
constexpr auto kDetachTimeout = std::chrono::seconds(5);
constexpr auto kDetachPoll = std::chrono::milliseconds(2);

}  // namespace

void GoingLinks::note(const std::string& name, const Fd& link) {
  bpf_link_info info{};
  uint32_t length = sizeof(info);
  const auto now = std::chrono::steady_clock::now();
  if (bpf_obj_get_info_by_fd(link.get(), &info, &length) == 0)
    going_.emplace(name, Going{.link_id = info.id, .since = now, .last_seen = now});
}

// That the id is gone says that the work is being done, the time since then that it is; without
// CAP_SYS_ADMIN a link cannot be looked up, and time alone has to tell.
bool GoingLinks::gone(const std::string& name) {
  const auto [begin, end] = going_.equal_range(name);
  for (auto going = begin; going != end; ++going) {
    const auto now = std::chrono::steady_clock::now();
    if (now - going->second.since >= kDetachTimeout) continue;
    const Fd link(std::max(-1, bpf_link_get_fd_by_id(going->second.link_id)));
    if (link) going->second.last_seen = now;
    if (link || now - going->second.last_seen <= kDetachUsually) return false;
  }
  going_.erase(begin, end);
  return true;
}

void GoingLinks::wait(const std::string& name) {
  while (!gone(name)) std::this_thread::sleep_for(kDetachPoll);
}

}  // namespace ktraced
