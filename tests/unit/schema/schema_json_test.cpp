// SPDX-License-Identifier: BSD-2-Clause
#include "schema/schema_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bpf/records.h"

namespace ktraced {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

Schema example() {
  Schema schema;
  schema.add(
      {.id = 10,
       .name = "kmalloc",
       .group = "kmem",
       .doc = "memory",
       .fields = {{"ptr", "kaddr_t", Meaning::kaddr, 16, 8, 1, false, false, false, "", 5, 6},
                  {"node", "node_t", Meaning::numa_node, 24, 4, 1, true, false, false, "-1: any"}},
       .size = 32,
       .ftrace = "ptr={ptr:pointer}",
       .perfetto = 299,
       .perfetto_mark = true,
       .matched_by = MatchedBy::current});
  schema.add({.id = 7,
              .name = "sched_process_exec",
              .group = "process",
              .fields = {{"args", "hex_t[2]", Meaning::hex, 16, 8, 2},
                         {"argv", "char[]", Meaning::text, 36, 1, 0, false, true, true},
                         {"filename", "char[]", Meaning::text, 40, 1, 0, true}},
              .size = 40});
  schema.gfp_flags = {{0xcc0, "GFP_KERNEL"}, {0x100, "__GFP_ZERO"}};
  schema.contexts = true;
  schema.stacks = true;
  return schema;
}

TEST(SchemaJson, RoundTrips) {
  Schema schema = example();
  // Converts through text, as in the protocol.
  auto back = schema_from_json(json::parse(schema_to_json(schema).dump()));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->events(), schema.events());
  EXPECT_EQ(back->gfp_flags, schema.gfp_flags);
  EXPECT_TRUE(back->contexts);
  EXPECT_TRUE(back->stacks);
}

TEST(SchemaJson, HasTheFormatOfTheProtocol) {
  json text = schema_to_json(example());
  EXPECT_EQ(text["gfp_flags"][0], json({{"mask", "0xcc0"}, {"name", "GFP_KERNEL"}}));
  EXPECT_EQ(text["events"][0]["fields"][1], json({{"name", "node"},
                                                  {"type", "node_t"},
                                                  {"meaning", "numa_node"},
                                                  {"offset", 24},
                                                  {"size", 4},
                                                  {"count", 1},
                                                  {"signed", true},
                                                  {"doc", "-1: any"}}));
}

TEST(SchemaJson, HasNoStacksInSchemasOfBefore) {
  json text = schema_to_json(example());
  text.erase("stacks");
  EXPECT_FALSE(schema_from_json(text).value().stacks);
}

TEST(Schema, KnowsRecordsOfStacksAndListsNone) {
  const Schema schema = example();
  EXPECT_EQ(event_name(schema, RECORD_STACK), "stack");
  EXPECT_EQ(event_name(schema, RECORD_MAPPING), "mapping");
  EXPECT_EQ(event_name(schema, RECORD_FILE), "file");
  EXPECT_EQ(schema.find(uint32_t{RECORD_FILE - 1}), nullptr);
  EXPECT_EQ(schema.find("stack"), nullptr);
  for (const Event& event : schema.events()) EXPECT_LT(event.id, RECORD_FILE);
}

// The schema of a trace comes from an untrusted source.
TEST(SchemaJson, EscapesTerminalControlCharacters) {
  json text = schema_to_json(example());
  json& event = text["events"][0];
  event["group"] = "k\x1b[2J";
  event["doc"] = "\u009b\u202e";
  event["print"] = "\"a\x1b]0;x\"\n";
  event["ftrace"] = "ptr={ptr}\n\x1b";
  event["fields"][0]["type"] = "\x1b";
  event["fields"][0]["doc"] = "a\nb";
  text["gfp_flags"][0]["name"] = "G\x1b";
  const auto schema = schema_from_json(text);
  ASSERT_TRUE(schema) << schema.error().message;
  const Event& read = *schema->find("kmalloc");
  EXPECT_EQ(read.group, "k\\x1b[2J");
  EXPECT_EQ(read.doc, "\\xc2\\x9b\\xe2\\x80\\xae");
  EXPECT_EQ(read.print, "\"a\\x1b]0;x\"\n");
  EXPECT_EQ(read.ftrace, "ptr={ptr}\\x0a\\x1b");
  EXPECT_EQ(read.fields[0].type, "\\x1b");
  EXPECT_EQ(read.fields[0].doc, "a\\x0ab");
  EXPECT_EQ(schema->gfp_flags[0].name, "G\\x1b");
  event["name"] = "k\x1b[2J";
  EXPECT_FALSE(schema_from_json(text));
}

