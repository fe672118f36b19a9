// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/predicate/predicate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "unit/support/decoder_fixture.h"
#include "unit/support/packets.h"
#include "unit/support/schema.h"

namespace ktraced::test {
namespace {

using ::testing::HasSubstr;

class PredicateTest : public ::testing::Test {
 protected:
  PredicateTest() {
    for (const Bytes& name : {task_name(100, 1, 100, "nginx"), task_name(101, 1, 100, "nginx-io")})
      names_.apply(RecordView(name.data()));
  }
  bool matches(std::string_view text, const Bytes& record, uint32_t cpu = 3) {
    auto predicate = Predicate::make(text, schema_);
    EXPECT_TRUE(predicate) << predicate.error().message;
    return predicate &&
           predicate->matches({.record = RecordView(record.data()), .cpu = cpu, .names = names_});
  }
  std::string error_of(std::string_view text) {
    const auto predicate = Predicate::make(text, schema_);
    EXPECT_FALSE(predicate) << text;
    return predicate ? std::string() : predicate.error().message;
  }
  static Bytes exit_of(s32 nr, s64 ret, u32 abi = 0, uint32_t tid = 100) {
    return make_record(EVENT_sys_exit, 10, tid, rec_sys_exit{.nr = nr, .abi = abi, .ret = ret});
  }

