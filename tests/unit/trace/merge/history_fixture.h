// SPDX-License-Identifier: BSD-2-Clause
// Trace directories that are written and read back.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "trace/merge/history.h"
#include "unit/support/schema.h"
#include "unit/support/trace_directory.h"

namespace ktraced::test {

// Notes the results: "cpu:ts" for records, "cpu:ts-count" for losses; of traces after the first
// with their number before it: "1/cpu:ts".
class Notes : public MergeSink {
 public:
  void on_record(const RecordOrigin& from, RecordView record) override {
    add(from.source, fmt::format("{}:{}", from.cpu, record.ts()));
    bytes_.insert(bytes_.end(), record.bytes().begin(), record.bytes().end());
    in_order_ &= record.ts() >= last_ts_;
    last_ts_ = record.ts();
    ++records_;
  }
  void on_loss(const LossItem& loss) override {
    add(loss.source, fmt::format("{}:{}-{}", loss.cpu, loss.ts, loss.count));
  }
  std::string text_;
  Bytes bytes_;
  uint64_t last_ts_ = 0;
  uint64_t records_ = 0;
  bool in_order_ = true;

 private:
  void add(uint32_t source, const std::string& item) {
    text_ += text_.empty() ? "" : " ";
    if (source != 0) text_ += fmt::format("{}/", source);
    text_ += item;
  }
};

// Everything readable, and how reading ended.
struct Outcome {
  Notes notes;
  Result<> verdict;
};

inline Outcome read_all(History& history) {
  Outcome outcome;
  while (history.read(outcome.notes)) {
  }
  outcome.verdict = history.verdict();
  return outcome;
}

class HistoryTest : public ::testing::Test {
 protected:
  // Two CPUs with losses, and packets that hold only losses.
  static std::vector<PacketSpec> two_cpus() {
    return {{.cpu = 0, .records = {record_at(10), record_at(40)}},
            {.cpu = 1, .records = {record_at(20)}},
            {.cpu = 0, .lost = {{.count = 3, .event_id = EVENT_kfree}}, .begin = 40, .end = 45},
            {.cpu = 1, .records = {record_at(50), record_at(60)}},
            {.cpu = 0,
             .records = {record_at(70)},
             .lost = {{.count = 5, .event_id = EVENT_kmalloc}, {.count = 1, .event_id = 1}}}};
  }
  static constexpr const char* kTwoCpus = "0:10 1:20 0:40 0:40-3 0:45-5 0:45-1 1:50 1:60 0:70";

  static Bytes record_at(uint64_t ts, uint64_t pointer = 0) {
    return make_record(EVENT_kfree, ts, 7, rec_kfree{.call_site = 1, .ptr = pointer});
  }
  static PacketSpec packet(uint32_t cpu, std::initializer_list<uint64_t> times) {
    PacketSpec spec{.cpu = cpu};
    for (uint64_t ts : times) spec.records.push_back(record_at(ts));
    return spec;
  }
  std::filesystem::path write(const std::string& name, TraceSpec spec) {
    spec.schema = schema_;
    write_trace(directory_.path() / name, spec);
    return directory_.path() / name;
  }
  static Outcome read(const std::vector<std::filesystem::path>& paths,
                      bool allow_unfinished = false) {
    auto history = History::open(paths, allow_unfinished);
    if (!history) return {.notes = {}, .verdict = propagate(history)};
    return read_all(*history);
  }
  static std::string text(const std::vector<std::filesystem::path>& paths) {
    Outcome outcome = read(paths);
    EXPECT_TRUE(outcome.verdict) << outcome.verdict.error().message;
    EXPECT_TRUE(outcome.notes.in_order_);
    return outcome.notes.text_;
  }
  static Error error(const std::vector<std::filesystem::path>& paths) {
    Outcome outcome = read(paths);
    EXPECT_FALSE(outcome.verdict);
    return outcome.verdict ? Error{ExitCode::ok, ""} : outcome.verdict.error();
  }

  // Makes a small manifest in which every byte matters.
  void use_small_schema() {
    Event kfree = *schema_.find(EVENT_kfree);
    schema_ = Schema();
    schema_.add(kfree);
  }

  TempDirectory directory_;
  Schema schema_ = built_schema();
};

}  // namespace ktraced::test