TEST(SchemaJson, CanBeReadByAnOlderReaderWhenNewer) {
  json text = schema_to_json(example());
  text["novelty"] = 1;
  text["events"][0]["novelty"] = {1, 2};
  text["events"][0]["fields"][0]["meaning"] = "invented_later";
  text["events"][1]["fields"][2]["meaning"] = "trailing_kind_invented_later";
  auto schema = schema_from_json(text);
  ASSERT_TRUE(schema) << schema.error().message;
  EXPECT_EQ(schema->find(10)->fields[0].meaning, Meaning::number);
  EXPECT_EQ(schema->find(7)->fields.size(), 2U) << "fields that cannot be read are left out";
}

// Versions before did not store how an event is shown.
TEST(SchemaJson, ReadsEventsWithoutTags) {
  json text = schema_to_json(example());
  for (const char* key : {"ftrace", "perfetto", "perfetto_mark", "matched_by"}) {
    EXPECT_TRUE(text["events"][0].contains(key)) << key;
    EXPECT_FALSE(text["events"][1].contains(key)) << key;
    text["events"][0].erase(key);
  }
  for (const char* key : {"perfetto", "perfetto_comm"}) text["events"][0]["fields"][0].erase(key);
  const auto schema = schema_from_json(text);
  ASSERT_TRUE(schema) << schema.error().message;
  const Event& event = *schema->find("kmalloc");
  EXPECT_EQ(event.ftrace, "");
  EXPECT_EQ(event.perfetto, 0U);
  EXPECT_FALSE(event.perfetto_mark);
  EXPECT_EQ(event.matched_by, MatchedBy::unknown);
  EXPECT_EQ(event.fields[0].perfetto, 0U);
}

TEST(SchemaJson, TreatsAnUnknownMatchedByAsUnknown) {
  json text = schema_to_json(example());
  text["events"][0]["matched_by"] = "invented_later";
  const auto schema = schema_from_json(text);
  ASSERT_TRUE(schema) << schema.error().message;
  EXPECT_EQ(schema->find("kmalloc")->matched_by, MatchedBy::unknown);
}

TEST(SchemaJson, HasAUniqueNameForEveryMeaning) {
  for (int i = 0; i <= static_cast<int>(Meaning::text); i++) {
    auto meaning = static_cast<Meaning>(i);
    EXPECT_EQ(meaning_named(name_of(meaning)), meaning) << i;
  }
  EXPECT_EQ(meaning_named("nothing"), std::nullopt);
}

// A change that makes the example invalid, and a part of the message.
struct Nonsense {
  const char* path;
  json value;
  const char* message;
};

class SchemaJsonRefuses : public ::testing::TestWithParam<Nonsense> {};