  Schema schema_ = built_schema();
  NameTable names_;
};

TEST_F(PredicateTest, ComparesSignedNumbers) {
  EXPECT_TRUE(matches("ret < 0", exit_of(257, -2)));
  EXPECT_FALSE(matches("ret < 0", exit_of(257, 3)));
  EXPECT_TRUE(matches("ret >= -2 && ret <= -2", exit_of(257, -2)));
  EXPECT_TRUE(matches("ret > -3", exit_of(257, -2)));
  EXPECT_FALSE(matches("ret > -1", exit_of(257, -2)));
}

TEST_F(PredicateTest, ComparesContexts) {
  const Bytes of_task = in_context(CONTEXT_TASK, exit_of(257, 0));
  const Bytes nested = in_context(CONTEXT_HARDIRQ_IN_SOFTIRQ, exit_of(257, 0));
  EXPECT_TRUE(matches("context == \"task\"", of_task));
  EXPECT_FALSE(matches("context != \"task\"", of_task));
  EXPECT_TRUE(matches("context == \"hardirq\"", nested));
  EXPECT_TRUE(matches("context ~ \"*irq\"", nested));
  EXPECT_TRUE(matches("context in (\"softirq\", \"hardirq\")", nested));
  for (const char* text : {"context == \"task\"", "context != \"task\""})
    EXPECT_FALSE(matches(text, exit_of(257, 0))) << "it is not known";
  EXPECT_THAT(error_of("context == \"hardirg\""), HasSubstr("did you mean 'hardirq'?"));
  EXPECT_THAT(error_of("context > \"task\""), HasSubstr("is a text"));
}

TEST_F(PredicateTest, ComparesArgumentsAsTheyAreShown) {
  const Bytes words = exec_record("/bin/sh",
                                  "sh -c a\x1f"
                                  "b");
  EXPECT_TRUE(matches("argv == \"sh -c 'a b'\"", words));
  const Bytes empty = exec_record("/bin/sh", "");
  EXPECT_TRUE(matches("argv == \"''\"", empty)) << "one empty argument";
  EXPECT_FALSE(matches("argv == \"\"", empty)) << "they could be read";
  Bytes unreadable = empty;
  const auto argv = offsetof(rec_sched_process_exec, argv);
  unreadable[argv + 1] |= std::byte{LOCATED_CUT >> 8};
  EXPECT_TRUE(matches("argv == \"\"", unreadable));
}

TEST_F(PredicateTest, ComparesUnsignedNumbersAboveTheSignedOnes) {
  rec_kfree high{};
  high.ptr = ~0ULL;
  const Bytes record = make_record(EVENT_kfree, 10, 100, high);
  EXPECT_TRUE(matches("ptr == 0xffffffffffffffff", record));
  EXPECT_TRUE(matches("ptr > 0", record));
  EXPECT_FALSE(matches("ptr == -1", record)) << "an address is not negative";
}

TEST_F(PredicateTest, KnowsSystemCallsOfEachAbi) {
  EXPECT_TRUE(matches("nr == openat", exit_of(257, 0)));
  EXPECT_TRUE(matches("nr == openat", exit_of(295, 0, 1))) << "its number in 32-bit programs";
  EXPECT_FALSE(matches("nr == openat", exit_of(257, 0, 1)));
  EXPECT_TRUE(matches("nr != openat", exit_of(0, 0)));
  EXPECT_TRUE(matches("nr in (read, openat)", exit_of(0, 0)));
  EXPECT_FALSE(matches("nr in (write, openat)", exit_of(0, 0)));
}

TEST_F(PredicateTest, KnowsErrorsAndFlags) {
  EXPECT_TRUE(matches("ret == -ENOENT", exit_of(257, -2)));
  EXPECT_TRUE(matches("ret == -EWOULDBLOCK", exit_of(257, -11))) << "EAGAIN";
  rec_signal_generate signal{};
  signal.sig = 9;
  EXPECT_TRUE(matches("sig == SIGKILL", make_record(EVENT_signal_generate, 10, 100, signal)));
  schema_.gfp_flags = {{.mask = 0x100, .name = "__GFP_ZERO"}};
  rec_kmalloc alloc{};
  alloc.gfp_flags = 0x1c0;
  const Bytes record = make_record(EVENT_kmalloc, 10, 100, alloc);
  EXPECT_TRUE(matches("gfp_flags & __GFP_ZERO", record));
  EXPECT_FALSE(matches("gfp_flags & 0x200", record));
}

TEST_F(PredicateTest, KnowsCodesOfSignals) {
  const auto signal = [](s32 sig, s32 code) {
    return make_record(EVENT_signal_generate, 10, 100,
                       rec_signal_generate{.sig = sig, .code = code});
  };
  EXPECT_TRUE(matches("code == SI_USER", signal(9, 0)));
  EXPECT_TRUE(matches("code == SI_TKILL && code < 0", signal(6, -6)));
  EXPECT_TRUE(matches("code == CLD_EXITED", signal(17, 1)));
  EXPECT_FALSE(matches("code == CLD_EXITED", signal(11, 1))) << "SEGV_MAPERR";
  EXPECT_TRUE(matches("code != CLD_EXITED", signal(11, 1)));
  EXPECT_TRUE(matches("code in (CLD_EXITED, SEGV_MAPERR)", signal(11, 1)));
  EXPECT_TRUE(matches("code_name ~ 'SEGV_*'", signal(11, 1)));
  EXPECT_FALSE(matches("code_name ~ 'SEGV_*'", signal(17, 1)));
}

TEST_F(PredicateTest, KnowsWhatCpusDid) {
  const auto sample = [](u32 mode) {
    return make_record(EVENT_cpu_sample, 10, 100, rec_cpu_sample{.mode = mode, .periods = 1});
  };
  EXPECT_TRUE(matches("mode == kernel_thread", sample(SAMPLE_KERNEL_THREAD)));
  EXPECT_TRUE(matches("mode in (idle, guest)", sample(SAMPLE_GUEST)));
  EXPECT_FALSE(matches("mode == user", sample(SAMPLE_KERNEL)));
}

TEST_F(PredicateTest, KnowsHowTasksEnd) {
  const auto end = [](s32 code) {
    return make_record(EVENT_sched_process_exit, 10, 100,
                       rec_sched_process_exit{.exit_code = code});
  };
  EXPECT_TRUE(matches("exit_code == SIGSEGV", end(0x8b))) << "with a core dump";
  EXPECT_FALSE(matches("exit_code == SIGSEGV", end(11 << 8)));
  EXPECT_TRUE(matches("exit_code != SIGSEGV", end(11 << 8)));
  EXPECT_TRUE(matches("exit_code == 0x300", end(3 << 8)));
  EXPECT_TRUE(matches("exit_status == 3", end(3 << 8)));
  EXPECT_FALSE(matches("exit_status != 3", end(9))) << "a killed task has none";
  EXPECT_TRUE(matches("exit_signal in (SIGKILL, SIGTERM)", end(9)));
  EXPECT_FALSE(matches("exit_signal != SIGKILL", end(0)));
  EXPECT_TRUE(matches("exit_core == true", end(0x8b)));
}

TEST_F(PredicateTest, KnowsFlagsThatAreShownByName) {
  Event newtask{.id = 1900, .name = "task:task_newtask", .group = "task"};
  newtask.fields = {
      {.name = "clone_flags", .type = "unsigned long", .offset = 16, .size = 8, .count = 1}};
  newtask.size = 24;
  schema_.add(newtask);
  struct Newtask {
    record h;
    u64 clone_flags;
  };
  const Bytes record =
      make_record(static_cast<event_id>(1900), 10, 100, Newtask{.clone_flags = 0x10100});
  EXPECT_TRUE(matches("clone_flags & CLONE_THREAD", record));
  EXPECT_FALSE(matches("clone_flags & CLONE_VFORK", record));
  const Bytes deliver =
      make_record(EVENT_signal_deliver, 10, 100, rec_signal_deliver{{}, 17, 0, 1, 0, 0x14000000});
  EXPECT_TRUE(matches("sa_flags & SA_RESTART", deliver));
  EXPECT_THAT(error_of("sa_flags & SA_RESTAR"), HasSubstr("did you mean 'SA_RESTART'?"));
}

TEST_F(PredicateTest, KnowsAnnotations) {
  EXPECT_TRUE(matches("syscall == openat", exit_of(257, 0)));
  EXPECT_TRUE(matches("syscall == 'openat'", exit_of(257, 0)));
  EXPECT_TRUE(matches("syscall ~ 'open*'", exit_of(295, 0, 1)));
  EXPECT_FALSE(matches("syscall ~ 'open*'", exit_of(0, 0)));
  EXPECT_TRUE(matches("error == ENOENT", exit_of(257, -2)));
  EXPECT_TRUE(matches("error", exit_of(257, -2)));
  EXPECT_FALSE(matches("error != ENOENT", exit_of(257, 3))) << "it has no error";
  EXPECT_TRUE(matches("args.syscall == openat && error in (EPERM, ENOENT)", exit_of(257, -2)));
  const Bytes waking = make_record(EVENT_sched_switch, 10, 100, rec_sched_switch{.prev_pid = 101});
  EXPECT_TRUE(matches("prev_comm == 'nginx-io'", waking));
  EXPECT_TRUE(matches("prev_comm ~ 'nginx*' && next_comm ~ 'swapper/*'", waking));
  EXPECT_TRUE(matches("prev_state_name == 'R'", waking));
}

TEST_F(PredicateTest, ReportsAnUnknownNameOnceWithASuggestion) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"code == CLD_EXITD", "did you mean 'CLD_EXITED'?"},
      {"exit_code == SIGSEG", "did you mean 'SIGSEGV'?"},
      {"result == deliverd", "did you mean 'delivered'?"},
      {"syscall == opnat", "there is no system call 'opnat'; did you mean 'openat'?"},
      {"syscal == openat", "unknown field 'syscal'; did you mean 'syscall'?"},
      {"syscall ~ 'opn*'", "no value of this field has such a name"},
      {"error == -ENOENT", "it is a positive number: write ENOENT"},
      {"exit_code < SIGSEGV", "compare a signal with ==, != or in"},
      {"gfp_flags_names ~ '*ZERO*'", "has several names: use & NAME"},
      {"nr ~ 'open*'", "is a number: ~ is for texts"},
  };
  for (const auto& [text, message] : cases) EXPECT_THAT(error_of(text), HasSubstr(message)) << text;
}

