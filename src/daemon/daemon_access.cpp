// SPDX-License-Identifier: BSD-2-Clause
// Class Daemon: what clients that may only read get.
#include "daemon/daemon.h"

namespace ktraced {
namespace {

ReaderRules reader_rules(const Config& config, const std::optional<gid_t>& readers) {
  return {.real_addresses = config.control.addresses == "real" || kernel_shows_addresses(),
          .own_only = config.control.readers_see == "own",
          .have_group = readers.has_value(),
          .real_user_addresses = config.control.addresses == "real"};
}

}  // namespace

// What readers get, and the files for them.
void Daemon::apply_access(const Config& config, const std::optional<gid_t>& readers) {
  apply_readers(config, readers, reader_rules(config, readers));
}

void Daemon::apply_readers(const Config& config, const std::optional<gid_t>& readers,
                           const ReaderRules& rules) {
  const ReaderRules before = access_.rules();
  access_.set(rules);
  make_files_for(readers);
  set_file_modes(rules);
  set_directory_mode(config.flight.directory, rules, before.own_only);
  if (config.stream.output)
    set_directory_mode(config.stream.output->directory, rules, before.own_only);
}

// What the current configuration had given before a reload began, which then failed.
void Daemon::restore_access(const AccessRules& roles, const ReaderRules& readers) {
  static_cast<void>(server_->set_access(roles));
  static_cast<void>(metrics_->prepare(config_.metrics.listen, roles));
  apply_readers(config_, roles.read_group, readers);
}

// Ends the sessions of readers, which show more than readers may see now.
void Daemon::end_readers(const ReaderRules& rules) {
  SessionControl& control = tracer_->parts().session_control;
  for (const Session& session : tracer_->parts().sessions.all()) {
    const SessionOwner& owner = session.owner;
    if (!session.is_client() || !owner.only_reads) continue;
    if (rules.own_only && !owner.own_only)
      control.finish(session.number,
                     "control.readers_see of the configuration is \"own\" now: begin again to see "
                     "your own processes");
    else if (!rules.real_addresses && owner.real_addresses)
      control.finish(session.number,
                     "kernel addresses are hidden from readers now: begin again to get pseudonyms");
    else if (!rules.own_only && !rules.real_user_addresses && owner.real_user_addresses &&
             !owner.own_only)
      control.finish(session.number,
                     "user addresses are hidden from readers now: begin again to get pseudonyms");
  }
}

// What a stream carries was decided by the role that its reader had when it began.
void Daemon::end_streams_beyond(const AccessRules& rules) {
  for (const uint32_t session : subscribers_->beyond(rules))
    tracer_->parts().session_control.finish(session,
                                            "control.group and control.admin_uids of the "
                                            "configuration give this user fewer rights now");
}

}  // namespace ktraced
