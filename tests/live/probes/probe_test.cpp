// SPDX-License-Identifier: BSD-2-Clause
// Kernel probes as events, on kernels that have kprobes; see no_kprobes_test.cpp for the others.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <regex>

#include "harness/client/probes.h"
#include "harness/client/stream.h"
#include "harness/machine/scale.h"
#include "harness/traces/flight.h"
#include "harness/traces/numbers.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(Probe, RecordsEveryHitWithItsArgument) {
  const long count = scaled(40'000);
  Daemon daemon;
  add(daemon, kNumbered);
  WaitingTruth truth({"numbered", std::to_string(count)});
  daemon.set_filter({{"pid", {truth.pid()}}});
  Stream stream(daemon);
  truth.act();
  const Trace trace = stream.finish();
  const auto events = trace.events("kprobes:number", truth.pid());
  const auto missed = probe(daemon, "kprobes:number")["missed"].get<long>();
  EXPECT_EQ(static_cast<long>(events.size()) + trace.lost() + missed, count);
  long long last = 0;
  for (const json& event : events) {
    EXPECT_GT(number_of(event, "n"), last);
    last = number_of(event, "n");
  }
  EXPECT_EQ(trace.lost(), 0);
  EXPECT_LE(last, count);
}

TEST(Probe, RecordsTheValueAndBothPlacesAtReturn) {
  Daemon daemon;
  add(daemon, kReturn);
  WaitingTruth truth({"numbered", "10"});
  daemon.set_filter({{"pid", {truth.pid()}}});
  Stream stream(daemon);
  truth.act();
  const auto events = stream.finish().events("kprobes:result", truth.pid());
  ASSERT_EQ(events.size(), 10U);
  for (const json& event : events) EXPECT_NE(number_of(event, "ret"), 0);
  EXPECT_THAT(name_of(events[0], "__probe_func"), HasSubstr("__x64_sys_getpriority+0x0/"));
  EXPECT_THAT(name_of(events[0], "__probe_ret_ip"), HasSubstr("+0x"));
}

TEST(Probe, ReadsStringsAndArraysOfBitFieldsFromUserMemory) {
  Daemon daemon;
  add(daemon, "p:open do_sys_openat2 path=+0($arg2):ustring low=+u0($arg2):b4@0/8[4]");
  WaitingTruth truth({"syscalls"});
  daemon.set_filter({{"pid", {truth.pid()}}});
  Stream stream(daemon);
  truth.act();
  std::map<std::string, json> low;  // by path
  for (const json& event : stream.finish().events("kprobes:open", truth.pid()))
    low[event["args"]["path"]] = event["args"]["low"];
  EXPECT_TRUE(low.contains("/dev/zero"));
  EXPECT_EQ(low["/nonexistent/ktraced-truth"], json({0xf, 0xe, 0xf, 0xe}));  // of "/non"
}

// The kernel handles int3 as an NMI, until it has optimized the probe.
TEST(Probe, HitsOfAnInstructionAreNotInAnInterrupt) {
  Daemon daemon;
  int offset = 9;  // beyond what ftrace has at the entry
  while (offset < 40 &&
         daemon.ctl({"probe", "add", fmt::format("p:inside __x64_sys_getpriority+{}", offset)})
                 .exit_code != 0)
    ++offset;
  ASSERT_LT(offset, 40) << daemon.ctl_ok({"probe", "list"});
  WaitingTruth truth({"numbered", "10"});
  daemon.set_filter({{"pid", {truth.pid()}}});
  Stream stream(daemon);
  truth.act();
  const auto events = stream.finish().events("kprobes:inside", truth.pid());
  ASSERT_FALSE(events.empty());
  for (const json& event : events) EXPECT_EQ(event.value("context", "task"), "task") << event;
}

TEST(Probe, WarnsOfOptionsWithoutEffect) {
  Daemon daemon;
  EXPECT_THAT(daemon.ctl_ok({"probe", "add", "r20:limited vfs_read"}),
              HasSubstr("#   maxactive 20 has no effect"));
  EXPECT_THAT(daemon.ctl_ok({"probe", "list"}),
              AllOf(HasSubstr("r20:kprobes/limited vfs_read"), HasSubstr("has no effect")));
}