TEST_F(PredicateTest, KnowsTheRecordsOwnValues) {
  const Bytes record = exit_of(257, 0, 0, 101);
  EXPECT_TRUE(matches("pid == 100 && tid == 101 && cpu == 3", record));
  EXPECT_TRUE(matches("comm == 'nginx-io'", record));
  EXPECT_TRUE(matches("comm ~ 'nginx*'", record));
  EXPECT_TRUE(matches("comm in (bash, 'nginx-io')", record));
  EXPECT_TRUE(matches("event == sys_exit", record));
  EXPECT_FALSE(matches("cpu == 3", record, 4));
}

TEST_F(PredicateTest, DistinguishesAFieldFromTheRecordsOwnValue) {
  const Bytes waking = make_record(EVENT_sched_waking, 10, 100, rec_sched_waking{.pid = 7});
  EXPECT_TRUE(matches("args.pid == 7", waking));
  EXPECT_FALSE(matches("pid == 7", waking));
  EXPECT_TRUE(matches("pid == 100", waking));
}

TEST_F(PredicateTest, ALackingFieldIsNeitherTrueNorFalse) {
  const Bytes alloc = make_record(EVENT_kmalloc, 10, 100, rec_kmalloc{});
  EXPECT_FALSE(matches("ret < 0", alloc));
  EXPECT_FALSE(matches("!(ret < 0)", alloc));
  EXPECT_TRUE(matches("ret < 0 || cpu == 3", alloc));
  EXPECT_FALSE(matches("ret < 0 && cpu == 3", alloc));
}

