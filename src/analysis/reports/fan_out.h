// SPDX-License-Identifier: BSD-2-Clause
// Fan-out: several analyses in one pass over a trace.
#pragma once

#include <utility>
#include <vector>

#include "analysis/analysis.h"

namespace ktraced {

// Forwards everything to each of `analyses`, which must outlive it.
class FanOut : public Analysis {
 public:
  explicit FanOut(std::vector<Analysis*> analyses) : analyses_(std::move(analyses)) {}

  void add_source(const Schema& schema, const NameTable& names) override {
    for (Analysis* each : analyses_) each->add_source(schema, names);
  }
  void on_record(const RecordOrigin& from, RecordView record) override {
    for (Analysis* each : analyses_) each->on_record(from, record);
  }
  void on_loss(const LossItem& loss) override {
    for (Analysis* each : analyses_) each->on_loss(loss);
  }
  void on_stack(const RecordOrigin& from, RecordView record) override {
    for (Analysis* each : analyses_) each->on_stack(from, record);
  }
  void on_config_change(uint64_t ts, const TraceConfig& config) override {
    for (Analysis* each : analyses_) each->on_config_change(ts, config);
  }
  void set_selector(const RecordSelector& selector) override {
    for (Analysis* each : analyses_) each->set_selector(selector);
  }

 private:
  std::vector<Analysis*> analyses_;
};

}  // namespace ktraced
