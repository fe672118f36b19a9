// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include "ctl/input/report_text.h"
#include "ctl/reports/actor_json.h"
#include "ctl/reports/kmem_report.h"
#include "ctl/terminal/bars.h"

namespace ktraced {
namespace {

using nlohmann::json;

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

std::string label_of(const json& row) {
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

// "allocated by" tables all have the same columns.
std::string use_table(const char* title, const json& table, const Colours& colours) {
  const json& rows = list_at(table, "rows");
  if (rows.empty()) return "";
  std::vector<Table::Cell> head{heading(title, false, colours)};
  add_headings(head,
               {"COUNT", "REQUESTED", "GIVEN", "WASTE", "WASTE %", "FREED", "ELSEWHERE", "HELD",
                "HELD BYTES"},
               true, colours);
  Table text(std::move(head));
  for (const json& row : rows)
    text.add({{label_of(row)},
              count_cell(number_at(row, "count")),
              bytes_cell(number_at(row, "requested")),
              bytes_cell(number_at(row, "given")),
              bytes_cell(number_at(row, "waste")),
              share_cell(number_at(row, "waste"), number_at(row, "given")),
              count_cell(number_at(row, "freed")),
              count_cell(number_at(row, "freed_elsewhere")),
              count_cell(number_at(row, "held")),
              bytes_cell(number_at(row, "held_bytes"))});
  return text.text() + more_rows(table) + "\n";
}

std::string kmem_totals(const json& types, const Colours& colours) {
  std::vector<Table::Cell> head{heading("", false, colours)};
  add_headings(head,
               {"ALLOCATED", "FAILED", "REQUESTED", "GIVEN", "WASTE %", "FREED", "ELSEWHERE",
                "UNSEEN", "HELD", "UNKNOWN FREES"},
               true, colours);
  Table table(std::move(head));
  for (const char* type : {"kmalloc", "cache", "pages"}) {
    const json& use = member(types, type);
    table.add({{type},
               count_cell(number_at(use, "count")),
               count_cell(number_at(use, "failed")),
               bytes_cell(number_at(use, "requested")),
               bytes_cell(number_at(use, "given")),
               share_cell(number_at(use, "waste"), number_at(use, "given")),
               count_cell(number_at(use, "freed")),
               count_cell(number_at(use, "freed_elsewhere")),
               count_cell(number_at(use, "freed_unseen")),
               count_cell(number_at(use, "held")),
               count_cell(number_at(member(use, "frees"), "unknown"))});
  }
  return table.text() + "\n";
}

std::string held_table(const json& held, const Colours& colours) {
  const json& rows = list_at(member(held, "call_sites"), "rows");
  if (rows.empty()) return "";
  Table table({heading("NOT GIVEN BACK, BY CALL SITE", false, colours),
               heading("COUNT", true, colours), heading("BYTES", true, colours),
               heading("UNCERTAIN", true, colours), heading("OLDEST", true, colours)});
  for (const json& row : rows)
    table.add({{label_of(row)},
               count_cell(number_at(row, "held")),
               bytes_cell(number_at(row, "held_bytes")),
               count_cell(number_at(row, "uncertain")),
               {duration_text(number_at(row, "oldest_ns")), true}});
  return table.text() + more_rows(member(held, "call_sites")) + "\n";
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

std::string kmem_report_text(const json& report, const Colours& colours) {
  std::string out = kmem_totals(member(report, "types"), colours);
  out += use_table("CALL SITE", member(report, "call_sites"), colours);
  out += use_table("NAMED CACHE", member(report, "caches"), colours);
  out += use_table("BYTES GIVEN BY KMALLOC", member(report, "sizes"), colours);
  out += use_table("PROCESS", member(report, "tasks"), colours);
  out += use_table("PAGES, BY ORDER", member(report, "orders"), colours);
  out += use_table("PROCESS AND CALL SITE", member(report, "task_sites"), colours);
  out += use_table("GFP FLAGS", member(report, "gfp_flags"), colours);
  out += use_table("NUMA NODE", member(report, "nodes"), colours);
  out += held_table(member(report, "held"), colours);
  out += ages_text(member(report, "held"), colours);
  return out + kmem_notes(report);
}

}  // namespace ktraced
