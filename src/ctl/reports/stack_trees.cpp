// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>
#include <vector>

#include "analysis/stacks/stack_tree.h"
#include "base/files/lines.h"
#include "base/print_stderr.h"
#include "ctl/reports/actor_json.h"
#include "ctl/reports/stack_reports.h"

namespace ktraced {
namespace {

using nlohmann::json;

// A tree has more lines than a table has rows, because functions call each other.
constexpr uint64_t kLinesForARow = 10;

constexpr std::pair<std::string_view, StacksBy> kOwners[] = {
    {"process", StacksBy::process}, {"thread", StacksBy::thread}, {"cgroup", StacksBy::cgroup}};

json ends_json(const StackCounts& counts) {
  const auto of = [&](StackEnd end) {
    const auto found = counts.by_end.find(end);
    return found == counts.by_end.end() ? uint64_t{0} : found->second;
  };
  return {{"events", counts.total()},
          {"start", of(StackEnd::start)},
          {"depth", of(StackEnd::depth)},
          {"broken", of(StackEnd::broken)},
          {"unreadable", of(StackEnd::unreadable)},
          {"lacking", counts.lacking},
          {"ambiguous", counts.ambiguous}};
}

void add_function(json& row, const FrameText& text) {
  row["function"] = text.function;
  if (!text.module.empty()) row["module"] = text.module;
  if (text.file != nullptr) row["file"] = text.file->path;
  if (!text.source.empty()) row.update({{"source", text.source}, {"line", text.line}});
  if (text.inlined) row["inlined"] = true;
}

// What a node or a function has.
json weights_json(const StackWeight& total, const StackWeight& self, const TreeUnit& unit) {
  json row = {{"total", total.*unit.of}, {"self", self.*unit.of}};
  if (unit.events != nullptr) row["count"] = total.count;
  if (unit.of == &StackWeight::ns)
    row.update({{"longest_ns", total.longest_ns}, {"longest_ts", total.longest_ts}});
  return row;
}

json tree_json(const StackTree& tree, const StackNames& names, const std::vector<json>& owners,
               const TreeUnit& unit, uint64_t most) {
  json rows = json::array();
  for (const uint32_t index : tree.heaviest(unit.of, most)) {
    const StackTree::Node& node = tree.nodes()[index];
    json& row = rows.emplace_back(weights_json(node.total, node.self, unit));
    row["depth"] = node.depth;
    if (node.depth == 0) {
      row["owner"] = owners[node.frame];
      row["function"] = owner_label(owners[node.frame]);
    } else {
      add_function(row, names.text(node.frame));
    }
  }
  return {{"rows", std::move(rows)}, {"of", tree.nodes().size()}};
}

json functions_json(const StackTree& tree, const StackNames& names, const TreeUnit& unit,
                    uint64_t top) {
  const auto before = [&](const StackTree::Function& a, const StackTree::Function& b) {
    return std::pair(b.self.*unit.of, b.total.*unit.of) <
           std::pair(a.self.*unit.of, a.total.*unit.of);
  };
  std::vector<StackTree::Function> functions;
  std::ranges::copy_if(tree.functions(), std::back_inserter(functions), [&](const auto& function) {
    return names.text(function.frame).is_function;
  });
  return first_rows(functions, top, before, [&](const StackTree::Function& function) {
    json row = weights_json(function.total, function.self, unit);
    add_function(row, names.text(function.frame));
    return row;
  });
}

std::string share_cell(const json& row, const json& report) {
  return share_text(number_at(row, "total"), number_at(member(report, "stacks"), "total"));
}

std::string self_share_cell(const json& row, const json& report) {
  return share_text(number_at(row, "self"), number_at(member(report, "stacks"), "total"));
}

// The function behind its indentation, "  > ext4_read [ext4]".
std::string function_cell(const json& row, const json& /*report*/) {
  const FrameText text{.function = text_at(row, "function"),
                       .module = text_at(row, "module"),
                       .source = text_at(row, "source"),
                       .line = static_cast<uint32_t>(number_at(row, "line")),
                       .inlined = flag_at(row, "inlined")};
  return text_at(row, "indent") + printable(label_of(text));
}

// The rows of a tree in the order of its lines, with an "indent" each. Of the functions below
// another one, a single one is marked instead of being indented further, as are those below it: so
// a chain takes one step, however long it is.
json indented(const json& rows) {
  struct Line {
    size_t children = 0;
    size_t column = 0;
    bool is_single = false;
  };
  constexpr size_t kStep = 2;
  constexpr std::string_view kSingle = "> ";
  std::vector<size_t> parents, path;
  std::vector<Line> lines;
  for (const json& row : rows) {
    path.resize(std::min<size_t>(path.size(), number_at(row, "depth")));
    parents.push_back(path.empty() ? lines.size() : path.back());
    if (!path.empty()) ++lines[path.back()].children;
    path.push_back(lines.size());
    lines.emplace_back();
  }
  json out = rows;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (parents[i] == i) continue;  // an owner
    const Line& parent = lines[parents[i]];
    const bool of_owner = parents[parents[i]] == parents[i];
    lines[i].is_single = !of_owner && parent.children == 1;
    lines[i].column = parent.column;
    if (!lines[i].is_single) lines[i].column += kStep + (parent.is_single ? kSingle.size() : 0);
    out[i]["indent"] = std::string(lines[i].column, ' ').append(lines[i].is_single ? kSingle : "");
  }
  return out;
}

TableColumn unit_column(const TreeUnit& unit, std::string_view key, const char* title) {
  return {.key = key, .title = title, .kind = unit.kind};
}

std::string ends_text(const json& ends, std::string_view kind, const EndsOf& of) {
  const uint64_t events = number_at(ends, "events");
  if (events == 0) return "";
  const auto share = [&](uint64_t part) { return share_text(part, events); };
  std::string text =
      fmt::format("{} stacks of {}{}: {} complete, {} deeper than recorded, {} ended early", kind,
                  of.whose, counted_text(events, of.events), share(number_at(ends, "start")),
                  share(number_at(ends, "depth")),
                  share(number_at(ends, "broken") + number_at(ends, "unreadable")));
  if (const uint64_t lacking = number_at(ends, "lacking"); lacking != 0)
    text += fmt::format(", {} not in the trace", share(lacking));
  if (const uint64_t ambiguous = number_at(ends, "ambiguous"); ambiguous != 0)
    text += fmt::format("; {} have the number of another stack too", share(ambiguous));
  return text + "\n";
}

std::string amount_text(const TreeUnit& unit, uint64_t amount) {
  if (unit.kind == CellKind::bytes) return bytes_text(amount);
  if (unit.kind == CellKind::duration) return duration_text(amount);
  return fmt::format("{} {}", grouped(amount), unit.name);
}

}  // namespace