TEST_F(PredicateTest, ABareFieldIsTrueUnlessZero) {
  EXPECT_TRUE(matches("ret", exit_of(257, -2)));
  EXPECT_FALSE(matches("ret", exit_of(257, 0)));
  EXPECT_TRUE(matches("!ret", exit_of(257, 0)));
}

TEST_F(PredicateTest, ReportsFieldsAndValuesThatCannotBe) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"rett < 0", "at character 1 of 'rett < 0': unknown field 'rett'; did you mean 'ret'?"},
      {"cpu == 3 && rett", "at character 13 "},
      {"nr == opnat", "at character 7 of 'nr == opnat': there is no system call 'opnat'"},
      {"nr == opnat", "there is no system call 'opnat'; did you mean 'openat'?"},
      {"ret == -ENOENTT", "of this field; did you mean 'ENOENT'?"},
      {"ret < 0 && bytes_req > 0", "no event has these fields together"},
      {"ret == ENOENT", "a call that fails returns -ENOENT"},
      {"ret == openat", "is not a name of a value of this field"},
      {"ret == 'x'", "expected a number or a name without quotes"},
      {"bytes_req == many", "the values of this field have no names"},
      {"comm == 3", "expected a text in quotes"},
      {"comm < 'x'", "is a text, which has no order"},
      {"comm", "is a text: compare it"},
      {"ret ~ 'x'", "is a number: ~ is for texts"},
      {"args == 3", "is a list, which cannot be compared"},
  };
  for (const auto& [text, message] : cases) EXPECT_THAT(error_of(text), HasSubstr(message)) << text;
}

