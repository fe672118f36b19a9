// SPDX-License-Identifier: BSD-2-Clause
// Dynamic events: announced in the stream, written to traces, read by babeltrace2.
#include "trace/metadata/event_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "schema/schema_json.h"
#include "trace/directory/trace_reader.h"
#include "trace/packet/field_value.h"
#include "unit/support/babeltrace.h"
#include "unit/support/packets.h"
#include "unit/support/schema.h"
#include "unit/support/trace_directory.h"

namespace ktraced::test {
namespace {

using ::testing::HasSubstr;

struct Rec {
  struct record h;
  u8 kind;
  u8 hole[3];
  u32 name_loc;
  u64 wide;
  u32 odd_loc;
  char text[12];  // "virtio0", then two u16
};

Event event() {
  Event e{.id = 300, .name = "my-module:it", .group = "my-module"};
  e.fields = {
      {.name = "kind", .type = "u8", .offset = 16, .size = 1},
      {.name = "name",
       .type = "char[]",
       .meaning = Meaning::text,
       .offset = 20,
       .size = 1,
       .count = 0,
       .located = true},
      {.name = "wide", .type = "u64", .offset = 24, .size = 8},
      {.name = "odd", .type = "u16[]", .offset = 32, .size = 2, .count = 0, .located = true}};
  e.size = offsetof(Rec, text);
  e.print = "\"it\"";
  return e;
}

Bytes some_record(uint64_t ts, bool truncated) {
  Rec r{};
  r.kind = 5;
  r.wide = 0x1122334455667788;
  r.name_loc =
      offsetof(Rec, text) | 8U << LOCATED_COUNT_SHIFT | (truncated ? uint32_t{LOCATED_CUT} : 0U);
  r.odd_loc = (offsetof(Rec, text) + 8) | 2U << LOCATED_COUNT_SHIFT;
  std::memcpy(r.text, "virtio0\0\x01\0\x02\0", 12);
  return make_record(300, ts, 7, r);
}

TEST(EventRecords, AddMissingEventsToASchema) {
  const auto record = event_record(event(), 12);
  EXPECT_EQ(record.size() % 8, 0U);
  Schema schema;
  const Event* learnt = learn_event(schema, RecordView(record.data()));
  ASSERT_NE(learnt, nullptr);
  EXPECT_EQ(*learnt, event());
  EXPECT_EQ(learn_event(schema, RecordView(record.data())), nullptr)
      << "the schema already has the event";
  const auto other = task_name(1, 1, 1, "x");
  EXPECT_EQ(learn_event(schema, RecordView(other.data())), nullptr);
}

TEST(EventRecords, OmitEventsThatDoNotFit) {
  Event large = event();
  large.print = std::string(70000, 'x');
  const auto record = event_record(large, 0);
  Schema schema;
  const Event* learnt = learn_event(schema, RecordView(record.data()));
  ASSERT_NE(learnt, nullptr);
  EXPECT_EQ(learnt->fields, large.fields);
  EXPECT_EQ(learnt->print, "");
}

TEST(EventRecords, AddNothingWhenInvalid) {
  auto record = event_record(event(), 0);
  for (size_t at = sizeof(struct record); at < record.size(); at += 7) {
    auto damaged = record;
    damaged[at] = std::byte{0x81};
    Schema schema;
    learn_event(schema, RecordView(damaged.data()));
  }
}

TEST(EventRecords, FindTheLatestOfTwoEventsWithOneName) {
  Schema schema;
  schema.add(event());
  Event again = event();
  again.id = 301;
  again.fields.pop_back();
  schema.add(again);
  EXPECT_EQ(schema.find("my-module:it")->id, 301);
  auto back = schema_from_json(schema_to_json(schema));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->events(), schema.events());
}

TEST(EventRecords, AreKeptOfEventsThatWereTracedWithoutARecord) {
  TempDirectory directory;
  const auto path = directory.path() / "t";
  auto writer =
      TraceWriter::create(path, built_schema(), test_origin(), [](uint64_t) { return false; });
  ASSERT_TRUE(writer) << writer.error().message;
  const std::vector<std::pair<uint16_t, std::string>> defined = {
      {300, "skb:at_begin"}, {301, "skb:later"}, {302, "skb:off"}, {303, "skb:at_begin"}};
  for (const auto& [id, name] : defined) {
    Event each = event();
    each.id = id;
    each.name = name;
    (*writer)->add_names(event_record(each, 0));
  }
  Manifest manifest;
  manifest.origin = test_origin();
  manifest.config = nlohmann::json::parse(
      R"({"events": ["skb:at_begin", "kfree"], "filter": {},
          "changes": [{"ns": 5, "config": {"events": ["skb:later"], "filter": {}}}]})");
  ASSERT_TRUE((*writer)->finish(manifest, {}));
  const auto reader = TraceReader::open(path);
  ASSERT_TRUE(reader) << reader.error().message;
  const Schema& schema = reader->schema();
  EXPECT_EQ(schema.find(uint16_t{300}), nullptr) << "it was defined again";
  ASSERT_NE(schema.find("skb:at_begin"), nullptr);
  EXPECT_EQ(schema.find("skb:at_begin")->id, 303);
  EXPECT_NE(schema.find("skb:later"), nullptr);
  EXPECT_EQ(schema.find("skb:off"), nullptr);
}

