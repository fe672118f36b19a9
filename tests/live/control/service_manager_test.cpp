// SPDX-License-Identifier: BSD-2-Clause
// What the daemon exchanges with a service manager: states, watchdog, passed socket.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <csignal>
#include <cstring>

#include "harness/client/daemon.h"
#include "harness/machine/held_thread.h"

namespace ktraced::live {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

// Stands for the service manager (NOTIFY_SOCKET).
class NotifySocket {
 public:
  NotifySocket() : path_(directory_.path() / "notify") {
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    std::memcpy(address.sun_path, path_.c_str(), path_.size() + 1);
    if (!fd_ || ::bind(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0)
      throw std::runtime_error("no socket for notifications");
  }

  [[nodiscard]] Command environment(const std::string& more = "KTRACED_TEST=1") const {
    return {"env", "NOTIFY_SOCKET=" + path_, more};
  }
  // The next message; empty: none has come.
  std::string next() {
    char text[4096];
    const ssize_t size = ::recv(fd_.get(), text, sizeof(text), MSG_DONTWAIT);
    return size < 0 ? "" : std::string(text, static_cast<size_t>(size));
  }
  std::string wait() {
    std::string message;
    EXPECT_TRUE(eventually([&] { return !(message = next()).empty(); }));
    return message;
  }
  void discard() {
    while (!next().empty()) continue;
  }

 private:
  TempDir directory_;
  std::string path_;
  Fd fd_{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
};

TEST(ServiceManager, GetsTheStatesOfTheDaemon) {
  NotifySocket manager;
  Daemon daemon(json::object(), manager.environment());
  EXPECT_THAT(manager.wait(), AllOf(StartsWith("READY=1\n"), HasSubstr(daemon.socket()),
                                    HasSubstr(daemon.config_file())));
  daemon.call("reload");
  EXPECT_THAT(manager.wait(), StartsWith("RELOADING=1\nMONOTONIC_USEC="));
  EXPECT_THAT(manager.wait(), StartsWith("READY=1\n"));
  daemon.write_config_text("no configuration");
  EXPECT_EQ(daemon.ctl({"reload"}).exit_code, 78);
  EXPECT_THAT(manager.wait(), StartsWith("RELOADING=1\n"));
  EXPECT_THAT(manager.wait(), StartsWith("READY=1\n"));
  daemon.stop();
  EXPECT_THAT(manager.wait(), StartsWith("STOPPING=1\n"));
}

class Watchdog : public testing::TestWithParam<std::string> {};

TEST_P(Watchdog, IsNotFedWhileTheThreadHangs) {
  NotifySocket manager;
  Daemon daemon(json::object(), manager.environment("WATCHDOG_USEC=100000"));
  EXPECT_THAT(manager.wait(), StartsWith("READY=1\n"));
  EXPECT_EQ(manager.wait(), "WATCHDOG=1");
  {
    HeldThread hung(daemon.pid(), GetParam());
    manager.discard();
    std::this_thread::sleep_for(500ms);
    EXPECT_EQ(manager.next(), "");
  }
  EXPECT_EQ(manager.wait(), "WATCHDOG=1");
}

INSTANTIATE_TEST_SUITE_P(Threads, Watchdog, testing::Values("ktraced", "ktraced-drain"));

// A configuration whose socket is made by systemd-socket-activate.
class PassedSocket : public testing::Test {
 protected:
  [[nodiscard]] std::string config_with(const std::string& socket) const {
    const std::string pins = "/sys/fs/bpf" / directory.path().filename();
    return directory.file("config.json", json{{"control", {{"socket", socket}}},
                                              {"bpffs", pins},
                                              {"flight", {{"enabled", false}}},
                                              {"events", json::object()}}
                                             .dump());
  }
  [[nodiscard]] Command activated(const std::string& config) const {
    return {"systemd-socket-activate", "--listen=" + socket, kDaemonProgram, "--config", config};
  }

  TempDir directory;
  std::string socket = directory.path() / "control.sock";
};

TEST_F(PassedSocket, StartsTheDaemonWithTheFirstClientAndStaysWhenItEnds) {
  Process daemon(activated(config_with(socket)));
  ASSERT_TRUE(eventually([&] { return RpcConnection::answers(socket); })) << daemon.err();
  Finished status = run({kClientProgram, "--socket", socket, "status"});
  EXPECT_EQ(status.exit_code, 0) << status.err;
  daemon.send(SIGTERM);
  EXPECT_EQ(daemon.wait().exit_code, 0);
  EXPECT_TRUE(std::filesystem::exists(socket));
}

TEST_F(PassedSocket, MustBeTheConfiguredOne) {
  const std::string other = directory.path() / "other.sock";
  Process daemon(activated(config_with(other)));
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(socket); }));
  run({kClientProgram, "--socket", socket, "status"});
  const Finished end = daemon.wait();
  EXPECT_EQ(end.exit_code, 78);
  EXPECT_THAT(end.err, HasSubstr("the service manager has passed another socket than " + other));
}

}  // namespace
}  // namespace ktraced::live
