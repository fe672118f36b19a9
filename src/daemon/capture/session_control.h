// SPDX-License-Identifier: BSD-2-Clause
// Opens, changes and closes sessions.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "daemon/capture/ring_budget.h"
#include "daemon/programs/config_applier.h"
#include "daemon/sessions/session_accounts.h"
#include "daemon/sessions/session_set.h"
#include "daemon/stream/drain.h"
#include "daemon/stream/rings.h"
#include "kernel/filters/filters.h"
#include "kernel/stacks/stack_programs.h"

namespace ktraced {

// What a client asks for.
struct SessionRequest {
  std::string name;  // empty: the daemon chooses one
  SessionOwner owner;
  std::optional<EventSet> events;        // nothing: those of the recorder
  std::optional<FilterSettings> filter;  // nothing: that of the recorder
  std::optional<EventSet> stacks;        // see Session::own_stacks
  size_t ring_bytes = 0;                 // a power of two; 0: as much as fits
};

// The filters in the configuration.
struct ConfiguredFilters {
  FilterSettings recorder;
  std::optional<OwnFilter> output;  // nothing: there is no output, and its filter stays
};

// Belongs to the main thread.
class SessionControl {
 public:
  // What it depends on; all outlive it.
  struct Parts {
    const BpfObject& object;
    SessionSet& sessions;
    SessionAccounts& accounts;
    Filters& filters;
    Rings& rings;
    const StackPrograms& stacks;
    ConfigApplier& applier;
  };
  using Publish = SessionStream::Publish;

  explicit SessionControl(const Parts& parts) : p_(parts) {}

  // Called once, before the first session is opened. `uuid`: of the packets.
  void start(std::unique_ptr<Drain> drain, const Uuid& uuid, Publish publish_output);
  // From start() to shut_down().
  [[nodiscard]] Drain& drain() const { return *drain_; }
  // Publishes metadata records to the readers of one session or of all, if the drain thread runs.
  void announce(uint32_t session, std::span<const std::byte> records);
  void announce(std::span<const std::byte> records);

  // Ends the recording of a client's session: publishes everything up to now, and then its account,
  // with the `reason` unless it is empty. The session itself ends with the last copy of Open.
  void finish(uint32_t session, std::string_view reason = {});
  // An open session of a client. It ends with the last copy.
  using Open = std::shared_ptr<const Session>;
  // Opens a session with stream rings of its own; nothing is read from them before the first
  // Drain::request_batch(). Starts to attach its programs; what its filter needs must have been
  // attached before, see Reconciler::prepare(). Fails as SessionSet::add(), Filters::apply(),
  // check_memory_room(), or with ExitCode::unavailable when the budget has no room for its rings.
  Result<Open> open(const SessionRequest& request, const std::function<Publish(uint32_t)>& publish);

  // Sets the filter of a session. Of the recorder, also that of the sessions that follow it. What
  // the filter needs must have been attached before, see Reconciler::prepare(): otherwise children
  // that are born meanwhile are not followed. Fails as Filters::apply(). A session that is confined
  // to the processes of its owner stays so.
  Result<> set_filter(Session& session, const FilterSettings& settings);
  // Sets these, without reconciling, or changes nothing. Needs and fails as set_filter(); the
  // message of a bad value begins with its key in the configuration.
  Result<> set_filters(const ConfiguredFilters& filters);
  // Pauses or resumes a session: while paused it records nothing.
  void set_paused(Session& session, bool paused);

  // Turns the session of stream.output on or off. When turned off, everything up to now has been
  // published on return. When turned on, the stream starts with the next request_batch(); check
  // before that the memory of its rings is there. Fails with ExitCode::os.
  Result<> set_output(bool on);
  // Would there be room for its rings? Fails as set_output() would.
  [[nodiscard]] Result<> check_output(const RingBudget& budget) const;
  // Adopts or removes what an earlier daemon has left of that session.
  Result<> adopt_output(bool on);
  // Bytes of each ring that the output needs with this budget and does not have yet; 0: none.
  [[nodiscard]] size_t new_output_bytes(const RingBudget& budget) const;
  // Takes effect for new sessions, and at once for the output if it is on and is to stay so. The
  // memory must be there, as for set_output(). Fails as Drain::resize().
  Result<> set_budget(const RingBudget& budget, bool keeps_output);

  // Memory of the stream rings of all sessions.
  [[nodiscard]] size_t used_bytes() const;

  // The number of records that reset() has discarded.
  struct Discarded {
    uint64_t unread = 0;   // in the stream rings
    uint64_t history = 0;  // in the flight recorder
  };
  // Sets the counts of a session to zero and empties its rings; for the recorder, also those of the
  // sessions that follow it. Unless `keep_history`, empties the flight recorder. Fails with
  // ExitCode::unavailable, and changes nothing, while the flight recorder has no spare bank.
  Result<Discarded> reset(const Session& session, bool keep_history);

  // The daemon ends: publishes the rest of all streams. `persist`: the output stays for the next
  // daemon.
  void shut_down(bool persist);

 private:
  void close(uint32_t number);
  [[nodiscard]] std::vector<std::byte> last_records(uint32_t number, std::string_view reason) const;
  void stop(std::span<Session* const> sessions);
  uint64_t discard(uint32_t session);
  void confine(Session& session) const;
  [[nodiscard]] Result<size_t> ring_bytes_for(const RingRequest& request) const;
  [[nodiscard]] std::unique_ptr<SessionStream> make_stream(StreamRings rings,
                                                           StreamAccount* account,
                                                           Publish publish) const;
  Result<> open_stream(Session& session, size_t ring_bytes, Publish publish);
  Result<> apply_filter(uint32_t tasks_of, uint32_t syscalls_of, const FilterSettings& settings);
  Result<> apply_own_filter(const Session& session);
  Result<> set_recorder_filter(const FilterSettings& settings);

  Parts p_;
  RingBudget budget_;
  Uuid uuid_{};
  Publish publish_output_;
  std::unique_ptr<Drain> drain_;
  // Clients' sessions may end after this object.
  std::shared_ptr<SessionControl*> self_ = std::make_shared<SessionControl*>(this);
};

}  // namespace ktraced
