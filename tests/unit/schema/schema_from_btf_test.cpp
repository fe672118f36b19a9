// SPDX-License-Identifier: BSD-2-Clause
#include "schema/schema_from_btf.h"

#include <bpf/btf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "bpf/records.h"
#include "schema/schema_json.h"

namespace ktraced {
namespace {

using ::testing::HasSubstr;

std::vector<std::byte> bpf_object_bytes() {
  std::ifstream file(KTRACED_BINARY_DIR "/ktraced.bpf.o", std::ios::binary);
  std::vector<char> chars(std::istreambuf_iterator<char>(file), {});
  auto bytes = std::as_bytes(std::span(chars));
  return {bytes.begin(), bytes.end()};
}

const Field* field_of(const Event* event, std::string_view name) {
  if (event == nullptr) return nullptr;
  for (const Field& field : event->fields)
    if (field.name == name) return &field;
  return nullptr;
}

// ---- the schema of the BPF object that was built ----

class BuiltSchema : public ::testing::Test {
 protected:
  void SetUp() override {
    auto result = schema_from_object(bpf_object_bytes());
    ASSERT_TRUE(result) << result.error().message;
    schema_ = std::move(*result);
  }
  Schema schema_;
};

TEST_F(BuiltSchema, HasAllEventsInOrderWithGroupAndDoc) {
  ASSERT_FALSE(schema_.events().empty());
  uint16_t previous = 0;
  for (const Event& event : schema_.events()) {
    EXPECT_GT(event.id, previous);
    previous = event.id;
    EXPECT_FALSE(event.group.empty()) << event.name;
    EXPECT_FALSE(event.doc.empty()) << event.name;
    EXPECT_FALSE(event.fields.empty()) << event.name;
    EXPECT_EQ(event.size % 8, 0U) << event.name;
    EXPECT_EQ(schema_.find(event.id), &event);
    EXPECT_EQ(schema_.find(event.name), &event);
  }
  EXPECT_EQ(schema_.find("kmalloc")->id, EVENT_kmalloc);
  EXPECT_EQ(schema_.find("mark_victim")->id, EVENT_mark_victim);
}

TEST_F(BuiltSchema, HasFieldsWhereTheCompilerPutsThem) {
  const Event* kmalloc = schema_.find(EVENT_kmalloc);
  ASSERT_NE(kmalloc, nullptr);
  EXPECT_EQ(kmalloc->size, sizeof(rec_kmalloc));
  EXPECT_EQ(kmalloc->group, "kmem");
  EXPECT_EQ(kmalloc->fields.size(), 7U);
  EXPECT_EQ(kmalloc->fields[0], (Field{.name = "call_site",
                                       .type = "kaddr_t",
                                       .meaning = Meaning::kaddr,
                                       .offset = offsetof(rec_kmalloc, call_site),
                                       .size = 8,
                                       .perfetto = 3}));
  EXPECT_EQ(*field_of(kmalloc, "bytes_req"),
            (Field{"bytes_req", "u32", Meaning::number, offsetof(rec_kmalloc, bytes_req), 4, 1,
                   false, false, false, "bytes requested", 2}));
  EXPECT_EQ(field_of(kmalloc, "gfp_flags")->meaning, Meaning::gfp_flags);
  EXPECT_EQ(*field_of(kmalloc, "node"),
            (Field{"node", "node_t", Meaning::numa_node, offsetof(rec_kmalloc, node), 2, 1, true,
                   false, false, "NUMA node requested, -1: any"}));
}

TEST_F(BuiltSchema, HasArraysAndTexts) {
  const Field* args = field_of(schema_.find("sys_enter"), "args");
  ASSERT_NE(args, nullptr);
  EXPECT_EQ(args->meaning, Meaning::hex);
  EXPECT_EQ(args->type, "hex_t[6]");
  EXPECT_EQ(args->size, 8U);
  EXPECT_EQ(args->count, 6U);
  EXPECT_EQ(args->offset, offsetof(rec_sys_enter, args));

  const Field* newcomm = field_of(schema_.find("task_rename"), "newcomm");
  ASSERT_NE(newcomm, nullptr);
  EXPECT_EQ(newcomm->meaning, Meaning::text);
  EXPECT_EQ(newcomm->type, "char[16]");
  EXPECT_EQ(newcomm->size, 1U);
  EXPECT_EQ(newcomm->count, 16U);
  EXPECT_EQ(newcomm->offset, offsetof(rec_task_rename, newcomm));

  const Event* exec = schema_.find("sched_process_exec");
  const Field* filename = field_of(exec, "filename");
  ASSERT_NE(filename, nullptr);
  EXPECT_EQ(filename->meaning, Meaning::text);
  EXPECT_EQ(filename->type, "char[]");
  EXPECT_EQ(filename->count, 0U);
  EXPECT_EQ(filename->offset, exec->size);
  const Field* argv = field_of(exec, "argv");
  ASSERT_NE(argv, nullptr);
  EXPECT_EQ(argv->meaning, Meaning::text);
  EXPECT_EQ(argv->type, "char[]");
  EXPECT_EQ(argv->size, 1U);
  EXPECT_EQ(argv->count, 0U);
  EXPECT_TRUE(argv->located);
  EXPECT_TRUE(argv->words);
  EXPECT_FALSE(field_of(exec, "filename")->words);
  EXPECT_EQ(argv->offset, offsetof(rec_sched_process_exec, argv));
}

TEST_F(BuiltSchema, HasAMeaningForEveryTypedef) {
  EXPECT_EQ(field_of(schema_.find("sched_switch"), "prev_state")->meaning, Meaning::task_state);
  EXPECT_EQ(field_of(schema_.find("signal_generate"), "result")->meaning, Meaning::sig_result);
  EXPECT_EQ(field_of(schema_.find("sys_exit"), "ret")->meaning, Meaning::syscall_ret);
  EXPECT_EQ(field_of(schema_.find("cpu_sample"), "mode")->meaning, Meaning::sample_mode);
  EXPECT_TRUE(field_of(schema_.find("sys_exit"), "ret")->is_signed);
  for (const Event& event : schema_.events()) {
    for (const Field& field : event.fields) {
      bool is_semantic = field.type.find("_t") != std::string::npos;
      EXPECT_TRUE(!is_semantic || field.meaning != Meaning::number)
          << event.name << "." << field.name;
    }
  }
}

TEST_F(BuiltSchema, SaysHowEventsAreShownAndMatched) {
  const Event* fork = schema_.find(EVENT_sched_process_fork);
  ASSERT_NE(fork, nullptr);
  EXPECT_EQ(fork->ftrace,
            "comm={parent_pid:comm} pid={parent_pid} child_comm={child_pid:comm} "
            "child_pid={child_pid}");
  EXPECT_EQ(fork->perfetto, 239U);
  EXPECT_TRUE(fork->perfetto_mark);
  EXPECT_EQ(fork->matched_by, MatchedBy::pair);
  EXPECT_EQ(field_of(fork, "child_pid")->perfetto, 4U);
  EXPECT_EQ(field_of(fork, "child_pid")->perfetto_comm, 3U);
  EXPECT_EQ(field_of(fork, "child_tgid")->perfetto, 0U);
  EXPECT_EQ(schema_.find(EVENT_sys_enter)->perfetto, 0U);
  EXPECT_FALSE(schema_.find(EVENT_kfree)->perfetto_mark);
}

// The programs of bpf/emit.h filter by the same word.
TEST_F(BuiltSchema, SaysForEveryEventWhoseFilterItHas) {
  for (const Event& event : schema_.events())
    EXPECT_NE(event.matched_by, MatchedBy::unknown) << event.name;
  for (const char* name : {"sched_switch", "sched_waking", "signal_generate", "task_rename"})
    EXPECT_EQ(schema_.find(name)->matched_by, MatchedBy::pair) << name;
  for (const char* name : {"sys_enter", "sys_exit", "kmalloc", "kfree", "kmem_cache_alloc",
                           "kmem_cache_free", "sched_process_exec"})
    EXPECT_EQ(schema_.find(name)->matched_by, MatchedBy::current) << name;
}

// The reader of a trace is as strict.
TEST_F(BuiltSchema, IsReadBackFromJson) {
  auto back = schema_from_json(schema_to_json(schema_));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->events(), schema_.events());
}

TEST(SchemaFromObject, RefusesOtherFiles) {
  auto result = schema_from_object(std::as_bytes(std::span("no ELF file")));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ExitCode::software);
}

