// SPDX-License-Identifier: BSD-2-Clause
#include "trace/symbols/symbol_table.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <tuple>
#include <utility>

#include "base/files/lines.h"
#include "base/text/suggest.h"

namespace ktraced {

namespace {

constexpr uint32_t kNoName = 0;
constexpr uint64_t kPageSize = 4096;
// Start of the kernel's half of the address space. Values below are no addresses, but offsets of
// per-CPU variables and other absolute values.
constexpr uint64_t kKernelHalf = uint64_t{1} << 63;
// Maximum size of the last function of a module, whose end is unknown.
constexpr uint64_t kUnknownEndLimit = uint64_t{64} * 1024;

bool is_function(char type) { return type == 't' || type == 'T' || type == 'w' || type == 'W'; }

}  // namespace

Result<> SymbolTable::read(const std::filesystem::path& path) {
  auto read = for_each_line_of(path, [this](std::string_view line) { add_line(line); });
  finish();
  if (!read) return read;
  if (is_full_)
    return fail(ExitCode::data, "cannot use all of {}: it has more than {} symbols", path.string(),
                symbols_.size());
  return {};
}

void SymbolTable::add_line(std::string_view line) {
  uint64_t address = 0;
  auto [after, error] = std::from_chars(line.data(), line.data() + line.size(), address, 16);
  auto digits = static_cast<size_t>(after - line.data());
  // After the address: a space, the type, a space and at least one character.
  if (error != std::errc{} || line.size() < digits + 4) return;
  if (address == 0) hidden_++;
  if (address < kKernelHalf || address == UINT64_MAX) return;
  if (symbols_.size() == kMaxSymbols || names_.size() + line.size() >= kMaxNameBytes) {
    is_full_ = true;
    return;
  }
  if (!is_function(line[digits + 1])) {
    symbols_.push_back({address, kNoName});
    return;
  }
  symbols_.push_back({address, static_cast<uint32_t>(names_.size())});
  names_ += line.substr(digits + 3);
  names_ += '\0';
}

void SymbolTable::finish() {
  // If an address has several names, the kernel uses the first; here functions take precedence over
  // data.
  std::ranges::stable_sort(symbols_, {}, [](const Symbol& symbol) {
    return std::tuple(symbol.address, symbol.name == kNoName);
  });
  for (size_t i = 1; i < symbols_.size(); i++)
    if (symbols_[i].name != kNoName && symbols_[i].address == symbols_[i - 1].address)
      aliases_.push_back(symbols_[i]);
  auto same = [](const Symbol& a, const Symbol& b) {
    return a.address == b.address || (a.name == kNoName && b.name == kNoName);
  };
  auto rest = std::ranges::unique(symbols_, same);
  symbols_.erase(rest.begin(), rest.end());
  symbols_.shrink_to_fit();
  aliases_.shrink_to_fit();
  names_.shrink_to_fit();
  functions_ = static_cast<size_t>(
      std::ranges::count_if(symbols_, [](const Symbol& symbol) { return symbol.name != kNoName; }));
}

std::string_view SymbolTable::name_of(const Symbol& symbol) const {
  std::string_view entry = names_.c_str() + symbol.name;
  return entry.substr(0, entry.find('\t'));
}

std::string_view SymbolTable::module_of(const Symbol& symbol) const {
  std::string_view entry = names_.c_str() + symbol.name;
  return entry.substr(std::min(entry.find('\t'), entry.size()));
}

// End of the function: the next symbol, unless that belongs to another module. In that case only
// the end of the page is known.
uint64_t SymbolTable::end_of(std::vector<Symbol>::const_iterator symbol, uint64_t address) const {
  auto next = std::next(symbol);
  bool is_last = next == symbols_.end();
  if (!is_last && (next->name == kNoName || module_of(*next) == module_of(*symbol)))
    return next->address;
  uint64_t limit = symbol->address + std::min(kUnknownEndLimit, UINT64_MAX - symbol->address);
  uint64_t page_end = std::min(address | (kPageSize - 1), UINT64_MAX - 1) + 1;
  return is_last ? std::min(page_end, limit) : std::min({page_end, limit, next->address});
}

std::optional<std::string> SymbolTable::resolve(uint64_t address) const {
  auto after = std::ranges::upper_bound(symbols_, address, {}, &Symbol::address);
  if (after == symbols_.begin()) return std::nullopt;
  auto symbol = std::prev(after);
  if (symbol->name == kNoName) return std::nullopt;
  uint64_t end = end_of(symbol, address);
  if (address >= end) return std::nullopt;
  std::string_view module = module_of(*symbol);
  if (!module.empty()) module.remove_prefix(1);  // the tab
  return fmt::format("{}+{:#x}/{:#x}{}{}", name_of(*symbol), address - symbol->address,
                     end - symbol->address, module.empty() ? "" : " ", module);
}

std::vector<KernelFunction> SymbolTable::matching(std::string_view module,
                                                  const std::string& pattern) const {
  std::vector<KernelFunction> found;
  const bool is_name = pattern.find_first_of("*?") == std::string::npos;
  std::string name, owner;
  auto visit = [&](const Symbol& symbol) {
    if (symbol.name == kNoName) return;
    name = name_of(symbol);
    if (is_name ? name != pattern : ::fnmatch(pattern.c_str(), name.c_str(), 0) != 0) return;
    owner = module_of(symbol);
    // Between a tab with a bracket, and a bracket; the file may end in the middle of a line.
    owner = owner.size() > 3 ? owner.substr(2, owner.size() - 3) : "";
    if (!module.empty() && owner != module) return;
    const auto entry = std::ranges::lower_bound(symbols_, symbol.address, {}, &Symbol::address);
    found.push_back({.name = name,
                     .module = owner,
                     .address = symbol.address,
                     .size = end_of(entry, symbol.address) - symbol.address});
  };
  std::ranges::for_each(symbols_, visit);
  std::ranges::for_each(aliases_, visit);
  std::ranges::sort(found, {}, &KernelFunction::address);
  return found;
}

std::vector<std::string> SymbolTable::near(std::string_view name) const {
  // The first two letters are seldom misspelled, and comparing all names would be slow.
  const std::string_view begin = name.substr(0, 2);
  std::vector<std::string> names;
  for (const Symbol& symbol : symbols_)
    if (symbol.name != kNoName && name_of(symbol).starts_with(begin))
      names.emplace_back(name_of(symbol));
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  const auto near = near_matches(name, names);
  return {near.begin(), near.end()};
}

}  // namespace ktraced