TEST(Probe, MarksUnreadableValuesAsFaults) {
  Daemon daemon(flight_config());
  add(daemon, "p:open do_sys_openat2 bad=+0($arg1):string number=+0($arg1):u32 after=$arg1:s32");
  WaitingTruth truth({"syscalls"});
  daemon.set_filter({{"pid", {truth.pid()}}});
  truth.act();
  const json taken = json::parse(daemon.ctl_ok({"--json", "snapshot", "take"}));
  const std::string path = taken["path"];
  const std::string lines = daemon.ctl_ok({"show", path, "--format", "json"});
  EXPECT_THAT(lines, HasSubstr(R"("bad":null,"number":null,"after":-100)"));
  const std::string text = daemon.ctl_ok({"show", path, "--format", "ftrace"});
  EXPECT_THAT(text, HasSubstr("bad=(fault) number=(fault) after=-100"));
}

TEST(Probe, TakesNamesOfArgumentsAndMembersFromBtf) {
  Daemon daemon;
  add(daemon,
      "p:rd vfs_read count name=file->f_path.dentry->d_name.name:string "
      "ino=file->f_inode->i_ino");
  Process reader({"/bin/sh", "-c", "read go; read line < /proc/self/stat; read end"});
  daemon.set_filter({{"pid", {reader.pid()}}});
  Stream stream(daemon);
  reader.write_input("go\n");
  reader.write_input("end\n");
  EXPECT_EQ(reader.wait().exit_code, 0);
  std::vector<std::string> names;
  for (const json& event : stream.finish().events("kprobes:rd", reader.pid())) {
    names.push_back(event["args"]["name"]);
    EXPECT_GT(number_of(event, "count"), 0);
  }
  EXPECT_THAT(names, Contains("stat"));
}

TEST(Probe, ReportsTheColumnAndTheRemedyOfAnError) {
  Daemon daemon;
  EXPECT_THAT(why_not(daemon, "p vfs_raed"), AllOf(HasSubstr("column 3"), HasSubstr("vfs_read")));
  EXPECT_THAT(why_not(daemon, "p vfs_read+3"), HasSubstr("not an instruction boundary"));
  EXPECT_THAT(why_not(daemon, "p vfs_read+0x100000"), HasSubstr("beyond its end"));
  EXPECT_THAT(why_not(daemon, "p vfs_read cuont"), HasSubstr("did you mean 'count'?"));
  EXPECT_THAT(why_not(daemon, "p vfs_read @nothing_there"), HasSubstr("no symbol nothing_there"));
  EXPECT_THAT(why_not(daemon, "p notifier_call_chain"), HasSubstr("cannot be probed"));
  EXPECT_THAT(daemon.call("probe.list")["probes"], IsEmpty());
}

TEST(Probe, AddsAllDefinitionsOrNone) {
  Daemon daemon;
  add(daemon, "p:kept vfs_read");
  EXPECT_THAT(why_not(daemon, "p:one vfs_read\np:two vfs_read+3\n"), HasSubstr("vfs_read+3"));
  EXPECT_THAT(why_not(daemon, "p:one vfs_read\np:kept vfs_write\n"), HasSubstr("already"));
  EXPECT_THAT(why_not(daemon, "p:one vfs_read\np:two vfs_write\np:three no_such_function"),
              HasSubstr("no_such_function"));
  std::string many;
  for (int i = 0; i < 257; ++i) many += fmt::format("p:m{} vfs_read\n", i);
  EXPECT_THAT(why_not(daemon, many), HasSubstr("at most 256"));
  const json list = daemon.call("probe.list")["probes"];
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0]["attached"], false) << "there is no subscriber";
}

// A list of probes without its counts: testing a probe can hit it.
std::string definitions(const std::string& list) {
  return std::regex_replace(list, std::regex(" # .*"), "");
}

