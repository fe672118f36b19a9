// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/cleanup.h"

#include "daemon/trace_store.h"
#include "daemon/unix_listener.h"
#include "kernel/persistence.h"

namespace ktraced {
namespace {

void clean_up_traces(const TraceStore& store, std::vector<std::string>& told) {
  store.finish_removals();
  for (const StoredTrace& trace : store.list_unfinished(""))
    told.push_back(
        fmt::format("left {}, which is not finished: 'ktracectl show --partial' reads it",
                    store.path_of(trace.name).string()));
}

}  // namespace

Result<std::vector<std::string>> clean_up(const Config& config) {
  auto socket = remove_dead_socket(config.control.socket);
  if (!socket) return pass_on(socket);
  auto objects = remove_pinned(config.bpffs);
  if (!objects) return pass_on(objects);
  std::vector<std::string> told = {fmt::format("removed {} pinned trace object{} from {}",
                                               objects->size(), objects->size() == 1 ? "" : "s",
                                               config.bpffs.string())};
  if (*socket) told.push_back(fmt::format("removed the socket {}", config.control.socket.string()));
  clean_up_traces(TraceStore(config.flight.directory), told);
  if (config.stream.output) clean_up_traces(TraceStore(config.stream.output->directory), told);
  return told;
}

}  // namespace ktraced
