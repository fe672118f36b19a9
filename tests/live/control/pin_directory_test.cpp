// SPDX-License-Identifier: BSD-2-Clause
// Directories of other users: what they prepare there does not lead root elsewhere.
#include <bpf/bpf.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <functional>
#include <thread>
#include <vector>

#include "harness/client/daemon.h"
#include "harness/machine/as_user.h"
#include "harness/machine/bpffs.h"
#include "kernel/pins/pins.h"

namespace ktraced::live {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr uid_t kAttacker = 65534;
// Those of the unit ktraced.service.
constexpr uint64_t kServiceCapabilities =
    1ULL << CAP_BPF | 1ULL << CAP_PERFMON | 1ULL << CAP_SYSLOG | 1ULL << CAP_DAC_READ_SEARCH;

mode_t mode_of(const fs::path& path) {
  struct stat status{};
  EXPECT_EQ(::lstat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777U;
}

// Files of root that must not be touched.
class Victim {
 public:
  Victim() {
    for (const char* name : {"one", "two"}) static_cast<void>(directory_.file(name, "precious"));
  }
  [[nodiscard]] const fs::path& path() const { return directory_.path(); }
  [[nodiscard]] bool whole() const {
    return fs::exists(path() / "one") && fs::exists(path() / "two");
  }

 private:
  TempDir directory_;
};

// An object of another build, in which one folder is a link to the victim.
void plant_object(const fs::path& root, const Victim& victim) {
  as_user(kAttacker, kAttacker, [&] {
    fs::create_directories(root / "object-zz" / "maps");
    fs::create_directory_symlink(victim.path(), root / "object-zz" / "links");
    fs::create_directory_symlink(victim.path(), root / "object-yy");
  });
}

json config_in(const fs::path& root) {
  return {{"events", {{"sched", true}}}, {"flight", {{"enabled", true}}}, {"bpffs", root}};
}

Finished clean_up(const Daemon& daemon) {
  return run({kDaemonProgram, "--config", daemon.config_file(), "--cleanup"});
}

// The service's user is the attacker.
Finished clean_up_with_service_user(const Daemon& daemon) {
  TempDir files;
  const fs::path users = files.file(
      "passwd", fmt::format("root:x:0:0::/:/bin/sh\nktraced:x:{0}:{0}::/:/bin/sh\n", kAttacker));
  return run({"unshare", "--mount", "sh", "-c", "mount --bind $0 /etc/passwd && exec \"$@\"",
              users.string(), kDaemonProgram, "--config", daemon.config_file(), "--cleanup"});
}

TEST(PinDirectory, IsRefusedWithoutFollowingLinksWhenAnotherUserOwnsIt) {
  Bpffs bpffs;
  Victim victim;
  const fs::path root = bpffs.path() / "ktraced";
  plant_object(root, victim);
  Daemon daemon(config_in(root));
  EXPECT_TRUE(daemon.logged("belongs to uid 65534"));
  EXPECT_TRUE(daemon.logged("rm -r " + root.string()));
  EXPECT_EQ(daemon.stop().exit_code, 0);
  const Finished cleanup = clean_up(daemon);
  EXPECT_EQ(cleanup.exit_code, 77);
  EXPECT_THAT(cleanup.err, HasSubstr("belongs to uid 65534"));
  EXPECT_TRUE(victim.whole());
}

// As the package sets it up: the pins and their directory belong to the user of the service.
TEST(PinDirectory, IsCleanedUpByRootAsTheUserOfTheService) {
  Bpffs bpffs;
  Victim victim;
  const fs::path root = bpffs.path() / "ktraced";
  Daemon daemon(config_in(bpffs.path() / "other"));
  EXPECT_EQ(daemon.stop().exit_code, 0);
  daemon.write_config(config_in(root));
  plant_object(root, victim);
  ::chmod(root.c_str(), 0700);
  ::chmod(bpffs.path().c_str(), 0700);
  const Finished cleanup = clean_up_with_service_user(daemon);
  EXPECT_EQ(cleanup.exit_code, 0) << cleanup.err;
  EXPECT_THAT(cleanup.out, HasSubstr("removed 2 pinned trace objects"));
  EXPECT_TRUE(fs::exists(root)) << "the service cannot make it";
  EXPECT_TRUE(fs::is_empty(root));
  EXPECT_TRUE(victim.whole());
}

// The pins are removed by root, whose they are; the socket by the user who could replace it.
TEST(PinDirectory, OfRootIsCleanedUpBesideASocketOfTheUserOfTheService) {
  Bpffs bpffs;
  const fs::path root = bpffs.path() / "ktraced";
  Daemon daemon(config_in(root));
  daemon.end(SIGKILL);
  for (const fs::path& path : {fs::path(daemon.socket()).parent_path(), fs::path(daemon.socket())})
    ASSERT_EQ(::chown(path.c_str(), kAttacker, kAttacker), 0);
  const Finished cleanup = clean_up_with_service_user(daemon);
  EXPECT_EQ(cleanup.exit_code, 0) << cleanup.err;
  EXPECT_THAT(cleanup.out, HasSubstr("removed 1 pinned trace object"));
  EXPECT_THAT(cleanup.out, HasSubstr("removed the socket"));
  EXPECT_FALSE(fs::exists(root));
  EXPECT_FALSE(fs::exists(daemon.socket()));
}

// As after an installation: the directory of the socket belongs to the user of the service, whose
// files root never follows or replaces with its own rights.
TEST(ServiceDirectory, MakesADaemonThatRootStartsRunAsTheUserOfTheService) {
  TempDir files;
  const fs::path users = files.file(
      "passwd", fmt::format("root:x:0:0::/:/bin/sh\nktraced:x:{0}:{0}::/:/bin/sh\n", kAttacker));
  const std::string script = fmt::format(
      "mount --bind $0 /etc/passwd && chown {0}:{0} ${{3%/*}} && exec \"$@\"", kAttacker);
  Daemon daemon({{"events", {{"sched", true}}}, {"flight", {{"enabled", true}}}},
                {"unshare", "--mount", "sh", "-c", script, users.string()});
  EXPECT_TRUE(daemon.logged(fmt::format("runs as uid {}", kAttacker)));
  EXPECT_EQ(process_status(daemon.pid(), "Uid"), fmt::format("{0}\t{0}\t{0}\t{0}", kAttacker));
  EXPECT_EQ(std::stoull(process_status(daemon.pid(), "CapPrm"), nullptr, 16), kServiceCapabilities);
  struct stat made{};
  ASSERT_EQ(::lstat(daemon.socket().c_str(), &made), 0);
  EXPECT_EQ(made.st_uid, kAttacker);
  const json taken = json::parse(daemon.ctl_ok({"--json", "snapshot", "take"}));
  EXPECT_GT(taken["records"].get<uint64_t>(), 0U);
  EXPECT_EQ(json::parse(daemon.ctl_ok({"--json", "reload"}))["changed"], json::array());
  EXPECT_EQ(daemon.stop().exit_code, 0);
  EXPECT_FALSE(fs::exists(daemon.socket()));
}

TEST(ServiceDirectory, IsRefusedWhenItBelongsToAnotherUser) {
  TempDir files;
  const fs::path directory = files.path() / "theirs";
  fs::create_directory(directory);
  ASSERT_EQ(::chown(directory.c_str(), kAttacker, kAttacker), 0);
  const fs::path config =
      files.file("config.json", json{{"control", {{"socket", directory / "control.sock"}}}}.dump());
  const Finished refused = run({kDaemonProgram, "--config", config.string()});
  EXPECT_EQ(refused.exit_code, 77);
  EXPECT_THAT(refused.err, HasSubstr(fmt::format("{} belongs to uid {}, but ktraced runs as uid 0",
                                                 directory.string(), kAttacker)));
  EXPECT_TRUE(fs::is_empty(directory));
}

TEST(PinDirectory, RemovesItsLinksWithoutFollowingThem) {
  for (const bool by_cleanup : {false, true}) {
    Bpffs bpffs;
    Victim victim;
    const fs::path root = bpffs.path() / "ktraced";
    fs::create_directory(root);
    ::chmod(root.c_str(), 01777);  // for a while
    plant_object(root, victim);
    ::chmod(root.c_str(), 0755);
    Daemon daemon(config_in(bpffs.path() / (by_cleanup ? "other" : "ktraced")));
    if (by_cleanup) {
      EXPECT_EQ(daemon.stop().exit_code, 0);
      daemon.write_config(config_in(root));
      const Finished cleanup = clean_up(daemon);
      EXPECT_EQ(cleanup.exit_code, 0) << cleanup.err;
    } else {
      EXPECT_TRUE(daemon.logged("replaced object-zz"));
      EXPECT_EQ(mode_of(root), 0700U);
    }
    EXPECT_FALSE(fs::exists(fs::symlink_status(root / "object-zz")));
    EXPECT_FALSE(fs::exists(fs::symlink_status(root / "object-yy")));
    EXPECT_TRUE(victim.whole());
  }
}

TEST(PinDirectory, IsRefusedWhenItIsALink) {
  Bpffs bpffs;
  Victim victim;
  const fs::path root = bpffs.path() / "ktraced";
  as_user(kAttacker, kAttacker, [&] { fs::create_directory_symlink(victim.path(), root); });
  Daemon daemon(config_in(root));
  EXPECT_TRUE(daemon.logged(root.string() + " is a symbolic link"));
  EXPECT_EQ(daemon.stop().exit_code, 0);
  EXPECT_EQ(clean_up(daemon).exit_code, 77);
  EXPECT_TRUE(victim.whole());
}

TEST(PinDirectory, ReportsHowToMountABpfFileSystemWhenOutsideOne) {
  TempDir directory;
  Daemon daemon(config_in(directory.path() / "pins"));
  EXPECT_TRUE(daemon.logged("mount -t bpf -o mode=0700 bpf /sys/fs/bpf"));
  EXPECT_EQ(daemon.stop().exit_code, 0);
}

TEST(PinDirectory, IsPrivateAndOutlivesTheDaemonInAPlainBpfFileSystem) {
  Bpffs bpffs;
  const fs::path root = bpffs.path() / "ktraced";
  Daemon daemon(config_in(root));
  EXPECT_EQ(mode_of(root), 0700U);
  daemon.end(SIGKILL);
  daemon.start();
  EXPECT_TRUE(daemon.logged("adopted what an earlier daemon left running"));
  EXPECT_EQ(daemon.stop().exit_code, 0);
  EXPECT_FALSE(fs::exists(root));
}

// The directory of the object that a daemon has pinned under `root`.
fs::path object_in(const fs::path& root) {
  for (const auto& entry : fs::directory_iterator(root))
    if (entry.path().filename().string().starts_with("object-")) return entry.path();
  throw std::runtime_error("no object is pinned");
}

// Puts a map of another layout in the place of a pin.
void pin_other_map(const fs::path& pin) {
  fs::remove(pin);
  LIBBPF_OPTS(bpf_map_create_opts, options);
  const Fd map(bpf_map_create(BPF_MAP_TYPE_ARRAY, "other", sizeof(uint32_t), 8, 1, &options));
  ASSERT_EQ(bpf_obj_pin(map.get(), pin.c_str()), 0);
}

// Puts a map of the same layout with one more entry in the place of a pin.
void pin_larger_map(const fs::path& pin) {
  const Fd map(bpf_obj_get(pin.c_str()));
  bpf_map_info info{};
  uint32_t length = sizeof(info);
  ASSERT_EQ(bpf_obj_get_info_by_fd(map.get(), &info, &length), 0);
  fs::remove(pin);
  LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = info.map_flags);
  const Fd larger(bpf_map_create(static_cast<bpf_map_type>(info.type), "larger", info.key_size,
                                 info.value_size, info.max_entries + 1, &options));
  ASSERT_EQ(bpf_obj_pin(larger.get(), pin.c_str()), 0);
}

struct Damage {
  fs::path pin;  // below the directory of the object
  std::function<void(const fs::path& object, const fs::path& pin)> make;
};

std::vector<Damage> damages() {
  const auto directory = [](const fs::path&, const fs::path& pin) {
    fs::remove(pin);
    fs::create_directories(pin / "deeper");
  };
  const auto foreign_link = [](const fs::path&, const fs::path& pin) {
    fs::remove(pin);
    fs::create_symlink("/etc/passwd", pin);
  };
  const auto other_map = [](const fs::path&, const fs::path& pin) { pin_other_map(pin); };
  const auto larger_map = [](const fs::path&, const fs::path& pin) { pin_larger_map(pin); };
  const auto other_kind = [](const fs::path& object, const fs::path& pin) {
    fs::rename(object / "maps" / "tasks", pin);
  };
  const auto other_program = [](const fs::path& object, const fs::path& pin) {
    fs::rename(object / "programs" / "calibrate", pin);
  };
  return {{"maps/-data-control", other_map},
          {"maps/tasks", other_map},
          {"maps/tasks", larger_map},
          {"maps/-data-control", directory},
          {"maps/tasks", foreign_link},
          {"programs/sched_switch", other_kind},
          {"programs/sched_switch", other_program},
          {"links/sched_switch", other_kind},
          {"rings/flight_0_0", other_map}};
}

// Not a start that the service manager repeats for ever: no start succeeds before the clean-up.
TEST(PinDirectory, WithADamagedPinEndsTheDaemonWithTheCommandThatRemovesIt) {
  for (const Damage& damage : damages()) {
    SCOPED_TRACE(damage.pin);
    Bpffs bpffs;
    const fs::path root = bpffs.path() / "ktraced";
    Daemon daemon(config_in(root));
    daemon.end(SIGKILL);
    const fs::path object = object_in(root), pin = object / damage.pin;
    if (!fs::exists(pin) && damage.pin.begin()->string() == "rings") continue;  // in an arena
    ASSERT_TRUE(fs::exists(pin));
    damage.make(object, pin);
    try {
      daemon.start();
      ADD_FAILURE() << "it started";
    } catch (const std::runtime_error& error) {
      EXPECT_THAT(error.what(), HasSubstr("exit code 69"));
      EXPECT_THAT(error.what(), HasSubstr("the pin " + pin.string() + " is not what"));
      EXPECT_THAT(error.what(),
                  HasSubstr("'ktraced --config " + daemon.config_file() + " --cleanup'"));
    }
    const Finished cleanup = clean_up(daemon);
    EXPECT_EQ(cleanup.exit_code, 0) << cleanup.err;
    EXPECT_FALSE(fs::exists(root));
    daemon.start();
    EXPECT_EQ(daemon.stop().exit_code, 0);
  }
}

// Runs `action` in a thread of root that the modes of files bind.
void bound_by_modes(const std::function<void()>& action) {
  bool bound = false;
  std::thread([&] {
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    std::array<__user_cap_data_struct, 2> data{};
    bound = ::syscall(SYS_capget, &header, data.data()) == 0;
    data[0].effective &= ~(1U << CAP_DAC_OVERRIDE | 1U << CAP_DAC_READ_SEARCH);
    bound = bound && ::syscall(SYS_capset, &header, data.data()) == 0;
    if (bound) action();
  }).join();
  ASSERT_TRUE(bound) << errno_text(errno);
}

class UnreadablePin : public testing::Test {
 protected:
  void SetUp() override {
    const Fd map(bpf_map_create(BPF_MAP_TYPE_ARRAY, "kept", sizeof(uint32_t), 8, 1, nullptr));
    ASSERT_TRUE(pins.pin(Pins::Kind::map, "kept", map.get()));
    fs::permissions(folder, fs::perms::owner_all | fs::perms::others_read | fs::perms::others_exec);
    ASSERT_TRUE(pins.check());
  }
  // Not the advice to remove it: nothing is known of it.
  void expect_refused(const Result<>& refused) const {
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ExitCode::no_permission);
    EXPECT_THAT(refused.error().message, HasSubstr("cannot open the pin " + pin().string()));
    EXPECT_THAT(refused.error().message, HasSubstr("CAP_BPF"));
    EXPECT_TRUE(pins.check());
  }
  [[nodiscard]] fs::path pin() const { return folder / "kept"; }

