// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/symbols/line_reader.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace ktraced {
namespace {

constexpr int kMaxNesting = 256;  // of blocks and functions

[[gnu::noreturn]] void end_without_memory() { ::_exit(LineReader::kOutOfMemory); }

std::string text_or_empty(const char* text) { return text == nullptr ? "" : text; }

std::string name_of(Dwarf_Die& function) {
  Dwarf_Attribute attribute;
  for (const unsigned int linkage : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name})
    if (::dwarf_attr_integrate(&function, linkage, &attribute) != nullptr)
      if (const char* name = ::dwarf_formstring(&attribute); name != nullptr) return name;
  return text_or_empty(::dwarf_diename(&function));
}

uint64_t number_of(Dwarf_Die& die, unsigned int name) {
  Dwarf_Attribute attribute;
  Dwarf_Word number = 0;
  if (::dwarf_attr(&die, name, &attribute) == nullptr) return 0;
  return ::dwarf_formudata(&attribute, &number) == 0 ? number : 0;
}

// Adds the functions at the address, each inlined into the one before it. False: there are none.
bool add_functions(Dwarf_Die& parent, uint64_t address, int depth, std::vector<Dwarf_Die>& found) {
  Dwarf_Die die;
  if (depth == kMaxNesting) return false;
  for (int end = ::dwarf_child(&parent, &die); end == 0; end = ::dwarf_siblingof(&die, &die)) {
    const int tag = ::dwarf_tag(&die);
    if (tag == DW_TAG_namespace || tag == DW_TAG_module) {
      if (add_functions(die, address, depth + 1, found)) return true;
      continue;
    }
    const bool is_function = tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
    if (!is_function && tag != DW_TAG_lexical_block) continue;
    if (::dwarf_haspc(&die, address) <= 0) continue;
    if (is_function) found.push_back(die);
    add_functions(die, address, depth + 1, found);
    return true;
  }
  return false;
}

void set_line(SourceFunction& function, Dwarf_Line* line) {
  int number = 0;
  if (line == nullptr || ::dwarf_lineno(line, &number) != 0) return;
  function.file = text_or_empty(::dwarf_linesrc(line, nullptr, nullptr));
  function.line = static_cast<uint32_t>(number);
}

// Where an inlined function was called.
void set_call(SourceFunction& function, Dwarf_Die& unit, Dwarf_Die& inlined) {
  Dwarf_Files* files = nullptr;
  size_t count = 0;
  function.line = static_cast<uint32_t>(number_of(inlined, DW_AT_call_line));
  const uint64_t file = number_of(inlined, DW_AT_call_file);
  if (::dwarf_getsrcfiles(&unit, &files, &count) == 0 && file < count)
    function.file = text_or_empty(::dwarf_filesrc(files, file, nullptr, nullptr));
}

}  // namespace

struct LineReader::Dwarf {
  struct EndElf {
    void operator()(Elf* elf) const { ::elf_end(elf); }
  };
  struct EndDwarf {
    void operator()(::Dwarf* dwarf) const { ::dwarf_end(dwarf); }
  };

  // A file and its DWARF, which is freed first.
  struct File {
    std::unique_ptr<Elf, EndElf> elf;
    std::unique_ptr<::Dwarf, EndDwarf> dwarf;

    explicit File(int file) {
      if (file < 0) return;
      ::elf_version(EV_CURRENT);
      elf.reset(::elf_begin(file, ELF_C_READ_MMAP, nullptr));
      if (elf) dwarf.reset(::dwarf_begin_elf(elf.get(), DWARF_C_READ, nullptr));
    }
  };

  // Addresses of a compilation unit.
  struct UnitRange {
    uint64_t begin;
    uint64_t end;
    Dwarf_Off unit;
  };

  File shared;  // outlives what refers to it
  File file;
  std::vector<UnitRange> units = {};

  void find_units();
};

void LineReader::Dwarf::find_units() {
  ::Dwarf* dwarf = file.dwarf.get();
  Dwarf_Off next = 0;
  size_t header_size = 0;
  for (Dwarf_Off at = 0;
       ::dwarf_nextcu(dwarf, at, &next, &header_size, nullptr, nullptr, nullptr) == 0 && next > at;
       at = next) {
    Dwarf_Die unit;
    if (::dwarf_offdie(dwarf, at + header_size, &unit) == nullptr) continue;
    Dwarf_Addr base = 0, begin = 0, end = 0;
    for (ptrdiff_t range = 0; (range = ::dwarf_ranges(&unit, range, &base, &begin, &end)) > 0;)
      // The linker leaves functions that it has dropped at 0.
      if (begin != 0 && begin < end) units.push_back({begin, end, at + header_size});
  }
  std::ranges::sort(units, {}, &UnitRange::begin);
}

LineReader::LineReader(std::unique_ptr<Dwarf> dwarf) : dwarf_(std::move(dwarf)) {}
LineReader::LineReader(LineReader&&) noexcept = default;
LineReader::~LineReader() = default;

Result<LineReader> LineReader::open(int file, int shared) {
  auto dwarf = std::make_unique<Dwarf>(Dwarf::File(shared), Dwarf::File(file));
  ::Dwarf* opened = dwarf->file.dwarf.get();
  if (opened == nullptr) return fail(ExitCode::data, "{}", ::dwarf_errmsg(-1));
  ::dwarf_new_oom_handler(opened, end_without_memory);
  if (::Dwarf* other = dwarf->shared.dwarf.get(); other != nullptr) {
    ::dwarf_new_oom_handler(other, end_without_memory);
    ::dwarf_setalt(opened, other);
  }
  dwarf->find_units();
  return LineReader(std::move(dwarf));
}

std::vector<SourceFunction> LineReader::at(uint64_t address) const {
  const auto after = std::ranges::upper_bound(dwarf_->units, address, {}, &Dwarf::UnitRange::begin);
  if (after == dwarf_->units.begin() || address >= std::prev(after)->end) return {};
  Dwarf_Die unit;
  if (::dwarf_offdie(dwarf_->file.dwarf.get(), std::prev(after)->unit, &unit) == nullptr) return {};
  std::vector<Dwarf_Die> dies;
  add_functions(unit, address, 0, dies);
  std::vector<SourceFunction> functions(std::max(dies.size(), size_t{1}));
  set_line(functions.front(), ::dwarf_getsrc_die(&unit, address));
  auto function = functions.begin();
  for (auto die = dies.rbegin(); die != dies.rend(); ++die, ++function) {
    function->function = name_of(*die);
    if (die != dies.rbegin()) set_call(*function, unit, *std::prev(die));
  }
  return functions;
}

}  // namespace ktraced