// ---- hand-made BTF, for forms that a compiler may or must not produce ----

struct FreeBtf {
  void operator()(btf* btf) const { btf__free(btf); }
};

class SmallBtf : public ::testing::Test {
 protected:
  SmallBtf() : btf_(btf__new_empty()) {
    u32_ = btf__add_int(btf_.get(), "unsigned int", 4, 0);
    char_ = btf__add_int(btf_.get(), "char", 1, BTF_INT_SIGNED);
    header_ = btf__add_struct(btf_.get(), "record", 16);
    btf__add_field(btf_.get(), "tid", u32_, 12 * 8, 0);
  }

  void add_event(const char* name, int value) {
    btf__add_enum(btf_.get(), "event_id", 4);
    btf__add_enum_value(btf_.get(), name, value);
  }
  // A record with the header and one member at offset 16.
  int add_record(const char* name, int type, int bits = 0) {
    int id = btf__add_struct(btf_.get(), name, 24);
    btf__add_field(btf_.get(), "h", header_, 0, 0);
    btf__add_field(btf_.get(), "x", type, 16 * 8, bits);
    return id;
  }
  // The id of the type that is added next.
  [[nodiscard]] int next_id() const { return static_cast<int>(btf__type_cnt(btf_.get())); }
  std::string error() {
    auto result = schema_from_btf(btf_.get());
    return result ? "" : result.error().message;
  }

