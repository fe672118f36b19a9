// SPDX-License-Identifier: BSD-2-Clause
// Times and names in the text of events.
#include "decoders/text/event_time.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <string>

#include "decoders/ftrace/ftrace_decoder.h"
#include "decoders/kmemtrace/kmemtrace_decoder.h"
#include "decoders/process/process_decoder.h"
#include "unit/support/decoder_fixture.h"

namespace ktraced::test {
namespace {

// kTs is 18440.883932 s after boot, which was at 2026-11-23T10:00:00 in the time zone of the test.
class EventText : public DecoderTest {
 protected:
  EventText() {
    ::setenv("TZ", "UTC-2", 1);
    ::tzset();
  }
  ~EventText() override {
    ::unsetenv("TZ");
    ::tzset();
  }
  static EventTime time_of(TimeForm form) { return EventTime(form, kBoot); }
  static std::string text(EventTime time, std::initializer_list<uint64_t> times) {
    TextBuffer out;
    for (const uint64_t ts : times) {
      time.append(ts, out);
      out.append(' ');
    }
    return std::string(out.view());
  }
  static constexpr int64_t kBoot = 1795420800'000'000'000;

  std::map<std::string, Bytes> records_ = special_records();
};

TEST_F(EventText, HasTimesOfEachForm) {
  EXPECT_EQ(text(time_of(TimeForm::boot), {kTs}), "18440.883932 ");
  EXPECT_EQ(text(time_of(TimeForm::wall), {kTs, kTs + 200'000'000}),
            "15:07:20.883932 15:07:21.083932 ");
  EXPECT_EQ(text(time_of(TimeForm::iso), {kTs}), "2026-11-23T15:07:20.883932+02:00 ");
  EXPECT_EQ(text(time_of(TimeForm::delta), {kTs, kTs + 1'500, kTs + 2'000'001'500}),
            "+0.000000 +0.000002 +2.000000 ");
}

TEST_F(EventText, HasTheTimeInItsPlace) {
  const Bytes& record = records_.at("kfree");
  FtraceDecoder ftrace(sources(), false, time_of(TimeForm::wall));
  EXPECT_TRUE(decode(ftrace, record)
                  .starts_with("            bash-3352    [002] ..... 15:07:20.883932: kfree: "))
      << decode(ftrace, record);
  ProcessDecoder process(sources(), false, time_of(TimeForm::wall));
  EXPECT_TRUE(decode(process, records_.at("sched_process_exec"))
                  .starts_with("bash 3352 2 15:07:20.883932  exec"));
  KmemtraceDecoder kmemtrace(sources(), false, time_of(TimeForm::wall));
  EXPECT_TRUE(decode(kmemtrace, record).starts_with("15:07:20.883932  type_id 0"));
  KmemtraceMinimalDecoder minimal(sources(), false, time_of(TimeForm::wall));
  EXPECT_TRUE(decode(minimal, record).starts_with("15:07:20.883932    -      K"));
}

TEST_F(EventText, HasNamesInsteadOfNumbers) {
  FtraceDecoder named(sources(), true);
  const auto ends = [&](const Bytes& record, const std::string& end) {
    const std::string line = decode(named, record);
    EXPECT_TRUE(line.ends_with(end + "\n")) << line;
  };
  ends(make_record(EVENT_sys_exit, kTs, 3352, rec_sys_exit{.nr = 257, .ret = -2}),
       "sys_exit: NR openat = -ENOENT");
  ends(make_record(EVENT_sys_exit, kTs, 3352, rec_sys_exit{.nr = 257, .ret = 3}),
       "sys_exit: NR openat = 3");
  ends(make_record(EVENT_sys_exit, kTs, 3352, rec_sys_exit{.nr = 5, .abi = 1, .ret = 0}),
       "sys_exit: NR open = 0");
  ends(make_record(EVENT_sys_exit, kTs, 3352, rec_sys_exit{.nr = 4000, .ret = 0}),
       "sys_exit: NR 4000 = 0");
  KmemtraceDecoder kmemtrace(sources(), true);
  EXPECT_NE(decode(kmemtrace, records_.at("kmalloc")).find("gfp_flags GFP_KERNEL|__GFP_ZERO node"),
            std::string::npos);
}

}  // namespace
}  // namespace ktraced::test
