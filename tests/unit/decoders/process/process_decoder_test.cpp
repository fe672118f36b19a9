// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/process/process_decoder.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "analysis/coverage/call_result.h"
#include "unit/support/decoder_fixture.h"

namespace ktraced::test {
namespace {

constexpr uint16_t kNewtask = 310, kHit = 311, kReturn = 312;

Field field(std::string name, Meaning meaning, uint32_t offset, uint32_t size) {
  Field made;
  made.name = std::move(name);
  made.meaning = meaning;
  made.offset = offset;
  made.size = size;
  return made;
}

struct NewtaskRecord {
  record h;
  s32 pid;
  s32 unused;
  u64 clone_flags;
};
struct HitRecord {
  record h;
  u64 place;
  u64 value;
};

// With the kernel's task_newtask and probes of both kinds, whose one value is `bytes`.
class ProcessTest : public DecoderTest {
 protected:
  ProcessTest() {
    add({.id = kNewtask,
         .name = "task:task_newtask",
         .group = "task",
         .fields = {field("pid", Meaning::tid, 16, 4),
                    field("clone_flags", Meaning::number, 24, 8)}});
    add({.id = kHit,
         .name = "kprobes:read",
         .group = "kprobes",
         .fields = {field("__probe_ip", Meaning::kaddr, 16, 8),
                    field("bytes", Meaning::number, 24, 8)}});
    add({.id = kReturn,
         .name = "kprobes:opened",
         .group = "kprobes",
         .fields = {field("__probe_func", Meaning::kaddr, 16, 8),
                    field("__probe_ret_ip", Meaning::kaddr, 24, 8)}});
  }
  void add(Event event) {
    event.size = 32;
    schema_.add(std::move(event));
  }

  static std::string without_prefix(const std::string& line) {
    const std::string prefix = "bash 3352 2 18440.883932  ";
    EXPECT_TRUE(line.starts_with(prefix)) << line;
    return line.substr(std::min(line.size(), prefix.size()));
  }
  std::string text(const Bytes& record, bool names = false) {
    ProcessDecoder decoder(sources(), names);
    return without_prefix(decode(decoder, record));
  }
  std::string text(const std::string& event, bool names = false) {
    return text(records_.at(event), names);
  }
  static Bytes newtask(s32 child, u64 flags) {
    return by_bash(kNewtask, NewtaskRecord{.pid = child, .clone_flags = flags});
  }

