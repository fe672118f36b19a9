// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/reports/kmem_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "analysis/coverage/actor.h"
#include "ctl/reports/actor_json.h"
#include "ctl/reports/stack_reports.h"
#include "ctl/terminal/bars.h"

namespace ktraced {
namespace {

using nlohmann::json;
using KmemValue = uint64_t (*)(const KmemUse& use);

constexpr std::pair<const char*, KmemValue> kKmemKeys[] = {
    {"given", [](const KmemUse& use) { return use.bytes_alloc; }},
    {"requested", [](const KmemUse& use) { return use.bytes_req; }},
    {"count", [](const KmemUse& use) { return use.allocs; }},
    {"waste", [](const KmemUse& use) { return use.waste(); }},
    {"held", [](const KmemUse& use) { return use.held_bytes; }},
    {"elsewhere", [](const KmemUse& use) { return use.freed_elsewhere; }},
};

// Of the same keys, how trees show them.
constexpr TreeUnit kTreeUnits[] = {
    {"given", &StackWeight::bytes, CellKind::bytes, "GIVEN", "COUNT"},
    {"requested", &StackWeight::bytes, CellKind::bytes, "REQUESTED", "COUNT"},
    {"count", &StackWeight::count, CellKind::count, "COUNT", nullptr},
    {"waste", &StackWeight::bytes, CellKind::bytes, "WASTE", "COUNT"},
    {"held", &StackWeight::bytes, CellKind::bytes, "HELD", "COUNT"},
    {"elsewhere", &StackWeight::count, CellKind::count, "FREED ELSEWHERE", nullptr},
};
constexpr std::string_view kDefaultUnit = "held";

const TreeUnit& tree_unit(std::string_view name) {
  const auto found =
      std::ranges::find_if(kTreeUnits, [name](const TreeUnit& unit) { return name == unit.name; });
  return found != std::end(kTreeUnits) ? *found : tree_unit(kDefaultUnit);
}

constexpr std::array kKmemTypes = {std::pair{KmemType::kmalloc, "kmalloc"},
                                   std::pair{KmemType::cache, "cache"},
                                   std::pair{KmemType::pages, "pages"}};

const char* type_name(KmemType type) { return kKmemTypes[static_cast<size_t>(type)].second; }

json use_json(const KmemUse& use) {
  json out = {{"count", use.allocs},
              {"first_ns", use.allocs != 0 ? json(use.first_ns) : json()},
              {"failed", use.failed},
              {"requested", use.bytes_req},
              {"given", use.bytes_alloc},
              {"waste", use.waste()},
              {"freed", use.freed},
              {"freed_elsewhere", use.freed_elsewhere},
              {"freed_unseen", use.freed_unseen},
              {"held", use.held},
              {"held_bytes", use.held_bytes},
              {"oldest_ns", use.oldest_ns},
              {"uncertain", use.uncertain},
              {"uncertain_bytes", use.uncertain_bytes}};
  if (use.in_interrupt) out["in_interrupt"] = *use.in_interrupt;
  return out;
}

json node_json(int32_t node) { return node >= 0 ? json(node) : json(); }

void describe_site(json& row, const KmemRow& site, const SymbolAt& symbol) {
  row["call_site"] = fmt::format("{:#x}", site.key);
  if (auto name = symbol(site.key); !name.empty()) row["symbol"] = name;
  row["type"] = type_name(site.type);
}

void describe_task(json& row, const KmemRow& task) {
  row.update(actor_json(
      {.pid = task.actor, .known = !task.is_thread, .start_ns = task.start_ns, .comm = task.name}));
}

// Adds the members that identify the row.
void describe(json& row, KmemGroup group, const KmemRow& of, const KmemAnalysis& analysis,
              const SymbolAt& symbol) {
  if (of.others) {
    row["others"] = true;
    return;
  }
  switch (group) {
    case KmemGroup::call_site:
      describe_site(row, of, symbol);
      break;
    case KmemGroup::task_site: {
      const KmemTaskSite both = KmemTaskSite::of(of.key);
      describe_task(row, analysis.rows(KmemGroup::task)[both.task]);
      describe_site(row, analysis.rows(KmemGroup::call_site)[both.call_site], symbol);
      break;
    }
    case KmemGroup::gfp_flags:
      row["gfp_flags"] = of.key;
      row["gfp_flags_names"] = of.name;
      break;
    case KmemGroup::node:
      row["page_node"] = node_json(KmemNode::of(of.key).page_node);
      row["node"] = node_json(KmemNode::of(of.key).requested);
      break;
    case KmemGroup::cache:
      if (of.unnamed) {
        row["cache"] = nullptr;
        row["size"] = of.key;
      } else {
        row["cache"] = of.name.empty() ? fmt::format("{:#x}", of.key) : of.name;
      }
      break;
    case KmemGroup::size:
      row["size"] = of.key;
      break;
    case KmemGroup::task:
      describe_task(row, of);
      break;
    case KmemGroup::order:
      row["order"] = of.key;
      break;
    case KmemGroup::stacks:
      break;
  }
}

// The `top` rows with the largest `value` above zero.
json rows_json(const KmemAnalysis& analysis, KmemGroup group, KmemValue value, uint64_t top,
               const SymbolAt& symbol) {
  std::vector<const KmemRow*> rows;
  for (const KmemRow& row : analysis.rows(group))
    if (value(row.use) != 0) rows.push_back(&row);
  const auto before = [value](const KmemRow& a, const KmemRow& b) {
    const uint64_t first = value(a.use), second = value(b.use);
    return first != second ? first > second : a.key < b.key;
  };
  return first_of(std::move(rows), top, before, [&](const KmemRow& row) {
    json out = use_json(row.use);
    describe(out, group, row, analysis, symbol);
    return out;
  });
}

json ages_json(const KmemAnalysis& analysis) {
  json ages = json::array();
  uint64_t limit = 1000;
  for (size_t i = 0; i < KmemAnalysis::kAges; ++i, limit *= 10) {
    json age = {{"count", analysis.ages()[i]}};
    if (i + 1 < KmemAnalysis::kAges) age["below_ns"] = limit;
    ages.push_back(std::move(age));
  }
  return ages;
}

std::string site_label(const json& row) {
  return printable(row.contains("symbol") ? text_at(row, "symbol") : text_at(row, "call_site"));
}

// "0", "0 (1 requested)"; "?" if it is not known where the memory is.
std::string node_label(const json& row) {
  const auto text = [&](const char* name) {
    const json& node = member(row, name);
    return node.is_null() ? std::string("?") : node.dump();
  };
  if (member(row, "node").is_null()) return text("page_node");
  return fmt::format("{} ({} requested)", text("page_node"), text("node"));
}

std::string kmem_label(const json& row, const json& /*report*/) {
  if (flag_at(row, "others")) return "(others)";
  if (row.contains("pid") && row.contains("call_site"))
    return fmt::format("{}: {}", actor_label(row), site_label(row));
  if (row.contains("pid")) return actor_label(row);
  if (row.contains("gfp_flags")) return printable(text_at(row, "gfp_flags_names"));
  if (row.contains("page_node")) return node_label(row);
  if (row.contains("order")) return std::to_string(number_at(row, "order"));
  if (!text_at(row, "cache").empty()) return printable(text_at(row, "cache"));
  if (row.contains("cache")) return fmt::format("? ({} bytes each)", number_at(row, "size"));
  if (row.contains("size")) return std::to_string(number_at(row, "size"));
  return site_label(row);
}

std::string waste_share(const json& row, const json& /*report*/) {
  return share_text(number_at(row, "waste"), number_at(row, "given"));
}

std::string kmem_totals(const json& report, const Colours& colours) {
  using namespace columns;
  static const TableColumns kTotals =
      make_columns(text("type", ""), count("count", "ALLOCATED"), count("failed", "FAILED"),
                   bytes("requested", "REQUESTED"), bytes("given", "GIVEN"),
                   number("", "WASTE %", waste_share), count("freed", "FREED"),
                   count("freed_elsewhere", "ELSEWHERE"), count("freed_unseen", "UNSEEN"),
                   count("held", "HELD"), count("frees.unknown", "UNKNOWN FREES"));
  json rows = json::array();
  for (const auto& [type, name] : kKmemTypes) {
    rows.push_back(member(member(report, "types"), name));
    rows.back()["type"] = name;
  }
  return table_text(kTotals, rows, report, colours) + "\n";
}

const ReportTable& held_table() {
  using namespace columns;
  static const ReportTable kHeld{
      "held.call_sites",
      make_columns(text("", "NOT GIVEN BACK, BY CALL SITE", kmem_label), count("held", "COUNT"),
                   bytes("held_bytes", "BYTES"), count("uncertain", "UNCERTAIN"),
                   duration("oldest_ns", "OLDEST"))};
  return kHeld;
}

std::string ages_text(const json& held, const Colours& colours) {
  Bars bars;
  uint64_t above = 0;
  for (const json& age : list_at(held, "ages")) {
    const uint64_t below = number_at(age, "below_ns");
    bars.add(below != 0 ? "< " + duration_text(below) : ">= " + duration_text(above),
             number_at(age, "count"));
    above = below;
  }
  if (bars.empty()) return "";
  return colours.bold("AGE OF WHAT WAS NOT GIVEN BACK") + "\n" + bars.text(colours.on()) + "\n";
}

std::string kmem_notes(const json& report) {
  std::string out;
  uint64_t uncertain = 0, unseen = 0, in_interrupt = 0;
  for (const auto& [type, use] : member(report, "types").items()) {
    uncertain += number_at(use, "uncertain");
    unseen += number_at(use, "freed_unseen");
    in_interrupt += number_at(use, "in_interrupt");
  }
  const json& lost = member(report, "lost");
  if (const uint64_t frees = number_at(lost, "frees"), allocs = number_at(lost, "allocs");
      frees + allocs != 0)
    out += fmt::format("{} allocations and {} frees were lost\n", grouped(allocs), grouped(frees));
  out += caveats_text(report);
  if (uncertain != 0)
    out += fmt::format("for these reasons {} of what is held may have been given back\n",
                       grouped(uncertain));
  if (unseen != 0)
    out += fmt::format("{} were freed without an event: their address was allocated again\n",
                       grouped(unseen));
  if (in_interrupt != 0)
    out += counted_text(in_interrupt, "allocations were made in interrupts") +
           ": they count for the process that ran then\n";
  if (const uint64_t count = number_at(report, "not_followed"); count != 0)
    out += fmt::format("{} allocations were counted but not followed: too many were held at once\n",
                       grouped(count));
  return out;
}

}  // namespace

std::vector<std::string> kmem_sort_keys() { return key_names(kKmemKeys); }

std::vector<std::string> events_that_free(const KmemAnalysis& analysis) {
  std::vector<std::string> events;
  auto add = [&](KmemType type, const char* event) {
    if (analysis.total(type).allocs != 0) events.emplace_back(event);
  };
  add(KmemType::kmalloc, "kfree");
  add(KmemType::cache, "kmem_cache_free");
  add(KmemType::pages, "mm_page_free");
  return events;
}

std::vector<uint64_t> call_sites_of(const KmemAnalysis& analysis) {
  std::vector<uint64_t> addresses;
  for (const KmemRow& row : analysis.rows(KmemGroup::call_site))
    if (!row.others) addresses.push_back(row.key);
  return addresses;
}

json kmem_report(const KmemAnalysis& analysis, const ReportCommand& command,
                 const SymbolAt& symbol) {
  const auto& key = key_named(kKmemKeys, command.by);
  json types;
  for (const auto& [type, name] : kKmemTypes) {
    types[name] = use_json(analysis.total(type));
    const KmemFrees& frees = analysis.frees(type);
    types[name]["frees"] = {
        {"seen", frees.seen}, {"unknown", frees.unknown}, {"nothing", frees.nothing}};
  }
  auto rows = [&](KmemGroup group, KmemValue value) {
    return rows_json(analysis, group, value, command.top, symbol);
  };
  const KmemValue held = [](const KmemUse& use) { return use.held_bytes; };
  return {
      {"types", std::move(types)},
      {"by", key.first},
      {"call_sites", rows(KmemGroup::call_site, key.second)},
      {"caches", rows(KmemGroup::cache, key.second)},
      {"sizes", rows(KmemGroup::size, key.second)},
      {"tasks", rows(KmemGroup::task, key.second)},
      {"orders", rows(KmemGroup::order, key.second)},
      {"task_sites", rows(KmemGroup::task_site, key.second)},
      {"gfp_flags", rows(KmemGroup::gfp_flags, key.second)},
      {"nodes", rows(KmemGroup::node, key.second)},
      {"held", {{"call_sites", rows(KmemGroup::call_site, held)}, {"ages", ages_json(analysis)}}},
      {"lost", {{"allocs", analysis.lost_allocs()}, {"frees", analysis.lost_frees()}}},
      {"not_followed", analysis.not_followed()}};
}

void add_kmem_stacks(json& report, const KmemAnalysis& analysis, StackSums& sums,
                     const TraceStacks& stacks, const FrameNamer& namer,
                     const ReportCommand& command) {
  const TreeUnit& unit = tree_unit(command.by);
  const KmemValue value = key_named(kKmemKeys, unit.name).second;
  const bool of_held = unit.name == kDefaultUnit;
  StackWeight others;
  for (const KmemRow& row : analysis.rows(KmemGroup::stacks)) {
    StackWeight weight{.count = of_held ? row.use.held : row.use.allocs};
    weight.*unit.of = value(row.use);
    if (row.others)
      others = weight;
    else
      sums[static_cast<uint32_t>(row.key)].weight = weight;
  }
  add_stack_trees(report,
                  {.sums = sums, .stacks = stacks, .namer = namer, .unit = unit, .others = others},
                  command);
}

const std::vector<ReportTable>& kmem_tables() {
  using namespace columns;
  static const TableColumns kUse = make_columns(
      count("count", "COUNT"), "failed", bytes("requested", "REQUESTED"), bytes("given", "GIVEN"),
      bytes("waste", "WASTE"), number("", "WASTE %", waste_share), count("freed", "FREED"),
      count("freed_elsewhere", "ELSEWHERE"), "freed_unseen", count("held", "HELD"),
      bytes("held_bytes", "HELD BYTES"), "oldest_ns", "uncertain", "uncertain_bytes", "others",
      "in_interrupt");
  // Texts have one column for all that identifies a row.
  const auto table = [](std::string_view name, const char* title, const auto&... keys) {
    return ReportTable{name, make_columns(keys..., text("", title, kmem_label), kUse)};
  };
  static const std::vector<ReportTable> kTables = {
      table("call_sites", "CALL SITE", "type", "call_site", "symbol"),
      table("caches", "NAMED CACHE", "cache", "size"),
      table("sizes", "BYTES GIVEN BY KMALLOC", "size"),
      table("tasks", "PROCESS", "pid", "tid", "comm", "start_ns"),
      table("orders", "PAGES, BY ORDER", "order"),
      table("task_sites", "PROCESS AND CALL SITE", "pid", "tid", "comm", "start_ns", "type",
            "call_site", "symbol"),
      table("gfp_flags", "GFP FLAGS", "gfp_flags", "gfp_flags_names"),
      table("nodes", "NUMA NODE", "page_node", "node"),
      tree_tables(tree_unit(kDefaultUnit))[0],
      tree_tables(tree_unit(kDefaultUnit))[1]};
  return kTables;
}

std::string kmem_report_text(const json& report, const Colours& colours) {
  std::string out = kmem_totals(report, colours);
  if (report.contains("tree"))
    return out +
           stack_trees_text(report, tree_unit(text_at(member(report, "stacks"), "unit")), colours) +
           kmem_notes(report);
  for (const ReportTable& table : kmem_tables()) out += section_text(table, report, colours);
  out += section_text(held_table(), report, colours);
  return out + ages_text(member(report, "held"), colours) + kmem_notes(report);
}

}  // namespace ktraced
