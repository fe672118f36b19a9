// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/html/html_signals.h"

#include "ctl/reports/actor_json.h"
#include "schema/names.h"

namespace ktraced {
namespace {

using nlohmann::json;

// "SIGTERM"; the number of a signal without a name.
std::string signal_or_number(int32_t signal) {
  const std::string_view name = signal_name(signal);
  return name.empty() ? std::to_string(signal) : std::string(name);
}

json sent_signals_json(const SignalAnalysis& analysis, const SentSignals& row) {
  json results = json::object();
  for (const auto& [result, count] : row.results) {
    const std::string_view name = signal_result_name(result);
    results[std::string(name.empty() ? "other" : name)] = count;
  }
  json out = {{"count", row.count}, {"first_ns", row.first_ns}, {"results", std::move(results)}};
  if (row.others) {
    out["others"] = true;
    return out;
  }
  out["signal"] = signal_or_number(row.signal);
  out["from"] = row.from ? actor_json(analysis.processes()[*row.from]) : json("kernel");
  out["to"] = actor_json(analysis.processes()[row.to]);
  return out;
}

json received_signals_json(const SignalAnalysis& analysis, const ReceivedSignals& row) {
  json out = {{"count", row.count}, {"first_ns", row.first_ns}, {"handled", row.handled}};
  if (row.others) {
    out["others"] = true;
    return out;
  }
  out["signal"] = signal_or_number(row.signal);
  out.update(actor_json(analysis.processes()[row.process]));
  return out;
}

}  // namespace

json html_signals(const SignalAnalysis& analysis, uint64_t top) {
  const auto more = [](const auto& a, const auto& b) { return b.count < a.count; };
  return {{"sent",
           first_rows(analysis.sent(), top, more,
                      [&](const SentSignals& row) { return sent_signals_json(analysis, row); })},
          {"received", first_rows(analysis.received(), top, more,
                                  [&](const ReceivedSignals& row) {
                                    return received_signals_json(analysis, row);
                                  })},
          {"lost", analysis.lost()}};
}

}  // namespace ktraced
