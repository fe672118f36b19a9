// SPDX-License-Identifier: BSD-2-Clause
// ktraced: load the configuration, probe the kernel, load, attach, run.
#include <fmt/format.h>
#include <malloc.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>

#include <CLI/CLI.hpp>
#include <csignal>

#include "base/install_paths.h"
#include "base/option_messages.h"
#include "base/plain_text.h"
#include "base/print_stderr.h"
#include "daemon/cleanup.h"
#include "daemon/config_check.h"
#include "daemon/daemon.h"
#include "daemon/failure_barrier.h"
#include "daemon/log_writer.h"
#include "kernel/bpf_object.h"
#include "schema/schema_from_btf.h"

namespace {

using namespace ktraced;

constexpr mode_t kNotForOthers = S_IWGRP | S_IWOTH;

constexpr std::chrono::seconds kErrorPatience{1};

struct Options {
  std::filesystem::path config = kDefaultConfigFile;
  bool check_config = false;
  bool load = false;  // check_config does
  bool cleanup = false;
};

int report(const Error& error) {
  // A reader that does not read must not keep it from ending.
  write_stderr(fmt::format("ktraced: {}\n", printable(error.message)), kErrorPatience);
  return static_cast<int>(error.code);
}

// Hundreds of clients, and several descriptors for each CPU, are more than the usual 1024.
void allow_many_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

// The configuration, which is valid in itself, on this machine.
Result<int> check(const Options& options, const Config& config, const Schema& schema) {
  const std::string file = options.config.string();
  auto findings = options.load ? try_config(config, schema)
                               : Result<ConfigFindings>(check_config(config, schema));
  if (!findings) return pass_on(findings);
  for (const std::string& warning : findings->warnings)
    print_stderr("ktraced: {}: warning: {}\n", file, warning);
  for (const std::string& problem : findings->problems)
    print_stderr("ktraced: {}: {}\n", file, problem);
  if (!findings->problems.empty()) return static_cast<int>(ExitCode::config);
  fmt::print("{}: the configuration is valid{}\n", file,
             options.load ? ", and this machine can have what it asks for" : "");
  return 0;
}

Result<int> run(const Options& options) {
  allow_many_descriptors();
  auto schema = schema_from_object(bpf_object_bytes());
  if (!schema) return pass_on(schema);
  auto config = load_config(options.config, event_groups(*schema));
  if (!config) return pass_on(config);
  if (auto rules = make_access_rules(config->control.group, config->control.admin_uids); !rules)
    return pass_on(rules);
  if (options.check_config) return check(options, *config, *schema);

  if (options.cleanup) {
    auto told = clean_up(*config);
    if (!told) return pass_on(told);
    for (const std::string& line : *told) fmt::print("{}\n", line);
    return 0;
  }

  ::mallopt(M_ARENA_MAX, 2);  // each arena keeps what its threads have used at their height
  if (auto blocked = EventLoop::block_signals({SIGTERM, SIGINT, SIGHUP, SIGUSR1}); !blocked)
    return pass_on(blocked);
  const LogOutput log;  // starts a thread
  spdlog::set_level(spdlog::level::from_str(config->log.level));
  auto loop = EventLoop::create();
  if (!loop) return pass_on(loop);
  auto daemon = Daemon::create(**loop, options.config, *config);
  if (!daemon) return pass_on(daemon);

  spdlog::info("ktraced {} serves {}", KTRACED_VERSION, config->control.socket.string());
  ::sd_notify(0, "READY=1");
  return (*loop)->run();
}

// Whatever the caller's is: nothing that is made can be written to by others.
void narrow_umask() { ::umask(::umask(kNotForOthers) | kNotForOthers); }

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  fill_standard_descriptors();
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
               "remove what a daemon that is gone left in the kernel, and its socket, and exit");
  app.set_version_flag("--version", KTRACED_VERSION);
  app.footer(
      "Examples:\n"
      "  ktraced --config /etc/ktraced/ktraced.json\n"
      "  ktraced --config ktraced.json --check-config\n"
      "  ktraced --config ktraced.json --cleanup");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    print_stderr("ktraced: {}; see 'ktraced --help'\n", printable(option_message(app, error)));
    return static_cast<int>(ExitCode::usage);
  }
  auto code = as_result([&] { return run(options); });
  return code ? *code : report(code.error());
}