  std::unique_ptr<btf, FreeBtf> btf_;
  int u32_, char_, header_;
};

TEST_F(SmallBtf, LooksThroughModifiersAndTypedefsOfTypedefs) {
  add_event("EVENT_a", 7);
  int base = btf__add_typedef(btf_.get(), "u32", u32_);
  int cpu = btf__add_typedef(btf_.get(), "cpu_nr_t", btf__add_volatile(btf_.get(), base));
  int record = add_record("rec_a", btf__add_const(btf_.get(), cpu));
  btf__add_decl_tag(btf_.get(), "group:g", record, -1);
  btf__add_decl_tag(btf_.get(), "other:tag", record, 1);
  btf__add_decl_tag(btf_.get(), "doc:what x is", record, 1);

  auto schema = schema_from_btf(btf_.get());
  ASSERT_TRUE(schema) << schema.error().message;
  const Event* event = schema->find(7);
  ASSERT_NE(event, nullptr);
  EXPECT_EQ(event->name, "a");
  EXPECT_EQ(event->group, "g");
  EXPECT_EQ(event->doc, "");
  ASSERT_EQ(event->fields.size(), 1U);
  EXPECT_EQ(event->fields[0],
            (Field{"x", "cpu_nr_t", Meaning::cpu, 16, 4, 1, false, false, false, "what x is"}));
}

