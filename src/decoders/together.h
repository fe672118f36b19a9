// SPDX-License-Identifier: BSD-2-Clause
// Several analyses in one pass.
#pragma once

#include <utility>
#include <vector>

#include "decoders/analysis.h"

namespace ktraced {

// Gives all it takes to each of `analyses`, which must outlive it.
class Together : public Analysis {
 public:
  explicit Together(std::vector<Analysis*> analyses) : analyses_(std::move(analyses)) {}

  void add_source(const Schema& schema, const NameTable& names) override {
    for (Analysis* each : analyses_) each->add_source(schema, names);
  }
  void on_record(const RecordOrigin& from, RecordView record) override {
    for (Analysis* each : analyses_) each->on_record(from, record);
  }
  void on_loss(const LossItem& loss) override {
    for (Analysis* each : analyses_) each->on_loss(loss);
  }
  void on_scope(uint64_t ts, const TraceScope& scope) override {
    for (Analysis* each : analyses_) each->on_scope(ts, scope);
  }

 private:
  std::vector<Analysis*> analyses_;
};

}  // namespace ktraced
