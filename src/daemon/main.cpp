// ktraced: load the configuration, probe the kernel, load, attach, run.
#include <fmt/format.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <systemd/sd-daemon.h>

#include <CLI/CLI.hpp>
#include <csignal>

#include "base/install_paths.h"
#include "base/option_messages.h"
#include "daemon/cleanup.h"
#include "daemon/daemon.h"
#include "kernel/bpf_object.h"
#include "schema/schema_from_btf.h"

namespace {

using namespace ktraced;

struct Options {
  std::filesystem::path config = kDefaultConfigFile;
  bool check_config = false;
  bool cleanup = false;
};

int report(const Error& error) {
  fmt::print(stderr, "ktraced: {}\n", error.message);
  return static_cast<int>(error.code);
}

// Hundreds of clients, and several descriptors for each CPU, are more than the usual 1024.
void allow_many_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

Result<int> run(const Options& options) {
  auto schema = schema_from_object(bpf_object_bytes());
  if (!schema) return pass_on(schema);
  auto config = load_config(options.config, event_groups(*schema));
  if (!config) return pass_on(config);
  if (auto rules = make_access_rules(config->control.group, config->control.admin_uids); !rules)
    return pass_on(rules);
  if (options.check_config) {
    fmt::print("{}: the configuration is valid\n", options.config.string());
    return 0;
  }

  if (options.cleanup) {
    auto told = clean_up(*config);
    if (!told) return pass_on(told);
    for (const std::string& line : *told) fmt::print("{}\n", line);
    return 0;
  }

  allow_many_descriptors();
  spdlog::set_default_logger(spdlog::stderr_color_mt("ktraced"));
  spdlog::set_level(spdlog::level::from_str(config->log.level));
  if (auto blocked = EventLoop::block_signals({SIGTERM, SIGINT, SIGHUP, SIGUSR1}); !blocked)
    return pass_on(blocked);
  auto loop = EventLoop::create();
  if (!loop) return pass_on(loop);
  auto daemon = Daemon::create(**loop, options.config, *config);
  if (!daemon) return pass_on(daemon);

  spdlog::info("ktraced {} serves {}", KTRACED_VERSION, config->control.socket.string());
  ::sd_notify(0, "READY=1");
  return (*loop)->run();
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  Options options;
  CLI::App app("The kernel tracing daemon: keeps the newest history of what the kernel does.");
  app.add_option("--config", options.config, "configuration file")->capture_default_str();
  app.add_flag("--check-config", options.check_config, "check the configuration file and exit");
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
    fmt::print(stderr, "ktraced: {}; see 'ktraced --help'\n", option_message(app, error));
    return static_cast<int>(ExitCode::usage);
  }
  auto code = run(options);
  return code ? *code : report(code.error());
}
