// SPDX-License-Identifier: BSD-2-Clause
// ktraced: load the configuration, probe the kernel, load, attach, run.
#include <fmt/format.h>
#include <malloc.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>

#include "base/install_paths.h"
#include "base/limits.h"
#include "base/print_stderr.h"
#include "base/text/error_lines.h"
#include "base/text/option_messages.h"
#include "base/text/plain_text.h"
#include "daemon/cleanup.h"
#include "daemon/config/config_files.h"
#include "daemon/config_check.h"
#include "daemon/daemon.h"
#include "daemon/log/log_writer.h"
#include "daemon/runtime/failure_barrier.h"
#include "daemon/service/passed_sockets.h"
#include "daemon/service/service_user.h"
#include "kernel/programs/bpf_object.h"
#include "schema/schema_from_btf.h"

namespace {

using namespace ktraced;

constexpr mode_t kMaskedModes = S_IWGRP | S_IWOTH;

constexpr std::chrono::seconds kErrorTimeout{1};

struct Options {
  std::filesystem::path config = kDefaultConfigFile;
  bool check_config = false;
  bool load = false;  // check_config does
  bool cleanup = false;
};

int report(const Error& error) {
  // Limits the wait, so that the daemon ends even if nothing reads its standard error.
  write_stderr(error_lines("ktraced", error), kErrorTimeout);
  return static_cast<int>(error.code);
}

// Checks a configuration without errors against this machine.
Result<int> check(const Options& options, const Config& config, const Schema& schema) {
  const std::string file = options.config.string();
  auto findings = options.load ? try_config(config, schema)
                               : Result<ConfigFindings>(check_config(config, schema));
  if (!findings) return propagate(findings);
  for (const std::string& warning : findings->warnings)
    print_stderr("ktraced: {}: warning: {}\n", printable(file), printable(warning));
  for (const std::string& problem : findings->problems)
    print_stderr("ktraced: {}\n", printable(with_place(options.config, problem)));
  if (!findings->problems.empty()) return static_cast<int>(ExitCode::config);
  for (const auto& drop_in : config.drop_ins) fmt::print("{}: included\n", drop_in.string());
  fmt::print("{}: the configuration is valid{}\n", file,
             options.load ? ", and this machine supports it" : "");
  return 0;
}

// Root does nothing in directories of the service's user, who could replace what is in them: it
// goes on as that user. True if it does. A socket that was passed needs no directory.
Result<bool> use_directories_of_service(const Config& config, const AccessRules& rules,
                                        bool has_socket) {
  if (has_socket) return false;
  return become_service_user(config.control.socket.parent_path(), kTracingCapabilities,
                             rules.read_group);
}

Result<int> run(const Options& options) {
  allow_many_descriptors();  // there may be hundreds of clients
  auto schema = schema_from_object(bpf_object_bytes());
  if (!schema) return propagate(schema);
  auto config = load_config(options.config, event_groups(*schema));
  if (!config) return propagate(config);
  const auto rules = make_access_rules(config->control.group, config->control.admin_uids);
  if (!rules)
    return fail(rules.error().code, "{}", with_place(options.config, rules.error().message));
  if (options.check_config) return check(options, *config, *schema);

  if (options.cleanup) {
    auto actions = clean_up(*config);
    if (!actions) return propagate(actions);
    for (const std::string& line : *actions) fmt::print("{}\n", line);
    return 0;
  }

  auto passed = take_passed_sockets(config->control.socket);
  if (!passed) return propagate(passed);
  auto became = use_directories_of_service(*config, *rules, passed->control.has_value());
  if (!became) return propagate(became);
  ::mallopt(M_ARENA_MAX, 2);  // each arena keeps the peak memory of its threads
  if (auto blocked = EventLoop::block_signals({SIGTERM, SIGINT, SIGHUP, SIGUSR1}); !blocked)
    return propagate(blocked);
  const LogOutput log;  // starts a thread
  spdlog::set_level(spdlog::level::from_str(config->log.level));
  if (*became)
    spdlog::info("started by root, runs as uid {} as the service does: it owns the directory of {}",
                 ::geteuid(), config->control.socket.string());
  auto loop = EventLoop::create();
  if (!loop) return propagate(loop);
  auto daemon = Daemon::create(**loop, options.config, *config, std::move(*passed),
                               [lost = log.lost()] { return lost->load(); });
  if (!daemon) return propagate(daemon);

  spdlog::info("ktraced {} serves {}", KTRACED_VERSION, config->control.socket.string());
  for (const auto& drop_in : config->drop_ins)
    spdlog::info("the configuration includes {}", drop_in.string());
  return (*loop)->run();
}

// Independent of the caller's umask: no created file is writable by others.
void narrow_umask() { ::umask(::umask(kMaskedModes) | kMaskedModes); }

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  fill_standard_descriptors();
  if (auto enough = check_stack_limit("ktraced"); !enough) return report(enough.error());
  narrow_umask();
  Options options;
  CLI::App app("The kernel tracing daemon: keeps the newest history of what the kernel does.");
  app.add_option("--config", options.config, "configuration file")->capture_default_str();
  auto* check =
      app.add_flag("--check-config", options.check_config, "check the configuration file and exit");
  app.add_flag("--load", options.load,
               "with --check-config: also load the programs, make the rings and attach each event "
               "for a moment")
      ->needs(check);
  app.add_flag("--cleanup", options.cleanup,
               "remove the kernel objects and the socket of a daemon that has died, and exit");
  app.set_version_flag("-v,--version", "ktraced " KTRACED_VERSION);
  app.footer(
      "Examples:\n"
      "  ktraced --config /etc/ktraced/ktraced.json\n"
      "  ktraced --config ktraced.json --check-config\n"
      "  ktraced --config ktraced.json --cleanup");
  try {
    parse_options(app, argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    print_stderr("ktraced: {}; see 'ktraced --help'\n", printable(option_message(app, error)));
    return static_cast<int>(ExitCode::usage);
  }
  auto code = as_result([&] { return run(options); });
  return code ? *code : report(code.error());
}