  std::map<std::string, Bytes> records_ = special_records();
};

TEST_F(ProcessTest, WritesLinesLikeTheProcessTracer) {
  EXPECT_EQ(text(newtask(4000, 0x1200011)), "fork 4000 flags 0x1200011\n");
  EXPECT_EQ(text("sched_process_exec"), "exec\n");
  EXPECT_EQ(text("sched_process_exit"), "exit 768\n");
  EXPECT_EQ(text("signal_deliver"), "signal 11 errno 2 code 0x1\n");
  EXPECT_EQ(text("sys_enter"), "syscall 257 [0xffffffffffffff9c 0x7f00 0x2 0x0 0x0 0x1]\n");
  EXPECT_EQ(text("sys_exit"), "syscall rc -2 error -2\n");
  EXPECT_EQ(text(by_bash(EVENT_sys_exit, rec_sys_exit{.nr = 0, .ret = 17})),
            "syscall rc 17 error 0\n");
  EXPECT_EQ(text(by_bash(EVENT_sys_exit, rec_sys_exit{.nr = kSigreturnNumber, .ret = -4})),
            "syscall rc -4 error 0\n")
      << "it belongs to the interrupted call";
}

TEST_F(ProcessTest, ShowsNamesWhenRequested) {
  EXPECT_EQ(text("sched_process_exec", true), "exec /usr/bin/make argv \"make -j4\"\n");
  EXPECT_EQ(text("sched_process_exit", true), "exit 3\n");
  EXPECT_EQ(
      text(by_bash(EVENT_sched_process_exit, rec_sched_process_exit{.exit_code = 0x8b}), true),
      "exit SIGSEGV\n");
  EXPECT_EQ(text("signal_deliver", true), "signal SIGSEGV errno ENOENT code SEGV_MAPERR\n");
  EXPECT_EQ(text("sys_enter", true),
            "syscall openat [0xffffffffffffff9c 0x7f00 0x2 0x0 0x0 0x1]\n");
  EXPECT_EQ(text("sys_exit", true), "syscall rc -2 error ENOENT\n");
  EXPECT_EQ(text(by_bash(EVENT_sys_enter, rec_sys_enter{.nr = 9999}), true),
            "syscall 9999 [0x0 0x0 0x0 0x0 0x0 0x0]\n");
  EXPECT_EQ(text(by_bash(EVENT_sys_enter, rec_sys_enter{.nr = 64, .abi = 1}), true),
            "syscall getppid [0x0 0x0 0x0 0x0 0x0 0x0]\n");
  EXPECT_EQ(text(by_bash(EVENT_signal_deliver, rec_signal_deliver{{}, 10, 0, -6, 0, 0}), true),
            "signal SIGUSR1 errno 0 code SI_TKILL\n");
  EXPECT_EQ(text(by_bash(EVENT_signal_deliver, rec_signal_deliver{{}, 17, 0, 1, 0, 0}), true),
            "signal SIGCHLD errno 0 code CLD_EXITED\n");
  EXPECT_EQ(text(by_bash(EVENT_signal_deliver, rec_signal_deliver{{}, 10, 0, 1, 0, 0}), true),
            "signal SIGUSR1 errno 0 code 0x1\n")
      << "a code of other signals";
}

TEST_F(ProcessTest, MarksArgumentsThatAreCutOrUnreadable) {
  const auto shown = [&](const std::string& argv, bool cut) {
    Bytes record = exec_record("/bin/a b", argv);
    uint32_t word = 0;
    std::byte* at = record.data() + offsetof(rec_sched_process_exec, argv);
    std::memcpy(&word, at, sizeof(word));
    if (cut) word |= LOCATED_CUT;
    std::memcpy(at, &word, sizeof(word));
    return text(record, true);
  };
  EXPECT_EQ(shown("a  b\n", false), "exec /bin/a b argv \"a '' $'b\\n'\"\n");
  EXPECT_EQ(shown("sh -c a\x1f&&\x1f"
                  "b",
                  false),
            "exec /bin/a b argv \"sh -c 'a && b'\"\n");
  EXPECT_EQ(shown("a b", true), "exec /bin/a b argv \"a b\"...\n");
  EXPECT_EQ(shown("", true), "exec /bin/a b argv unreadable\n");
  EXPECT_EQ(shown("", false), "exec /bin/a b argv \"''\"\n") << "one empty argument";
}

// A record of openat's path.
Bytes string_record(uint16_t id, rec_sys_enter_string fixed, std::string_view text) {
  const size_t size = (sizeof(fixed) + text.size() + 1 + 7) / 8 * 8;
  fixed.h = {.ts = kTs, .id = id, .size = static_cast<u16>(size), .tid = 3352};
  fixed.nr = 257;
  fixed.arg = 1;
  fixed.length = static_cast<u16>(text.size());
  Bytes bytes(size);
  std::memcpy(bytes.data(), &fixed, sizeof(fixed));
  std::ranges::copy(std::as_bytes(std::span(text)), bytes.begin() + sizeof(fixed));
  return bytes;
}

TEST_F(ProcessTest, ShowsStringsOfSystemCalls) {
  EXPECT_EQ(text(string_record(EVENT_sys_enter_string, {}, "/etc/hostname")),
            "string 257 1 \"/etc/hostname\"\n");
  EXPECT_EQ(text(string_record(EVENT_sys_enter_string, {.cut = 1}, "/a\n\xff"), true),
            "string openat 1 \"/a\\x0a\\xff\"...\n");
  EXPECT_EQ(text(string_record(EVENT_sys_enter_string, {.pointer = 0x1000, .unreadable = 1}, "")),
            "string 257 1 unreadable at 0x1000\n");
  EXPECT_EQ(text(string_record(EVENT_sys_exit_string, {}, "/etc/hostname"), true),
            "string openat 1 \"/etc/hostname\" (at return)\n");
}

TEST_F(ProcessTest, ShowsAForkOnceWithItsFlagsIfTheyAreKnown) {
  ProcessDecoder decoder(sources(), false);
  EXPECT_EQ(without_prefix(decode(decoder, newtask(4000, 0x11))), "fork 4000 flags 0x11\n");
  EXPECT_EQ(decode(decoder, records_.at("sched_process_fork")), "") << "shown already";
  EXPECT_EQ(without_prefix(decode(decoder, records_.at("sched_process_fork"))),
            "fork 4000 flags ?\n")
      << "another child of that id, whose task_newtask was lost";
  EXPECT_EQ(without_prefix(decode(decoder, newtask(4001, 0x11))), "fork 4001 flags 0x11\n");
  EXPECT_EQ(without_prefix(decode(decoder, records_.at("sched_process_fork"))),
            "fork 4000 flags ?\n")
      << "another child";
}

TEST_F(ProcessTest, ShowsProbeHitsWithTheirPlace) {
  EXPECT_EQ(text(by_bash(kHit, HitRecord{.place = kCallSite, .value = 4096})),
            "@load_elf_binary+0x2a bytes=4096\n");
  EXPECT_EQ(text(by_bash(kReturn, HitRecord{.place = kFunction, .value = kCallSite})),
            "<-do_sys_openat2+0\n");
  EXPECT_EQ(text(by_bash(kHit, HitRecord{.place = 0xffffffff82000000, .value = 0})),
            "@0xffffffff82000000 bytes=0\n");
}

TEST_F(ProcessTest, ShowsThreadsWithoutAName) {
  ProcessDecoder decoder(sources(), false);
  EXPECT_EQ(decode(decoder, make_record(EVENT_sys_exit, kTs, 0, rec_sys_exit{}), 1),
            "swapper/1 0 1 18440.883932  syscall rc 0 error 0\n");
  EXPECT_EQ(decode(decoder, make_record(EVENT_sys_exit, 1999999500, 77, rec_sys_exit{}), 1),
            "<...> 77 1 2.000000  syscall rc 0 error 0\n");
}

TEST_F(ProcessTest, ShowsACompletedCallOnOneLine) {
  const auto completed = [](s64 duration, u16 args_known) {
    return by_bash(EVENT_sys_completed, rec_sys_completed{.nr = 257,
                                                          .args_known = args_known,
                                                          .args = {0x10, 2},
                                                          .ret = -2,
                                                          .duration = duration});
  };
  EXPECT_EQ(text(completed(1234, 1)),
            "syscall 257 [0x10 0x2 0x0 0x0 0x0 0x0] rc -2 error -2 ns 1234\n");
  EXPECT_EQ(text(completed(1234, 0), true), "syscall openat [?] rc -2 error ENOENT ns 1234\n");
  EXPECT_EQ(text(completed(-1, 1), true),
            "syscall openat [0x10 0x2 0x0 0x0 0x0 0x0] rc -2 error ENOENT ns ?\n");
}

TEST_F(ProcessTest, OmitsOtherEvents) {
  ProcessDecoder decoder(sources(), false);
  const std::set<std::string> shown = {
      "sched_process_fork", "sched_process_exec", "sched_process_exit",
      "signal_deliver",     "sys_enter",          "sys_exit",
      "sys_completed",      "sys_enter_string",   "sys_exit_string"};
  const Schema built_in = built_schema();
  for (const Event& event : built_in.events())
    EXPECT_EQ(decode(decoder, sample_record(event, 3352)).empty(), !shown.contains(event.name))
        << event.name;
}

TEST_F(ProcessTest, ReportsLossesOfShownEvents) {
  ProcessDecoder decoder(sources(), false);
  EXPECT_EQ(decode_loss(decoder, {.cpu = 1, .event_id = EVENT_sys_exit, .count = 5}),
            "# lost 5 sys_exit on CPU 1\n");
  EXPECT_EQ(decode_loss(decoder, {.cpu = 1, .event_id = EVENT_kfree, .count = 5}), "");
  EXPECT_EQ(decode_loss(decoder, {.cpu = 1, .event_id = 2000, .count = 5}),
            "# lost 5 event_2000 on CPU 1\n")
      << "may have been one of them";
}

}  // namespace
}  // namespace ktraced::test
