// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/sessions/session_set.h"

#include <algorithm>

#include "base/text/c_text.h"
#include "base/text/plain_text.h"

namespace ktraced {
namespace {

// How many sessions one ordinary user, and all of them together, may have.
constexpr ptrdiff_t kSessionsPerUser = 3;
constexpr ptrdiff_t kSessionsOfUsers = SESSIONS_MAX - SESSION_CLIENT_FIRST - 1;

Result<> check_name(const std::string& name) {
  const bool fits = name.size() <= kSessionNameMax && std::ranges::all_of(name, [](char c) {
                      return is_word_char(c) || c == '-' || c == '.';
                    });
  // A name is neither an option of a command nor a path.
  if (fits && !name.empty() && is_word_char(name.front())) return {};
  return fail(ExitCode::usage,
              "the name of a session must have 1 to {} letters, digits, '-', '_' or '.', and must "
              "not begin with '-' or '.'",
              kSessionNameMax);
}

}  // namespace

SessionSet::SessionSet(const EventSet& recorder_events) : recorder_events_(recorder_events) {
  Session& recorder = sessions_.emplace_back();
  recorder.name = "recorder";
  recorder.own_filter = OwnFilter::of({});
  Session& output = sessions_.emplace_back();
  output.number = SESSION_OUTPUT;
  output.name = "output";
}

Result<Session*> SessionSet::add(const std::string& name, const SessionOwner& owner,
                                 uint64_t now_ns) {
  std::string used = name;
  while (used.empty() || (name.empty() && named(used))) used = fmt::format("client-{}", ++clients_);
  if (auto fits = check_name(used); !fits) return propagate(fits);
  if (named(used))
    return fail(ExitCode::usage, "there is a session '{}' already: choose another name", used);
  uint32_t number = SESSION_CLIENT_FIRST;
  auto place = std::ranges::next(sessions_.begin(), SESSION_CLIENT_FIRST);
  for (; place != sessions_.end() && place->number == number; ++place) ++number;
  if (number == SESSIONS_MAX)
    return fail(ExitCode::unavailable,
                "all {} sessions of clients are in use; 'ktracectl session list' shows whose",
                SESSIONS_MAX - SESSION_CLIENT_FIRST);
  if (auto room = check_room(owner); !room) return propagate(room);
  Session session;
  session.number = number;
  session.name = used;
  session.owner = owner;
  session.since_ns = now_ns;
  return &*sessions_.insert(place, std::move(session));
}

// Ordinary users may have a few sessions each, and leave one number for administrators.
Result<> SessionSet::check_room(const SessionOwner& owner) const {
  if (!owner.is_ordinary_user()) return {};
  ptrdiff_t own = 0, ordinary = 0;
  for (const Session& session : sessions_) {
    if (!session.is_client() || !session.owner.is_ordinary_user()) continue;
    ++ordinary;
    if (session.owner.uid == owner.uid) ++own;
  }
  if (own >= kSessionsPerUser)
    return fail(
        ExitCode::unavailable,
        "uid {} has {} sessions, the limit of one user; 'ktracectl session list' shows them",
        owner.uid, own);
  if (ordinary >= kSessionsOfUsers)
    return fail(
        ExitCode::unavailable,
        "all {} sessions of ordinary users are in use; 'ktracectl session list' shows whose",
        kSessionsOfUsers);
  return {};
}

void SessionSet::remove(uint32_t number) {
  sessions_.remove_if([number](const Session& session) { return session.number == number; });
}

const Session* SessionSet::find(uint32_t number) const {
  const auto found = std::ranges::find(sessions_, number, &Session::number);
  return found == sessions_.end() ? nullptr : &*found;
}

Session* SessionSet::find(uint32_t number) {
  return const_cast<Session*>(static_cast<const SessionSet&>(*this).find(number));
}

std::unexpected<Error> no_session(const std::string& name) {
  return fail(ExitCode::usage, "there is no session '{}'; 'ktracectl session list' shows all",
              printable(name));
}

Result<Session*> SessionSet::named(const std::string& name) {
  const auto found = std::ranges::find(sessions_, name, &Session::name);
  if (found != sessions_.end()) return &*found;
  return no_session(name);
}

}  // namespace ktraced