TEST_F(PredicateTest, ChecksTheNamesOfEvents) {
  EXPECT_THAT(
      error_of("event == sched_swich"),
      HasSubstr("at character 10 of 'event == sched_swich': unknown event 'sched_swich'; did "
                "you mean 'sched_switch'?"));
  EXPECT_THAT(error_of("cpu == 1 && event in (kfree, sched_swich)"), HasSubstr("unknown event"));
  EXPECT_THAT(error_of("event == syscalls"),
              HasSubstr("'syscalls' is a group of events: use --event syscalls"));
  EXPECT_THAT(error_of("event ~ 'shed*'"), HasSubstr("no event has such a name"));
  EXPECT_TRUE(matches("event ~ 'sys_*'", exit_of(257, -2)));
  EXPECT_TRUE(matches("event != kfree", exit_of(257, -2)));
}

TEST_F(PredicateTest, SaysHowTimesAreSelected) {
  EXPECT_THAT(error_of("ts > 3"), HasSubstr("unknown field 'ts'; times are selected by --since, "));
}

TEST_F(PredicateTest, RefusesTheBitsOfANegativeNumber) {
  EXPECT_THAT(error_of("ret == 0xfffffffffffffffe"),
              HasSubstr("ret is a signed number; did you mean -2?"));
  EXPECT_THAT(error_of("prev_prio == 0xffffffff"), HasSubstr("did you mean -1?"));
  EXPECT_TRUE(matches("ret & 0x8000000000000000", exit_of(257, -2)));
  EXPECT_TRUE(matches("ret > -9223372036854775808", exit_of(257, -2)));
  EXPECT_THAT(error_of("ret == -9223372036854775809"),
              HasSubstr("not a number of at most 64 bits"));
}

TEST_F(PredicateTest, KnowsWhichEventsHaveItsFields) {
  const auto predicate = Predicate::make("error == ENOENT || tid == 3", schema_);
  ASSERT_TRUE(predicate);
  ASSERT_EQ(predicate->fields().size(), 1U) << "tid is the record's own";
  EXPECT_THAT(
      predicate->fields().at("error"),
      ::testing::ElementsAre("signal_deliver", "signal_generate", "sys_completed", "sys_exit"))
      << "of system calls as an annotation";
}

TEST_F(PredicateTest, MarksThePlaceOfAnError) {
  const auto predicate = Predicate::make("comm == 'caf\xc3\xa9\n' && rett", schema_);
  ASSERT_FALSE(predicate);
  EXPECT_EQ(predicate.error().excerpt,
            "comm == 'caf\xc3\xa9\\x0a' && rett\n" + std::string(22, ' ') + "^");
}

TEST_F(PredicateTest, KnowsWhichEventsCanMatch) {
  const auto can = [&](std::string_view text, const char* event) {
    const auto predicate = Predicate::make(text, schema_);
    EXPECT_TRUE(predicate) << predicate.error().message;
    return predicate && predicate->can_match(schema_.find(event)->id);
  };
  EXPECT_TRUE(can("ret < 0", "sys_exit"));
  EXPECT_FALSE(can("ret < 0", "sys_enter"));
  EXPECT_TRUE(can("ret < 0 || nr == openat", "sys_enter"));
  EXPECT_FALSE(can("ret < 0 && nr == openat", "sys_enter"));
  EXPECT_FALSE(can("!(ret < 0)", "sys_enter"));
  EXPECT_TRUE(can("!(ret < 0 && cpu == 1)", "sys_enter")) << "if the CPU is another one";
  EXPECT_TRUE(can("cpu == 1", "kfree"));
}

TEST_F(PredicateTest, LearnsEventsThatAreDefinedLater) {
  auto predicate = Predicate::make("ret < 0", schema_);
  ASSERT_TRUE(predicate);
  Event later = *schema_.find("sys_exit");
  later.id = 1999;
  const Bytes record = make_record(static_cast<event_id>(1999), 10, 100, rec_sys_exit{.ret = -1});
  const PredicateSubject subject{.record = RecordView(record.data()), .cpu = 0, .names = names_};
  EXPECT_FALSE(predicate->matches(subject));
  predicate->learn(later);
  EXPECT_TRUE(predicate->matches(subject));
}

}  // namespace
}  // namespace ktraced::test
