// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/cleanup.h"

#include "daemon/config/metrics_address.h"
#include "daemon/output/trace_store.h"
#include "daemon/runtime/unix_listener.h"
#include "daemon/service/service_user.h"
#include "kernel/programs/persistence.h"

namespace ktraced {
namespace {

void clean_up_traces(const TraceStore& store, std::vector<std::string>& report) {
  store.finish_removals();
  const auto unfinished = store.list_unfinished("");
  if (!unfinished) return report.push_back(unfinished.error().message);
  for (const StoredTrace& trace : *unfinished)
    report.push_back(
        fmt::format("left {}, which is not finished: 'ktracectl show --partial' reads it",
                    store.path_of(trace.name).string()));
}

}  // namespace

Result<std::vector<std::string>> clean_up(const Config& config) {
  auto became = become_service_user(config.bpffs, kCleanupCapabilities);
  if (!became) return propagate(became);
  auto objects = remove_pinned(config.bpffs);
  if (!objects) return propagate(objects);
  std::vector<std::string> report = {fmt::format("removed {} pinned trace object{} from {}",
                                                 objects->size(), objects->size() == 1 ? "" : "s",
                                                 config.bpffs.string())};

  // Behind the pins, because root becomes the user of the service for good if the directory of the
  // socket belongs to that user.
  became = become_service_user(config.control.socket.parent_path(), kCleanupCapabilities);
  if (!became) return propagate(became);
  std::vector<std::string> traces;
  clean_up_traces(TraceStore(config.flight.directory), traces);
  if (config.stream.output) clean_up_traces(TraceStore(config.stream.output->directory), traces);
  auto socket = remove_dead_socket(config.control.socket);
  if (!socket) return propagate(socket);
  const auto metrics = metrics_address(config.metrics.listen);
  auto metrics_socket = metrics && !metrics->path.empty()
                            ? remove_dead_socket(metrics->path, "metrics.listen")
                            : Result<bool>(false);
  if (!metrics_socket) return propagate(metrics_socket);
  if (*socket)
    report.push_back(fmt::format("removed the socket {}", config.control.socket.string()));
  if (*metrics_socket) report.push_back(fmt::format("removed the socket {}", metrics->text()));
  report.insert(report.end(), traces.begin(), traces.end());
  return report;
}

}  // namespace ktraced