  Bpffs bpffs;
  fs::path folder = bpffs.path() / "ktraced" / "object-1" / "maps";
  Pins pins = Pins::open(PinRoot::open(bpffs.path() / "ktraced", PinRoot::IfMissing::make).value(),
                         "object-1")
                  .value();
};

// EPERM of the system call where unprivileged users may not use BPF.
TEST_F(UnreadablePin, IsNotDamagedForAProcessWithoutCapabilities) {
  Result<> refused;
  as_user(kAttacker, kAttacker, [&] { refused = pins.check(); });
  expect_refused(refused);
}

// EACCES, which the kernel gives for what is no pin too.
TEST_F(UnreadablePin, IsNotDamagedIfItsModeForbidsToOpenIt) {
  ASSERT_EQ(::chown(pin().c_str(), kAttacker, kAttacker), 0);
  Result<> refused;
  bound_by_modes([&] { refused = pins.check(); });
  expect_refused(refused);
}

TEST(PinDirectory, WithSomeOfThePinsIsReplaced) {
  for (const char* pin : {"maps/-data-control", "maps/tasks"}) {
    Bpffs bpffs;
    const fs::path root = bpffs.path() / "ktraced";
    Daemon daemon(config_in(root));
    daemon.end(SIGKILL);
    fs::remove(object_in(root) / pin);
    daemon.start();
    EXPECT_FALSE(daemon.log().contains("adopted what")) << pin;
    EXPECT_EQ(daemon.stop().exit_code, 0);
  }
}

}  // namespace
}  // namespace ktraced::live
