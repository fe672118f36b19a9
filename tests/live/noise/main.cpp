// SPDX-License-Identifier: BSD-2-Clause
// Noise: does what other people's programs do on a machine, until SIGTERM or SIGINT, or the end of
// its parent. So a test that counts what is not its own fails.
//
//   noise [--seed N] [--load PERCENT] [--rounds N] [--daemon KTRACED]
//   noise --list --rounds N [--seed N]
//
// It prints its seed first; equal seeds give the same actions. At the end it ends its children,
// removes its directory and prints how many actions of each kind it did. --load limits its CPU
// time, with that of its children, to a share of one CPU; 100: no pauses. --rounds ends it after
// that many actions. --daemon also runs another ktraced, with all events; exit code 1 if that one
// ends by itself. --list prints the actions and does nothing.
#include <getopt.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <system_error>

#include "actions.h"
#include "helper_daemon.h"
#include "pace.h"

namespace noise {
namespace {

namespace fs = std::filesystem;

struct Options {
  uint64_t seed = std::random_device()();
  uint64_t load = 10;  // percent of one CPU
  std::optional<uint64_t> rounds;
  std::optional<fs::path> daemon;
  bool list = false;
};

[[noreturn]] void usage() {
  std::fputs(
      "usage: noise [--seed N] [--load PERCENT] [--rounds N] [--daemon KTRACED]\n"
      "       noise --list --rounds N [--seed N]\n",
      stderr);
  std::exit(64);
}

uint64_t number(const char* text) {
  char* end = nullptr;
  const uint64_t value = std::strtoull(text, &end, 10);
  if (*text < '0' || *text > '9' || *end != '\0') usage();
  return value;
}

Options parse(int argc, char** argv) {
  static const option kOptions[] = {
      {"seed", required_argument, nullptr, 's'},   {"load", required_argument, nullptr, 'l'},
      {"rounds", required_argument, nullptr, 'r'}, {"daemon", required_argument, nullptr, 'd'},
      {"list", no_argument, nullptr, 'i'},         {}};
  Options options;
  int which;
  while ((which = ::getopt_long(argc, argv, "", kOptions, nullptr)) != -1) {
    switch (which) {
      case 's':
        options.seed = number(optarg);
        break;
      case 'l':
        options.load = number(optarg);
        break;
      case 'r':
        options.rounds = number(optarg);
        break;
      case 'd':
        options.daemon = fs::absolute(optarg);
        break;
      case 'i':
        options.list = true;
        break;
      default:
        usage();
    }
  }
  if (optind != argc || options.load < 1 || options.load > 100) usage();
  if (options.list && !options.rounds) usage();
  return options;
}

// Chooses an action and the seed of its details, which depend on nothing that happens.
class Plan {
 public:
  explicit Plan(uint64_t seed) : dice_(seed) {
    for (const Action& action : actions()) weights_ += action.weight;
  }
  std::pair<const Action*, uint64_t> next() {
    uint64_t place = dice_.below(weights_);
    const Action* action = actions().data();
    for (; place >= action->weight; ++action) place -= action->weight;
    return {action, dice_.below(1'000'000'000)};
  }

 private:
  Dice dice_;
  uint64_t weights_ = 0;
};

int list(const Options& options) {
  Plan plan(options.seed);
  for (uint64_t round = 0; round < *options.rounds; ++round) {
    const auto [action, seed] = plan.next();
    std::printf("%s %s %lu\n", action->kind.data(), action->name.data(), seed);
  }
  return 0;
}

// Removed with its content.
class Directory {
 public:
  Directory() {
    std::string name = fs::temp_directory_path() / "ktraced-noise-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr)
      throw std::system_error(errno, std::generic_category(), "cannot make " + name);
    path_ = name;
  }
  ~Directory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  [[nodiscard]] fs::path below(const char* name) const {
    fs::create_directory(path_ / name);
    return path_ / name;
  }
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

using Counts = std::map<std::string_view, uint64_t>;

void print(uint64_t rounds, const Counts& counts) {
  std::printf("noise: %lu rounds", rounds);
  for (const char* separator = ": "; const auto& [kind, count] : counts) {
    std::printf("%s%lu %s", separator, count, kind.data());
    separator = ", ";
  }
  std::puts("");
}

int report(const HelperDaemon& daemon, const char* what) {
  std::fprintf(stderr, "noise: the helper daemon %s (%s); the end of its log:\n%s", what,
               daemon.end().c_str(), daemon.end_of_log().c_str());
  return 1;
}

// `ending`: the blocked signals that end it.
int make_noise(const Options& options, const sigset_t& ending) {
  const Directory directory;
  World world = {.directory = directory.below("files"), .children = {}, .threads = {}};
  std::optional<HelperDaemon> daemon;
  if (options.daemon) daemon.emplace(*options.daemon, directory.path(), Dice(options.seed));
  Plan plan(options.seed);
  Pace pace(options.load, ending);
  Counts counts;
  uint64_t rounds = 0;
  for (; (!options.rounds || rounds < *options.rounds) && (!daemon || daemon->running());
       ++rounds) {
    const auto [action, seed] = plan.next();
    Dice dice(seed);
    action->run(dice, world);
    ++counts[action->kind];
    world.children.reap();
    if (daemon) counts["snapshots"] += daemon->snapshot_if_due(world.children) ? 1 : 0;
    if (!pace.keep(daemon ? daemon->cpu_time() : std::chrono::nanoseconds(0))) break;
  }
  print(rounds, counts);
  if (!daemon) return 0;
  if (!daemon->running()) return report(*daemon, "has ended by itself");
  return daemon->stop() ? 0 : report(*daemon, "did not end as it should");
}

sigset_t block_ending_signals() {
  sigset_t ending;
  sigemptyset(&ending);
  sigaddset(&ending, SIGTERM);
  sigaddset(&ending, SIGINT);
  ::sigprocmask(SIG_BLOCK, &ending, nullptr);
  return ending;
}

int run(const Options& options) {
  if (options.list) return list(options);
  const pid_t parent = ::getppid();
  const sigset_t ending = block_ending_signals();
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) return 0;  // it has died before the prctl
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);   // orphans of its children are its own
  std::signal(SIGPIPE, SIG_IGN);
  std::printf("noise: seed %lu\n", options.seed);
  std::fflush(stdout);
  return make_noise(options, ending);
}

}  // namespace
}  // namespace noise

int main(int argc, char** argv) {
  try {
    return noise::run(noise::parse(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "noise: %s\n", error.what());
    return 1;
  }
}