TEST(Probe, ListsDefinitionsThatCanBeAddedAgain) {
  Daemon daemon;
  daemon.ctl_ok({"probe", "add", kNumbered, kReturn, kOpen, "p:any vfs_w*"});
  const std::string list = daemon.ctl_ok({"probe", "list"});
  std::ofstream(daemon.directory() / "probes") << list;
  daemon.ctl_ok({"probe", "remove", "kprobes/number", "result"});
  EXPECT_EQ(daemon.call("probe.list")["probes"].size(), 2U);
  daemon.ctl_ok({"probe", "clear"});
  EXPECT_THAT(daemon.call("probe.list")["probes"], IsEmpty());
  daemon.ctl_ok({"probe", "add", "-f", (daemon.directory() / "probes").string()});
  EXPECT_EQ(definitions(daemon.ctl_ok({"probe", "list"})), definitions(list));
  EXPECT_EQ(daemon.ctl({"probe", "remove", "nothing"}).exit_code, 64);
}

TEST(Probe, IsEnabledAndDisabledLikeAnyEvent) {
  Daemon daemon;
  Stream stream(daemon);
  add(daemon, kNumbered);
  EXPECT_EQ(probe(daemon, "kprobes:number")["attached"], true);
  daemon.disable({"kprobes:number"});
  EXPECT_EQ(probe(daemon, "kprobes:number")["attached"], false);
  daemon.enable({"kprobes:number"});
  EXPECT_EQ(probe(daemon, "kprobes:number")["attached"], true);
  daemon.call("probe.remove", {{"names", {"number"}}});
  EXPECT_NE(daemon.ctl({"events", "enable", "kprobes:number"}).exit_code, 0);
  stream.finish();
}

TEST(Probe, ReloadReplacesOnlyChangedProbes) {
  const json config = {{"probes", {kNumbered, "p:gone vfs_read"}}};
  Daemon daemon(config);
  Stream stream(daemon);
  run_truth({"numbered", "10"});
  const json before = probe(daemon, "kprobes:number");
  EXPECT_GE(before["hits"].get<long>(), 10);
  daemon.write_config({{"probes", {kNumbered, kReturn}}});
  daemon.call("reload");
  const json after = probe(daemon, "kprobes:number");
  EXPECT_EQ(after["id"], before["id"]);
  EXPECT_GE(after["hits"], before["hits"]);
  EXPECT_EQ(probe(daemon, "kprobes:result")["attached"], true);
  EXPECT_TRUE(probe(daemon, "kprobes:gone").is_null());
  stream.finish();
}

TEST(Probe, IsAddedRemovedAndClearedAtFullRate) {
  Daemon daemon;
  WaitingTruth load({"numbered", "0"});
  daemon.set_filter({{"pid", {load.pid()}}});
  Stream stream(daemon);
  load.go();
  const long rounds = std::max(6L, scaled(24));
  for (long round = 0; round < rounds; ++round) {
    // One name with different fields each time.
    add(daemon, round % 2 == 0 ? "p:number __x64_sys_getpriority even=+104($arg1):u64"
                               : "p:number __x64_sys_getpriority t=\\\"odd\" odd=+104($arg1):u32");
    add(daemon, kReturn);
    const auto hits = [&] { return probe(daemon, "kprobes:number")["hits"].get<long>(); };
    EXPECT_TRUE(eventually([&] { return hits() > 0; }));
    if (round % 3 == 0)
      daemon.call("probe.clear");
    else
      daemon.call("probe.remove", {{"names", {"kprobes/"}}});
  }
  const json expected = load.finish();
  long even = 0, odd = 0, lost = 0;
  stream.finish([&](const json& line) {
    if (line.value("event", "") != "kprobes:number" || testing::Test::HasFailure()) return;
    if (line.contains("lost")) {
      lost += line["lost"].get<long>();
      return;
    }
    const json& args = line["args"];
    ASSERT_NE(args.contains("even"), args.contains("odd")) << line;
    const char* field = args.contains("even") ? "even" : "odd";
    (args.contains("even") ? even : odd)++;
    ASSERT_GT(number_of(line, field), 0) << line;
    ASSERT_LE(number_of(line, field), expected["count"].get<long long>()) << line;
    if (args.contains("odd")) {
      ASSERT_EQ(args["t"], "odd") << line;
    }
  });
  EXPECT_GT(even, 0);
  EXPECT_GT(odd, 0);
  const json counts = daemon.event_status("kprobes:number");
  EXPECT_EQ(counts["recorded"].get<long>(), even + odd);
  EXPECT_EQ(counts["dropped"].get<long>(), lost);
  EXPECT_EQ(daemon.stop().exit_code, 0);
}

}  // namespace
}  // namespace ktraced::live