TEST_F(SmallBtf, ReadsTagsOfTheStructItsFieldsAndItsVariable) {
  add_event("EVENT_a", 7);
  const int record = add_record("rec_a", u32_);
  btf__add_decl_tag(btf_.get(), "ftrace:x={x}", record, -1);
  btf__add_decl_tag(btf_.get(), "perfetto:77", record, -1);
  btf__add_decl_tag(btf_.get(), "perfetto_mark:1", record, -1);
  btf__add_decl_tag(btf_.get(), "perfetto:no number", record, 1);
  btf__add_decl_tag(btf_.get(), "perfetto_comm:5", record, 1);
  const int variable = btf__add_var(btf_.get(), "record_of_a", BTF_VAR_GLOBAL_ALLOCATED, record);
  btf__add_decl_tag(btf_.get(), "matched_by:pair", variable, -1);

  auto schema = schema_from_btf(btf_.get());
  ASSERT_TRUE(schema) << schema.error().message;
  const Event& event = *schema->find(7);
  EXPECT_EQ(event.ftrace, "x={x}");
  EXPECT_EQ(event.perfetto, 77U);
  EXPECT_TRUE(event.perfetto_mark);
  EXPECT_EQ(event.matched_by, MatchedBy::pair);
  EXPECT_EQ(event.fields[0].perfetto, 0U);
  EXPECT_EQ(event.fields[0].perfetto_comm, 5U);
}

TEST_F(SmallBtf, TreatsAnUnknownTypedefAsANumber) {
  add_event("EVENT_a", 7);
  add_record("rec_a", btf__add_typedef(btf_.get(), "novel_t", u32_));
  auto schema = schema_from_btf(btf_.get());
  ASSERT_TRUE(schema) << schema.error().message;
  EXPECT_EQ(schema->find(7)->fields[0].meaning, Meaning::number);
  EXPECT_EQ(schema->find(7)->fields[0].type, "novel_t");
}

TEST_F(SmallBtf, ReportsTheViolatedRule) {
  EXPECT_THAT(error(), HasSubstr("no enum event_id"));
  add_event("EVENT_a", 7);
  EXPECT_THAT(error(), HasSubstr("no struct rec_a"));
  add_record("rec_a", btf__add_ptr(btf_.get(), 0));
  EXPECT_THAT(error(), HasSubstr("'x' is no integer"));
}

TEST_F(SmallBtf, RefusesBitFields) {
  add_event("EVENT_a", 7);
  add_record("rec_a", u32_, 3);
  EXPECT_THAT(error(), HasSubstr("bit field"));
}

TEST_F(SmallBtf, RefusesAQualifierOfItself) {
  add_event("EVENT_a", 7);
  add_record("rec_a", btf__add_const(btf_.get(), next_id()));
  EXPECT_THAT(error(), HasSubstr("'x' is no integer"));
}

TEST_F(SmallBtf, RefusesATypedefOfItself) {
  add_event("EVENT_a", 7);
  add_record("rec_a", btf__add_typedef(btf_.get(), "again_t", next_id()));
  EXPECT_THAT(error(), HasSubstr("'x' is no integer"));
}

TEST_F(SmallBtf, RefusesAnArrayOfItself) {
  add_event("EVENT_a", 7);
  add_record("rec_a", btf__add_array(btf_.get(), u32_, next_id(), 2));
  EXPECT_THAT(error(), HasSubstr("'x' is no integer"));
}

TEST_F(SmallBtf, RefusesARecordWithoutHeader) {
  add_event("EVENT_a", 7);
  btf__add_struct(btf_.get(), "rec_a", 8);
  btf__add_field(btf_.get(), "x", u32_, 0, 0);
  EXPECT_THAT(error(), HasSubstr("does not come first"));
}

TEST_F(SmallBtf, AllowsNoLengthOnlyForATrailingText) {
  add_event("EVENT_a", 7);
  add_record("rec_a", btf__add_array(btf_.get(), u32_, char_, 0));
  EXPECT_EQ(error(), "");
  btf__add_field(btf_.get(), "y", u32_, 20 * 8, 0);
  EXPECT_THAT(error(), HasSubstr("'x' has no length"));
}

TEST_F(SmallBtf, RefusesOtherStructs) {
  add_event("kmalloc", 7);
  EXPECT_THAT(error(), HasSubstr("'kmalloc' = 7 is no event"));
}

}  // namespace
}  // namespace ktraced
