// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/programs/detaching_links.h"

#include <bpf/bpf.h>

#include <algorithm>
#include <thread>

namespace ktraced {
namespace {

// The kernel releases a link in deferred work, which first frees the link's id and then detaches
// the program.
constexpr auto kDetachUsually = std::chrono::milliseconds(200);
constexpr auto kDetachTimeout = std::chrono::seconds(5);
constexpr auto kDetachPoll = std::chrono::milliseconds(2);

}  // namespace

void DetachingLinks::note(const std::string& name, const Fd& link) {
  bpf_link_info info{};
  uint32_t length = sizeof(info);
  const auto now = std::chrono::steady_clock::now();
  if (bpf_obj_get_info_by_fd(link.get(), &info, &length) == 0)
    detaching_.emplace(name, Detaching{.link_id = info.id, .since = now, .last_seen = now});
}

// When the id is gone, the work has begun; some time later it is finished. Without CAP_SYS_ADMIN a
// link cannot be looked up, so only time decides.
bool DetachingLinks::gone(const std::string& name) {
  const auto [begin, end] = detaching_.equal_range(name);
  for (auto each = begin; each != end; ++each) {
    const auto now = std::chrono::steady_clock::now();
    if (now - each->second.since >= kDetachTimeout) continue;
    const Fd link(std::max(-1, bpf_link_get_fd_by_id(each->second.link_id)));
    if (link) each->second.last_seen = now;
    if (link || now - each->second.last_seen <= kDetachUsually) return false;
  }
  detaching_.erase(begin, end);
  return true;
}

void DetachingLinks::wait(const std::string& name) {
  while (!gone(name)) std::this_thread::sleep_for(kDetachPoll);
}

}  // namespace ktraced