TEST(EventRecords, AreReadFromATraceByBabeltrace) {
  TempDirectory directory;
  const auto path = directory.path() / "t";
  const TraceOrigin origin = test_origin();
  auto writer = TraceWriter::create(path, built_schema(), origin, [](uint64_t) { return false; });
  ASSERT_TRUE(writer) << writer.error().message;
  (*writer)->add_names(event_record(event(), 0));
  Event unused = event();
  unused.id = 301;
  (*writer)->add_names(event_record(unused, 0));
  const Bytes packet =
      packet_of({.records = {some_record(10, false), some_record(20, true)}, .lost = {}}, origin);
  ASSERT_TRUE((*writer)->write(*PacketView::parse(packet)));
  Manifest manifest;
  manifest.origin = origin;
  manifest.cpus = (*writer)->accounts();
  ASSERT_TRUE((*writer)->finish(manifest, {}));

  auto reader = TraceReader::open(path);
  ASSERT_TRUE(reader) << reader.error().message;
  ASSERT_NE(reader->schema().find(uint16_t{300}), nullptr);
  EXPECT_EQ(*reader->schema().find(uint16_t{300}), event());
  EXPECT_EQ(reader->schema().find(uint16_t{301}), nullptr) << "the trace has no record of it";
  const Printed printed = babeltrace(path, "--names=none");
  EXPECT_EQ(printed.err, "");
  EXPECT_THAT(printed.out, HasSubstr("my-module:it"));
  EXPECT_THAT(printed.out,
              HasSubstr("{ 5, 36, 1, 8, 1234605616436508552, 44, 0, 2, \"virtio0\", [ 1, 2 ] }"));
}

TEST(FieldValue, OfVariableLengthIsFoundByItsLocation) {
  const Bytes bytes = some_record(1, true);
  const RecordView record(bytes.data());
  const Event e = event();
  EXPECT_EQ(text_of(e.fields[1], record), "virtio0");
  EXPECT_TRUE(elements_of(e.fields[1], record).cut);
  EXPECT_EQ(elements_of(e.fields[3], record).count, 2U);
  EXPECT_EQ(integer_of(e.fields[3], record, 1), 2U);
  EXPECT_EQ(end_of(e.fields[3], record), sizeof(Rec));
  EXPECT_EQ(integer_of(e.fields[3], record, 2), std::nullopt);
}

TEST(ConfigRecord, RoundTrips) {
  const nlohmann::json config = {{"state", "paused"}, {"events", {"kmalloc"}}};
  const auto bytes = config_records(config, 77);
  const RecordView record(bytes.data());
  EXPECT_EQ(record.ts(), 77U);
  EXPECT_EQ(bytes.size() % 8, 0U);
  EXPECT_EQ(ConfigRecordReader().take(record), config);
  Schema schema;
  EXPECT_EQ(learn_event(schema, record), nullptr);
}

TEST(ConfigRecord, OmitsEventsThatDoNotFit) {
  nlohmann::json config = {{"state", "paused"}};
  for (int i = 0; i < 20'000; ++i) config["events"].push_back("event");
  const auto bytes = config_records(config, 1);
  const auto read = ConfigRecordReader().take(RecordView(bytes.data()));
  ASSERT_TRUE(read);
  EXPECT_EQ((*read)["state"], "paused");
  EXPECT_FALSE(read->contains("events"));
}

// As many process ids as a filter can have.
nlohmann::json large_config() {
  nlohmann::json config = {{"state", "running"}, {"events", {"kmalloc"}}};
  for (uint32_t i = 0; i < 16'384; ++i) config["filter"]["pid"].push_back(4'000'000 + i);
  return config;
}

TEST(ConfigRecord, OfTheLargestFilterHasParts) {
  const nlohmann::json config = large_config();
  const auto bytes = config_records(config, 77);
  ConfigRecordReader reader;
  std::vector<std::optional<nlohmann::json>> read;
  for (size_t at = 0; at < bytes.size();) {
    const RecordView record(bytes.data() + at);
    read.push_back(reader.take(record));
    EXPECT_EQ(record.ts(), 77U);
    const auto* text = reinterpret_cast<const char*>(record.bytes().data()) + sizeof(struct record);
    EXPECT_EQ(std::string_view(text).back() == ',', !read.back()) << "no word is divided";
    at += record.bytes().size();
  }
  EXPECT_GT(read.size(), 1U);
  EXPECT_EQ(std::ranges::count_if(read, [](const auto& each) { return each.has_value(); }), 1);
  EXPECT_EQ(read.back(), config);
}

TEST(ConfigRecord, WithoutItsFirstPartIsNone) {
  const auto bytes = config_records(large_config(), 77);
  const RecordView first(bytes.data());
  ConfigRecordReader reader;
  for (size_t at = first.bytes().size(); at < bytes.size();) {
    const RecordView record(bytes.data() + at);
    EXPECT_EQ(reader.take(record), std::nullopt);
    at += record.bytes().size();
  }
  const nlohmann::json next = {{"state", "paused"}};
  EXPECT_EQ(reader.take(first), std::nullopt) << "its rest is missing";
  EXPECT_EQ(reader.take(RecordView(config_records(next, 78).data())), next);
}

}  // namespace
}  // namespace ktraced::test
