// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/rates/activity_session.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "ctl/input/session_request.h"
#include "ctl/live/open_session.h"
#include "ctl/live/stream_loop.h"
#include "trace/metadata/event_records.h"

namespace ktraced {
namespace {

constexpr const char* kCallEvents[] = {"sys_enter", "sys_exit", "sched_process_exec",
                                       "sched_process_exit"};

// What the kernel selects: tasks, and for the view of processes the events.
SelectionArgs of_session(TopView view, const TopCommand& command) {
  const SelectionArgs& given = command.selection;
  SelectionArgs args{.events = session_events(given, command.session),
                     .pids = given.pids,
                     .uids = given.uids,
                     .comms = given.comms};
  if (view == TopView::calls) args.events.assign(std::begin(kCallEvents), std::end(kCallEvents));
  return args;
}

SelectionArgs client_conditions(const SelectionArgs& given) {
  return {.tids = given.tids, .cpus = given.cpus, .errors = given.errors, .where = given.where};
}

}  // namespace

Result<LiveSource> ActivitySession::open(const std::string& socket, TopView view,
                                         const TopCommand& command, CallHandle& handle) {
  auto client = RpcClient::connect(socket, kConnectTimeout);
  if (!client) return propagate(client);
  handle.watch(*client);
  return open_session(std::move(*client), of_session(view, command), command.session);
}

Result<std::unique_ptr<ActivitySession>> ActivitySession::over(LiveSource source, TopView view,
                                                               const TopCommand& command) {
  auto selection = Selection::make(client_conditions(command.selection), source.schema());
  if (!selection) return propagate(selection);
  std::unique_ptr<ActivitySession> session(
      new ActivitySession(std::move(source), {std::move(*selection)}, view));
  auto packets = ReadAhead::start(session->source_);
  if (!packets) return propagate(packets);
  session->packets_ = std::move(*packets);
  return Result<std::unique_ptr<ActivitySession>>(std::move(session));
}

ActivitySession::ActivitySession(LiveSource source, std::vector<Selection> selections, TopView view)
    : source_(std::move(source)),
      schema_(source_.schema()),
      counts_(source_.schema()),
      selections_(std::move(selections)),
      selector_(selections_),
      since_ns_(boottime_ns()),
      rates_(ActivityRates::of(view, since_ns_)),
      selected_(*rates_, selections_, selector_),
      feed_(selected_),
      merger_(feed_, [this](RecordView record) { apply_metadata(record); }) {
  selected_.add_source(schema_, names_);
}

void ActivitySession::apply_metadata(RecordView record) {
  if (names_.apply(record) || learn_event(schema_, record) != nullptr) return;
  if (const auto config = config_reader_.take(record))
    feed_.add_change(record.ts(), TraceConfig::of(*config));
}

Result<> ActivitySession::read() {
  auto more = packets_->take(
      [this](const PacketView& packet, const std::shared_ptr<const void>& owner) -> Result<> {
        counts_.take(packet);
        merger_.take(packet, owner);
        return {};
      });
  if (!more) return propagate(more);
  if (*more) return {};
  return StreamLoop::verdict_of(StreamLoop::End::hung_up, counts_.end_reason());
}

double ActivitySession::seconds() const {
  const uint64_t until = std::max(merger_.whole_until(), since_ns_);
  return static_cast<double>(until - since_ns_) / 1e9;
}

TopTable ActivitySession::take() {
  const uint64_t since = since_ns_;
  since_ns_ = std::max(merger_.whole_until(), since);
  feed_.advance(since_ns_);
  return rates_->take(since, since_ns_);
}

}  // namespace ktraced
