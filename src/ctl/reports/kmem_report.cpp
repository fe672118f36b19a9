// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/reports/kmem_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "analysis/coverage/actor.h"
#include "ctl/reports/actor_json.h"

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
  }
}

// The `top` rows with the largest `value` above zero.
json rows_json(const KmemAnalysis& analysis, KmemGroup group, KmemValue value, uint64_t top,
               const SymbolAt& symbol) {
  std::vector<const KmemRow*> rows;
  for (const KmemRow& row : analysis.rows(group))
    if (value(row.use) != 0) rows.push_back(&row);
  const size_t count = std::min<size_t>(rows.size(), top);
  std::ranges::partial_sort(rows, rows.begin() + static_cast<std::ptrdiff_t>(count),
                            [value](const KmemRow* a, const KmemRow* b) {
                              const uint64_t first = value(a->use), second = value(b->use);
                              return first != second ? first > second : a->key < b->key;
                            });
  json list = json::array();
  for (size_t i = 0; i < count; ++i) {
    json row = use_json(rows[i]->use);
    describe(row, group, *rows[i], analysis, symbol);
    list.push_back(std::move(row));
  }
  return {{"rows", std::move(list)}, {"of", rows.size()}};
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

}  // namespace

std::vector<std::string> kmem_sort_keys() {
  std::vector<std::string> keys;
  for (const auto& [key, value] : kKmemKeys) keys.emplace_back(key);
  return keys;
}

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
  const auto* key = std::ranges::find(
      kKmemKeys, command.by, [](const auto& each) { return std::string_view(each.first); });
  if (key == std::ranges::end(kKmemKeys)) key = kKmemKeys;
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
      {"by", key->first},
      {"call_sites", rows(KmemGroup::call_site, key->second)},
      {"caches", rows(KmemGroup::cache, key->second)},
      {"sizes", rows(KmemGroup::size, key->second)},
      {"tasks", rows(KmemGroup::task, key->second)},
      {"orders", rows(KmemGroup::order, key->second)},
      {"task_sites", rows(KmemGroup::task_site, key->second)},
      {"gfp_flags", rows(KmemGroup::gfp_flags, key->second)},
      {"nodes", rows(KmemGroup::node, key->second)},
      {"held", {{"call_sites", rows(KmemGroup::call_site, held)}, {"ages", ages_json(analysis)}}},
      {"lost", {{"allocs", analysis.lost_allocs()}, {"frees", analysis.lost_frees()}}},
      {"not_followed", analysis.not_followed()}};
}

}  // namespace ktraced
