// SPDX-License-Identifier: BSD-2-Clause
// A program or library. Symbols have names of limited length, as they are and as the source has
// them. Lines are read by another process, whose end is an error like others.
#include "decoders/symbols/elf_symbols.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <span>

#include "base/hash.h"
#include "decoders/symbols/demangle.h"
#include "decoders/symbols/source_lines.h"
#include "fuzz/fuzz.h"

namespace ktraced::fuzz {
namespace {

constexpr size_t kMaxDemangled = size_t{64} << 10;

Result<ElfFile> elf_of(std::string_view bytes) {
  Fd file(::memfd_create("fuzz", MFD_CLOEXEC));
  require(
      file && ::write(file.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()),
      "there is a file");
  return ElfFile::read(std::move(file), "input");
}

void check_symbols(const ElfFile& file, SymbolSource source) {
  const auto names = elf_symbols(file, source);
  if (!names) return require_error(names.error(), ExitCode::data);
  for (uint64_t offset = 0; offset < 0x4000; offset += 16) {
    const auto address = file.address_of(offset);
    const auto found = address ? names->at(*address) : std::nullopt;
    if (!found) continue;
    require(!found->name.empty(), "a symbol has a name");
    require(found->offset <= *address, "a symbol begins before what is in it", found->name);
    const std::string name(found->name);
    require(demangled(name).size() <= std::max(name.size(), kMaxDemangled), "a name is short",
            name);
  }
}

// A process for each input would take most of the time: one for each of 64.
void check_lines(const ElfFile& file, std::string_view input) {
  Hash hash;
  hash.add(std::as_bytes(std::span(input)));
  if (hash.value() % 64 != 0 || !file.has_section(".debug_info")) return;
  auto lines = SourceLines::start(file, nullptr);
  if (!lines) return require_message(lines.error());
  for (uint64_t offset = 0x1000; offset < 0x1100; offset += 16) {
    const auto address = file.address_of(offset);
    const auto functions = address ? lines->at(*address) : std::vector<SourceFunction>();
    if (!functions) return require_error(functions.error(), ExitCode::data);
  }
}

}  // namespace

void check_input(std::string_view input) {
  const auto file = elf_of(input);
  if (!file) return require_error(file.error(), ExitCode::data);
  (void)file->section_text(".gnu_debugaltlink");
  check_symbols(*file, SymbolSource::all);
  check_symbols(*file, SymbolSource::exported);
  check_lines(*file, input);
}

}  // namespace ktraced::fuzz
