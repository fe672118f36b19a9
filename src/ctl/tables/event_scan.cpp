// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/tables/event_scan.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "decoders/text/safe_text.h"
#include "schema/names.h"
#include "trace/packet/field_value.h"
#include "trace/packet/word_text.h"

namespace ktraced {
namespace {

constexpr record kNoRecord{};

bool has(const std::optional<std::vector<uint32_t>>& limit, uint32_t number) {
  return !limit || std::ranges::binary_search(*limit, number);
}

Value number_or_null(uint64_t number) {
  return number != 0 ? Value::integer(number) : Value::null();
}

bool is_of(const std::vector<uint32_t>& pids, RecordView record, const NameTable& names) {
  if (record.tid() == 0) return std::ranges::binary_search(pids, 0U);
  const TaskName* task = names.task_at(record.tid(), record.ts());
  return task != nullptr && std::ranges::binary_search(pids, task->tgid);
}

bool is_chosen(const Event& event, std::string_view name, const ScanLimits& limits) {
  if (!name.empty()) return event.name == name;
  return !limits.events || std::ranges::binary_search(*limits.events, event.name);
}

}  // namespace

EventScan::Source::Source(const TraceReader& from)
    : trace(from),
      symbols(std::make_unique<KeptSymbols>(from.symbols())),
      texts({from.schema(), from.names(), symbols.get()}),
      json({from.schema(), from.names(), symbols.get()}) {}

EventScan::EventScan(const TableInput& input, std::string_view name,
                     std::span<const EventColumn> columns, ScanLimits limits,
                     const std::atomic<bool>& stop)
    : history_(input.history.again()),
      selections_(input.selections),
      use_(input.use),
      limits_(std::move(limits)),
      stop_(stop),
      record_(reinterpret_cast<const std::byte*>(&kNoRecord)) {
  const TimeWindow& all = input.history.window();
  limits_.begin_ns = std::max(limits_.begin_ns, all.begin_ns);
  limits_.end_ns = std::min(limits_.end_ns, all.end_ns);
  history_.set_window({.begin_ns = limits_.begin_ns, .end_ns = limits_.end_ns});
  if (limits_.cpus) history_.read_only_cpus(*limits_.cpus);
  bool any = false;
  for (const TraceReader& trace : history_.traces()) {
    Source& source = *sources_.emplace_back(std::make_unique<Source>(trace));
    for (const Event& event : trace.schema().events()) {
      if (!is_chosen(event, name, limits_)) continue;
      if (!selections_.empty() && !selections_[sources_.size() - 1].wants_event(event.id)) continue;
      any = true;
      if (event.id >= source.events.size()) source.events.resize(event.id + size_t{1});
      source.events[event.id] = std::make_unique<EventAccess>(access_of(columns, event));
    }
  }
  more_ = any && limits_.begin_ns <= limits_.end_ns;
}

// Called for every record of the traces: what is not of this table must cost next to nothing.
void EventScan::on_record(const RecordOrigin& from, RecordView record) {
  const auto& events = sources_[from.source]->events;
  if (record.id() >= events.size()) return;
  const EventAccess* access = events[record.id()].get();
  if (access == nullptr || !matches(from, record)) return;
  const auto bytes = record.bytes();
  rows_.push_back({.offset = bytes_.size(), .access = access, .from = from});
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
}

bool EventScan::matches(const RecordOrigin& from, RecordView record) const {
  if (record.ts() < limits_.begin_ns || record.ts() > limits_.end_ns) return false;
  if (!has(limits_.cpus, from.cpu) || !has(limits_.tids, record.tid())) return false;
  const NameTable& names = sources_[from.source]->trace.names();
  if (limits_.pids && !is_of(*limits_.pids, record, names)) return false;
  if (selections_.empty()) return true;
  const MetConditions met = selections_[from.source].met(from.cpu, record, names);
  if (use_ != nullptr) use_->note(met);
  return met == kAllMet;
}

// Reads on until there are rows; false: there are no more.
bool EventScan::read_batch() {
  rows_.clear();
  bytes_.clear();
  next_ = 0;
  while (more_ && rows_.empty() && !stop_)
    more_ = history_.read(*this) && history_.read_until() <= limits_.end_ns;
  taken_ += rows_.size();
  return !rows_.empty() && !stop_;
}

bool EventScan::next() {
  if (next_ == rows_.size() && !read_batch()) return false;
  row_ = &rows_[next_++];
  record_ = RecordView(bytes_.data() + row_->offset);
  task_known_ = false;
  return true;
}

// A record is the same in all scans. Two records with the same bytes on one CPU of a trace would be
// the same event.
int64_t EventScan::rowid() {
  const auto bytes = record_.bytes();
  const std::string_view view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const size_t origin = size_t{row_->from.source} << 32 | row_->from.cpu;
  constexpr size_t kSpread = 0x9e3779b97f4a7c15;
  return static_cast<int64_t>(std::hash<std::string_view>{}(view) ^ (origin * kSpread));
}

const TaskName* EventScan::task() {
  if (!task_known_) {
    task_ = sources_[row_->from.source]->trace.names().task_at(record_.tid(), record_.ts());
    task_known_ = true;
  }
  return task_;
}

Value EventScan::pid() {
  if (const TaskName* known = task(); known != nullptr) return Value::integer(known->tgid);
  return record_.tid() == 0 ? Value::integer(0) : Value::null();
}

Value EventScan::comm() {
  if (const TaskName* known = task(); known != nullptr) return safe(known->comm());
  const auto& names = sources_[row_->from.source]->trace.names();
  const auto name = comm_at(names, record_.tid(), record_.ts(), row_->from.cpu, scratch_);
  return name ? safe(*name) : Value::null();
}

Value EventScan::wall() {
  const int64_t offset = sources_[row_->from.source]->trace.manifest().origin.clock_offset_ns;
  if (offset == 0) return Value::null();
  const auto text = clock_.of(static_cast<int64_t>(record_.ts()) + offset);
  return text.empty() ? Value::null() : Value::of(text);
}

// The member "args" of the event as JSON. Quotes within texts are escaped, so its key is unique.
Value EventScan::args() {
  constexpr std::string_view kKey = ",\"args\":", kEnd = "}\n";
  json_.clear();
  sources_[row_->from.source]->json.event(row_->from.cpu, record_, json_);
  const std::string_view line = json_.view();
  const size_t at = line.find(kKey);
  if (at == std::string_view::npos) return {};
  const size_t begin = at + kKey.size();
  return Value::of(line.substr(begin, line.size() - begin - kEnd.size()));
}

Value EventScan::safe(std::string_view text) {
  if (std::ranges::all_of(text, [](char c) { return c >= 0x20 && c < 0x7f; }))
    return Value::of(text);
  return Value::of(text_ = printable(text));
}

Value EventScan::value(size_t column) {
  const FieldAccess& access = row_->access->columns[column];
  switch (access.value) {
    case EventValue::absent:
      return {};
    case EventValue::ts:
      return Value::integer(record_.ts());
    case EventValue::wall:
      return wall();
    case EventValue::cpu:
      return Value::integer(row_->from.cpu);
    case EventValue::tid:
      return Value::integer(record_.tid());
    case EventValue::pid:
      return pid();
    case EventValue::comm:
      return comm();
    case EventValue::context:
      return Value::name(context_name(record_.context()));
    case EventValue::kernel_stack:
      return number_or_null(record_.stacks().kernel);
    case EventValue::user_stack:
      return number_or_null(record_.stacks().user);
    case EventValue::event:
      return safe(sources_[row_->from.source]->trace.schema().find(record_.id())->name);
    case EventValue::args:
      return args();
    default:
      return field_value(access);
  }
}

Value EventScan::field_value(const FieldAccess& access) {
  const auto& failed = row_->access->failed;
  if (failed && failed->contains(access.number, record_)) return {};
  switch (access.value) {
    case EventValue::text:
      return safe(shown_text(access.field, record_, words_));
    case EventValue::list:
      return list_value(access);
    case EventValue::cut:
      return Value::integer(elements_of(access.field, record_).cut ? 1 : 0);
    default:
      break;
  }
  const auto number = integer_of(access.field, record_, access.index);
  return number ? number_value(access, *number) : Value::null();
}

Value EventScan::number_value(const FieldAccess& access, uint64_t number) {
  const Source& source = *sources_[row_->from.source];
  switch (access.value) {
    case EventValue::cache: {
      const std::string_view name = source.trace.names().cache_name(number);
      return name.empty() ? Value::null() : safe(name);
    }
    case EventValue::annotation: {
      const std::string_view text = sources_[row_->from.source]->texts.of(
          access.field, access.context, number, row_->from.cpu, record_);
      return text.empty() ? Value::null() : safe(text);
    }
    case EventValue::exit_status: {
      const ExitStatus end = decode_exit_code(static_cast<int32_t>(number));
      return end.signal == 0 ? Value::integer(static_cast<uint64_t>(end.status)) : Value::null();
    }
    case EventValue::exit_signal:
      return Value::name(signal_name(decode_exit_code(static_cast<int32_t>(number)).signal));
    case EventValue::exit_core:
      return Value::integer(decode_exit_code(static_cast<int32_t>(number)).core ? 1 : 0);
    default:
      return Value::integer(number);
  }
}

Value EventScan::list_value(const FieldAccess& access) {
  const Field& field = access.field;
  const Elements elements = elements_of(field, record_);
  json_.clear();
  json_.append('[');
  for (size_t i = 0; i < elements.count; ++i) {
    if (i != 0) json_.append(',');
    const auto number = integer_at(field, record_, elements.offset + i * field.size);
    if (!number)
      json_.append("null");
    else if (field.is_signed)
      json_.append_decimal(static_cast<int64_t>(*number));
    else
      json_.append_decimal(*number);
  }
  json_.append(']');
  return Value::of(json_.view());
}

}  // namespace ktraced