std::vector<std::string> stack_owners() { return key_names(kOwners); }

bool is_stack_owner(std::string_view name) {
  return std::ranges::any_of(kOwners, [name](const auto& owner) { return owner.first == name; });
}

StacksBy stacks_by(const ReportCommand& command) { return key_named(kOwners, command.by).second; }

json owner_json(const StackOwner& owner, StacksBy by) {
  if (owner.others) return {{"others", true}};
  json out;
  if (by == StacksBy::cgroup) {
    out["cgroup"] = owner.cgroup.empty() ? json() : json(owner.cgroup);
    if (owner.cgroup_id != 0) out["cgroup_id"] = owner.cgroup_id;
  } else {
    out = actor_json(owner);
    if (by == StacksBy::thread) {
      out["tid"] = owner.tid;
      if (!owner.known) out["pid"] = nullptr;
    }
  }
  if (owner.kernel_thread) out["kernel_thread"] = true;
  return out;
}

std::string owner_label(const json& owner) {
  if (flag_at(owner, "others")) return "(others)";
  std::string label;
  if (owner.contains("cgroup")) {
    const std::string path = text_at(owner, "cgroup");
    label = path.empty() ? "(unknown control group)" : path;
  } else if (owner.contains("tid") && !member(owner, "comm").is_null()) {
    label = fmt::format("{} {}", comm_text(owner), number_at(owner, "tid"));
  } else {
    label = actor_label(owner);
  }
  return flag_at(owner, "kernel_thread") ? label + " (kernel thread)" : label;
}

