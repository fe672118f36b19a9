// SPDX-License-Identifier: BSD-2-Clause
// Traces outlive the version that wrote them: see tests/data/golden/README.md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "ctl/commands/commands.h"
#include "ctl/reports/report.h"
#include "trace/directory/trace_reader.h"
#include "unit/support/babeltrace.h"
#include "unit/support/golden.h"
#include "unit/support/lines.h"
#include "unit/support/schema.h"
#include "unit/support/trace_directory.h"

namespace ktraced::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;

const fs::path kTrace = kGolden / "trace";

// The output of `show` for a readable trace.
std::string shown(const fs::path& trace, OutputFormat format, bool names = false) {
  ShowCommand command;
  command.names = command.gfp_names = names;
  command.format = format;
  command.directories = {trace};
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  auto result = run_show(command, {});
  std::string text = ::testing::internal::GetCapturedStdout();
  ::testing::internal::GetCapturedStderr();
  EXPECT_TRUE(result) << result.error().message;
  return text;
}

TEST(GoldenTrace, IsShownUnchanged) {
  EXPECT_EQ(shown(kTrace, OutputFormat::json), read_file(kGolden / "show.json"));
  EXPECT_EQ(shown(kTrace, OutputFormat::ftrace), read_file(kGolden / "show.ftrace"));
}

TEST(GoldenTrace, IsShownInTheFormatsOfOlderTracers) {
  EXPECT_EQ(shown(kTrace, OutputFormat::kmemtrace), read_file(kGolden / "show.kmemtrace"));
  EXPECT_EQ(shown(kTrace, OutputFormat::kmemtrace_minimal, true),
            read_file(kGolden / "show.kmemtrace-minimal"));
  EXPECT_EQ(shown(kTrace, OutputFormat::process), read_file(kGolden / "show.process"));
}

// Made by the last version that wrote format 1, with changes of the trace config while it recorded.
TEST(TraceOfFormat1, IsShownAsByTheVersionThatWroteIt) {
  EXPECT_EQ(json::parse(read_file(kGolden / "changes/trace/manifest.json"))["format"], 1);
  EXPECT_EQ(shown(kGolden / "changes/trace", OutputFormat::json),
            read_file(kGolden / "changes/show.json"));
}

TEST(TraceOfFormat1, KeepsItsConfigChanges) {
  ReportCommand command;
  command.kind = ReportCommand::Kind::syscalls;
  command.directories = {kGolden / "changes/trace"};
  Options options;
  options.json = true;
  ::testing::internal::CaptureStdout();
  ASSERT_TRUE(run_report(command, options));
  const json report = json::parse(::testing::internal::GetCapturedStdout());
  EXPECT_THAT(report["caveats"].dump(),
              testing::AllOf(HasSubstr("tracing was paused from +2.122 s to +2.639 s"),
                             HasSubstr("the filter was changed at +3.160 s"),
                             HasSubstr("sys_enter was not traced from +1.613 s to +2.122 s")));
}

TEST(GoldenTrace, HasEveryBuiltInEventOfItsVersion) {
  auto trace = TraceReader::open(kTrace);
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->schema().events().size(), 20U);
  std::map<std::string, int> counts;
  for (const std::string& line : lines_of(read_file(kGolden / "show.json")))
    ++counts[json::parse(line)["event"]];
  for (const Event& event : trace->schema().events()) EXPECT_GT(counts[event.name], 0);
}

TEST(GoldenTrace, IsReadByBabeltraceWithoutAWarning) {
  Printed printed = babeltrace(kTrace, "");
  EXPECT_EQ(printed.status, 0);
  EXPECT_EQ(printed.err, "");
  EXPECT_EQ(lines_of(printed.out).size(), lines_of(read_file(kGolden / "show.json")).size());
}

// The golden trace as written by a version with other event fields: some are missing, some are new
// or of an unknown type, some have another offset.
class OtherSchema : public ::testing::Test {
 protected:
  static Field new_field(const char* name, const char* type, uint32_t size) {
    return {.name = name, .type = type, .size = size};
  }
  static void remove(Event& event, const char* name) {
    std::erase_if(event.fields, [&](const Field& field) { return field.name == name; });
  }
  // Places the fields at the offsets a compiler would choose.
  static void lay_out(Event& event) {
    uint32_t at = sizeof(record);
    for (Field& field : event.fields) {
      at = (at + field.size - 1) / field.size * field.size;
      field.offset = at;
      at += field.size * field.count;
    }
    event.size = (at + 7) / 8 * 8;
  }
  static Event other(Event event) {
    if (event.name == "kfree") {
      std::swap(event.fields[0], event.fields[1]);
      event.ftrace = "call_site={call_site} ptr={ptr}";
    } else if (event.name == "kmalloc") {
      remove(event, "node");
      event.fields.push_back(new_field("zone", "zone_kind_t", 4));
    } else if (event.name == "sched_switch" || event.name == "sys_exit") {
      event.fields.insert(event.fields.begin(), new_field("waited", "u64", 8));
    } else if (event.name == "mm_page_free") {
      remove(event, "order");
    } else if (event.name == "mark_victim") {
      event.id = 200;
      event.name = event.group = "later_event";
    } else {
      return event;
    }
    lay_out(event);
    return event;
  }