TEST_P(SchemaJsonRefuses, InvalidSchemasWithAReason) {
  json text = schema_to_json(example());
  text[json::json_pointer(GetParam().path)] = GetParam().value;
  auto schema = schema_from_json(text);
  ASSERT_FALSE(schema) << GetParam().path << " = " << GetParam().value;
  EXPECT_EQ(schema.error().code, ExitCode::data);
  EXPECT_THAT(schema.error().message, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Nonsense, SchemaJsonRefuses,
    ::testing::Values(
        Nonsense{"/events", 5, "no list 'events'"}, Nonsense{"/events/0", "kmalloc", "no object"},
        Nonsense{"/events/1/id", 10, "another event's"},
        Nonsense{"/events/1/name", "kmalloc", "another event's"},
        Nonsense{"/events/0/id", 0, "'id' must be"}, Nonsense{"/events/0/id", -1, "'id' must be"},
        Nonsense{"/events/0/id", 70000, "'id' must be"},
        Nonsense{"/events/0/id", 2048, "'id' must be"},
        Nonsense{"/events/0/id", "10", "'id' must be"},
        Nonsense{"/events/0/name", "", "no identifier"},
        Nonsense{"/events/0/name", "a\x1b[31m", "no identifier"},
        Nonsense{"/events/0/name", json::array(), "no identifier"},
        Nonsense{"/events/0/size", 8, "'size' must be"},
        Nonsense{"/events/0/size", 1e9, "'size' must be"},
        Nonsense{"/events/0/doc", 1, "must be texts"}, Nonsense{"/events/0/fields", "x", "no list"},
        Nonsense{"/events/0/ftrace", 1, "must be texts"},
        Nonsense{"/events/0/ftrace", std::string(1025, 'x'), "longer than 1024"},
        Nonsense{"/events/0/matched_by", 1, "must be texts"},
        Nonsense{"/events/0/perfetto", "299", "'perfetto' must be"},
        Nonsense{"/events/0/perfetto", 2, "'perfetto' must be"},
        Nonsense{"/events/0/perfetto", -1, "'perfetto' must be"},
        Nonsense{"/events/0/perfetto", 19000, "'perfetto' must be"},
        Nonsense{"/events/0/perfetto", 1 << 29, "'perfetto' must be"},
        Nonsense{"/events/0/perfetto_mark", 1, "true or false"},
        Nonsense{"/events/0/fields/0/perfetto", "5", "wrong type"},
        Nonsense{"/events/0/fields/0/perfetto", 19999, "that Perfetto cannot have"},
        Nonsense{"/events/0/fields/0/perfetto_comm", 1 << 29, "that Perfetto cannot have"},
        Nonsense{"/events/0/fields/0/perfetto_comm", 5, "that another has too"},
        Nonsense{"/events/0/fields/1/perfetto", 6, "that another has too"},
        Nonsense{"/events/0/fields/0", 1, "no object"},
        Nonsense{"/events/0/fields/0/name", "two words", "no identifier"},
        Nonsense{"/events/0/fields/0/name", "node", "twice"},
        Nonsense{"/events/0/fields/0/signed", 1, "wrong type"},
        Nonsense{"/events/0/fields/0/meaning", 1, "wrong type"},
        Nonsense{"/events/0/fields/0/offset", 8, "header"},
        Nonsense{"/events/0/fields/0/offset", 25, "beyond"},
        Nonsense{"/events/0/fields/0/offset", 4294967295, "beyond"},
        Nonsense{"/events/0/fields/0/count", 4294967295, "beyond"},
        Nonsense{"/events/0/fields/0/count", 0, "no elements"},
        Nonsense{"/events/0/fields/0/size", 3, "cannot have"},
        Nonsense{"/events/0/fields/0/size", 16, "cannot have"},
        Nonsense{"/events/1/fields/1/size", 2, "cannot have"}, Nonsense{"/gfp_flags", 1, "no list"},
        Nonsense{"/contexts", 1, "neither true nor false"},
        Nonsense{"/stacks", 1, "neither true nor false"},
        Nonsense{"/gfp_flags/0/mask", 0xcc0, "no {mask, name}"},
        Nonsense{"/gfp_flags/0/mask", "0x", "no named mask"},
        Nonsense{"/gfp_flags/0/mask", "kernel", "no named mask"},
        Nonsense{"/gfp_flags/0/name", "", "no named mask"}));

TEST(SchemaJson, RefusesValuesThatAreNoObject) {
  for (const char* text : {"null", "[]", "5", "{}"})
    EXPECT_FALSE(schema_from_json(json::parse(text))) << text;
}

}  // namespace
}  // namespace ktraced