void add_stack_trees(json& report, const TreeSource& source, const ReportCommand& command) {
  const TreeUnit& unit = source.unit;
  StackNames names(source.stacks, source.namer);
  StackTree tree(command.invert ? StackTree::Order::inverted : StackTree::Order::callers_first);
  StackWeight others = source.others;
  for (const StackRow& row : source.sums.rows()) {
    if (row.weight.*unit.of == 0) continue;
    if (row.others) {
      others += row.weight;
      continue;
    }
    std::vector<uint32_t> frames = names.texts_of(row.key.at, row.ts);
    if (const char* inside = source.inside != nullptr ? source.inside(row.key.what) : nullptr;
        inside != nullptr)
      frames.insert(frames.begin(), names.number_of({.function = inside, .module = {}}));
    tree.add(row.key.at.owner, frames, row.weight);
  }
  std::vector<json> owners;
  for (const StackOwner& owner : source.sums.owners())
    owners.push_back(owner_json(owner, source.sums.by()));
  const uint64_t most =
      command.top == ReportCommand::kAllRows ? command.top : kLinesForARow * command.top;
  report["tree"] = tree_json(tree, names, owners, unit, most);
  report["functions"] = functions_json(tree, names, unit, command.top);
  report["stacks"] = {{"by", kOwners[static_cast<size_t>(source.sums.by())].first},
                      {"inverted", command.invert},
                      {"unit", unit.name},
                      {"total", tree.total().*unit.of + others.*unit.of},
                      {"others", others.*unit.of},
                      {"folded", tree.folded().*unit.of}};
  report["stacks"].update(stack_ends_json(ends_of(source.sums.rows(), names)));
}

json stack_ends_json(const StackEnds& ends) {
  return {{"user", ends_json(ends.user)},
          {"kernel", ends_json(ends.kernel)},
          {"without_user_stack", ends.none}};
}

std::string stack_ends_text(const json& ends, const EndsOf& of) {
  return ends_text(member(ends, "user"), "user", of) +
         ends_text(member(ends, "kernel"), "kernel", of);
}

void print_stack_ends(const StackEnds& ends) {
  for_each_line(stack_ends_text(stack_ends_json(ends)),
                [](std::string_view line) { print_stderr("ktracectl: {}\n", line); });
}

std::vector<ReportTable> tree_tables(const TreeUnit& unit) {
  using namespace columns;
  TableColumns further;
  if (unit.events != nullptr) further.push_back(count("count", unit.events));
  if (unit.of == &StackWeight::ns) {
    further.push_back(duration("longest_ns", "LONGEST"));
    further.push_back({.key = "longest_ts"});
  }
  return {{"tree",
           make_columns("depth", "function", "module", unit_column(unit, "total", unit.title),
                        number("", "SHARE", share_cell), unit_column(unit, "self", "SELF"), further,
                        text("", "STACKS", function_cell), "owner.pid", "owner.tid", "owner.comm",
                        "owner.cgroup", "owner.others", "file", "source", "line", "inlined")},
          {"functions",
           make_columns("function", "module", unit_column(unit, "self", "SELF"),
                        number("", "SHARE", self_share_cell), unit_column(unit, "total", "TOTAL"),
                        further, text("", "INNERMOST FUNCTION", function_cell), "file", "source",
                        "line", "inlined")}};
}

std::string stack_trees_text(const json& report, const TreeUnit& unit, const Colours& colours) {
  const auto tables = tree_tables(unit);
  const json& stacks = member(report, "stacks");
  const json& tree = member(report, "tree");
  const json shown = {
      {"tree", {{"rows", indented(list_at(tree, "rows"))}, {"of", number_at(tree, "of")}}},
      {"stacks", stacks}};
  std::string out = section_text(tables[1], report, colours, colours.columns());
  out += section_text(tables[0], shown, colours, colours.columns());
  for (const auto& [key, what] :
       {std::pair{"others", "not in the tree, because there are too many different stacks"},
        std::pair{"folded", "counted at a caller, because the tree has too many functions"}})
    if (const uint64_t amount = number_at(stacks, key); amount != 0)
      out += fmt::format("{}: {}\n", what, amount_text(unit, amount));
  const uint64_t none = number_at(stacks, "without_user_stack");
  out += stack_ends_text(stacks);
  const bool any =
      number_at(member(stacks, "user"), "events") + number_at(member(stacks, "kernel"), "events") !=
      0;
  if (!any && none != 0)
    out += fmt::format("no event has a stack: {}\n", unit.chosen_by);
  else if (none != 0)
    out += counted_text(none, "events have no user stack") + "\n";
  return out;
}

}  // namespace ktraced