  OtherSchema() {
    for (const Event& event : golden_.schema().events()) schema_.add(other(event));
    schema_.gfp_flags = golden_.schema().gfp_flags;
    write();
  }

  // The record with the fields of `to`; fields missing in `from` are 7.
  static Bytes converted(const RecordView& old, const Event& from, const Event& to) {
    if (from == to) return Bytes(old.bytes().begin(), old.bytes().end());
    Bytes bytes(to.size);
    record header{
        .ts = old.ts(), .id = to.id, .size = static_cast<u16>(bytes.size()), .tid = old.tid()};
    std::memcpy(bytes.data(), &header, sizeof(header));
    for (const Field& field : to.fields) {
      auto same = std::ranges::find(from.fields, field.name, &Field::name);
      if (same == from.fields.end())
        bytes[field.offset] = std::byte{7};
      else
        std::ranges::copy(old.bytes().subspan(same->offset, size_t{same->size} * same->count),
                          bytes.begin() + field.offset);
    }
    return bytes;
  }
  const Event& changed(const Event& event) {
    return *schema_.find(event.name == "mark_victim" ? uint16_t{200} : event.id);
  }

  void write() {
    TraceSpec spec{.schema = schema_, .origin = golden_.manifest().origin};
    for (PacketFile& file : golden_.open_files())
      for (auto packet = file.next(); packet && *packet; packet = file.next()) {
        PacketSpec written{.cpu = file.cpu()};
        (*packet)->view.for_each_record([&](const RecordView& record) {
          const Event& event = *golden_.schema().find(record.id());
          written.records.push_back(converted(record, event, changed(event)));
        });
        spec.packets.push_back(written);
      }
    write_trace(path_, spec);
    for (const char* name : {"tasks.json", "caches.json", "symbols.json"})
      fs::copy_file(kTrace / name, path_ / name, fs::copy_options::overwrite_existing);
  }

  // The expected line of `show --format json` for the changed golden trace.
  static json expected(json line) {
    const std::string event = line["event"];
    json& args = line["args"];
    if (event == "kmalloc") {
      args.erase("node");
      args["zone"] = 7;
    }
    if (event == "sched_switch" || event == "sys_exit") args["waited"] = 7;
    if (event == "mm_page_free") args.erase("order");
    if (event == "mark_victim") line["event"] = "later_event";
    return line;
  }

  TraceReader golden_ = std::move(*TraceReader::open(kTrace));
  Schema schema_;
  TempDirectory directory_;
  fs::path path_ = directory_.path() / "other";
};

TEST_F(OtherSchema, IsReadByTheSchemaInTheTrace) {
  auto golden = lines_of(read_file(kGolden / "show.json"));
  auto other = lines_of(shown(path_, OutputFormat::json));
  ASSERT_EQ(other.size(), golden.size());
  for (size_t i = 0; i < golden.size(); ++i)
    ASSERT_EQ(json::parse(other[i]), expected(json::parse(golden[i]))) << i;
}

TEST_F(OtherSchema, IsReadByBabeltraceWithoutAWarning) {
  Printed printed = babeltrace(path_, "");
  EXPECT_EQ(printed.status, 0);
  EXPECT_EQ(printed.err, "");
  EXPECT_EQ(lines_of(printed.out).size(), lines_of(read_file(kGolden / "show.json")).size());
  EXPECT_THAT(printed.out, ::testing::HasSubstr("later_event: "));
  EXPECT_THAT(printed.out, ::testing::HasSubstr("waited = 7"));
}

// The schema defines the order of fields; the text does not.
TEST_F(OtherSchema, IsReadableText) {
  auto golden = lines_of(read_file(kGolden / "show.ftrace"));
  auto other = lines_of(shown(path_, OutputFormat::ftrace));
  ASSERT_EQ(other.size(), golden.size());
  for (size_t i = 0; i < golden.size(); ++i)
    if (golden[i].find(": kfree: ") != std::string::npos) {
      EXPECT_EQ(other[i], golden[i]);
    }
}

}  // namespace
}  // namespace ktraced::test
