// SPDX-License-Identifier: BSD-2-Clause
// Kernel modules are loaded and unloaded during tracing. Needs a machine of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "harness/client/probes.h"
#include "harness/client/stream.h"
#include "harness/machine/kernel_module.h"
#include "harness/traces/flight.h"
#include "harness/traces/missed.h"

namespace ktraced::live {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const std::string kOpened = "p:opened nbd:nbd_open";

void open_times(int count) {
  for (int i = 0; i < count; ++i) NbdModule::open_device();
}

bool is_available(Daemon& daemon) { return probe(daemon, "kprobes:opened")["available"] == true; }

std::string listed(Daemon& daemon) { return daemon.call("events.list").dump(); }

TEST(Modules, ProbeNeedsItsModule) {
  NbdModule nbd;
  Daemon daemon;
  const auto why_not = [&](const std::string& text) {
    return daemon.call_error("probe.add", {{"text", text}})["message"].get<std::string>();
  };
  EXPECT_EQ(why_not(kOpened),
            "column 10: the kernel module nbd is not loaded: load it (modprobe nbd)");
  EXPECT_THAT(why_not("p:opened nbd_open"), HasSubstr("unknown kernel function 'nbd_open'"));
  nbd.load();
  daemon.call("probe.add", {{"text", kOpened}});
  Stream stream(daemon);
  open_times(1);
  const auto events = stream.finish().events("kprobes:opened", ::getpid());
  ASSERT_EQ(events.size(), 1U);
  EXPECT_THAT(name_of(events[0], "__probe_ip"), StartsWith("nbd_open+0x0/"));
  EXPECT_THAT(name_of(events[0], "__probe_ip"), HasSubstr(" [nbd]"));
}

TEST(Modules, CanBeUnloadedAndReloadedWhileProbed) {
  NbdModule nbd;
  nbd.load();
  Daemon daemon(flight_config());
  daemon.call("probe.add", {{"text", kOpened}});
  open_times(3);
  ASSERT_TRUE(nbd.try_unload()) << "a probe does not keep its module";
  ASSERT_TRUE(eventually([&] { return !is_available(daemon); })) << daemon.log();
  const json gone = probe(daemon, "kprobes:opened");
  EXPECT_EQ(gone["reason"], "its module nbd has been unloaded");
  EXPECT_EQ(gone["hits"], 3);
  EXPECT_THAT(daemon.ctl_ok({"probe", "list"}), HasSubstr("has been unloaded"));

  nbd.load();
  ASSERT_TRUE(eventually([&] { return is_available(daemon); })) << daemon.log();
  open_times(2);
  EXPECT_EQ(probe(daemon, "kprobes:opened")["hits"], 5);
  const json taken = daemon.call("snapshot.take");
  EXPECT_TRUE(complete_but_for_missed(taken)) << taken;
  const std::string shown =
      daemon.ctl_ok({"show", taken["path"].get<std::string>(), "--format", "json"});
  EXPECT_EQ(std::ranges::count(shown, '\n'), 5) << shown;

  daemon.call("probe.remove", {{"names", {"opened"}}});
  EXPECT_TRUE(eventually([&] { return nbd.try_unload(); }));
  EXPECT_EQ(daemon.stop().exit_code, 0);
}

TEST(Modules, AddConfiguredProbesWhenLoaded) {
  NbdModule nbd;
  Daemon daemon(json{{"probes", json::array({kOpened})}});
  EXPECT_THAT(probe(daemon, "kprobes:opened")["reason"].get<std::string>(),
              HasSubstr("the kernel module nbd is not loaded"));
  nbd.load();
  ASSERT_TRUE(eventually([&] { return is_available(daemon); })) << daemon.log();
  Stream stream(daemon);
  open_times(4);
  EXPECT_EQ(stream.finish().events("kprobes:opened", ::getpid()).size(), 4U);
}

// The kernel has already removed the probe that the earlier daemon had attached.
TEST(Modules, AreProbedAgainByTheNextDaemon) {
  NbdModule nbd;
  nbd.load();
  json config = flight_config();
  config["probes"] = json::array({kOpened});
  Daemon daemon(config);
  open_times(3);
  daemon.end(SIGKILL);
  ASSERT_TRUE(eventually([&] { return nbd.try_unload(); }));
  nbd.load();
  daemon.start();
  EXPECT_TRUE(daemon.logged("adopted what"));
  ASSERT_TRUE(eventually([&] { return is_available(daemon); })) << daemon.log();
  open_times(2);
  EXPECT_EQ(probe(daemon, "kprobes:opened")["hits"], 5);
  EXPECT_EQ(daemon.stop().exit_code, 0);
}

// A probe by a pattern may keep its module loaded; this depends on the kernel.
TEST(Modules, CanBeUnloadedAfterPatternProbesAreRemoved) {
  NbdModule nbd;
  nbd.load();
  Daemon daemon(flight_config());
  daemon.call("probe.add", {{"text", "p:some nbd:nbd_*"}});
  open_times(1);
  if (nbd.try_unload()) {
    ASSERT_TRUE(eventually([&] { return probe(daemon, "kprobes:some")["available"] == false; }));
  } else {
    daemon.call("probe.remove", {{"names", {"some"}}});
    EXPECT_TRUE(eventually([&] { return nbd.try_unload(); }));
  }
  EXPECT_EQ(daemon.call("status")["state"], "running");
}

TEST(Modules, AddAndRemoveTheirTracepoints) {
  NbdModule nbd;
  Daemon daemon(json{{"events", {{"tracepoints", {"nbd:*"}}}}});
  EXPECT_NE(daemon.ctl({"events", "list", "nbd:*"}).exit_code, 0);
  EXPECT_THAT(listed(daemon), Not(HasSubstr("nbd:")));
  nbd.load();
  ASSERT_TRUE(eventually([&] { return listed(daemon).contains("nbd:nbd_send_request"); }))
      << daemon.log();
  EXPECT_THAT(daemon.ctl_ok({"events", "list", "nbd:*"}), HasSubstr("nbd:nbd_payload_sent"));
  {
    Stream stream(daemon);
    NbdModule::request(8192);
    EXPECT_FALSE(nbd.try_unload()) << "the kernel keeps a module while a tracepoint is recorded";
    const auto events = stream.finish().events("nbd:nbd_send_request");
    ASSERT_FALSE(events.empty());
    EXPECT_EQ(number_of(events.back(), "dev_index"), 0);
  }
  // Without subscribers nothing is recorded, so nothing keeps the module loaded.
  ASSERT_TRUE(eventually([&] { return nbd.try_unload(); }));
  EXPECT_TRUE(eventually([&] { return !listed(daemon).contains("nbd:"); })) << daemon.log();
  EXPECT_NE(daemon.ctl({"events", "list", "nbd:*"}).exit_code, 0);
  EXPECT_GT(daemon.event_status("nbd:nbd_send_request")["recorded"], 0) << "its counts stay";
  nbd.load();
  ASSERT_TRUE(eventually([&] { return listed(daemon).contains("nbd:nbd_send_request"); }));
}

TEST(Modules, ResolveAddressesWhileLoaded) {
  NbdModule nbd;
  Daemon daemon;
  const auto resolves = [&] {
    const std::string address = kallsyms_address("nbd_open", "nbd");
    const json symbols = daemon.call("symbols.resolve", {{"addresses", {address}}})["symbols"];
    return symbols.dump().contains("nbd_open+0x0/");
  };
  for (int i = 0; i < 2; ++i) {
    nbd.load();
    EXPECT_TRUE(eventually(resolves));
    ASSERT_TRUE(nbd.try_unload());
  }
}

}  // namespace
}  // namespace ktraced::live
