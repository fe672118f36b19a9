// SPDX-License-Identifier: BSD-2-Clause
// The functions of a program or library, by its symbol tables.
#pragma once

#include <cstdint>

#include "base/error.h"
#include "decoders/symbols/address_names.h"
#include "trace/symbols/elf_file.h"

namespace ktraced {

// Where ELF files have symbols.
enum class SymbolSource : uint8_t {
  all,       // .symtab: every function, unless the file is stripped
  exported,  // .dynsym: what other files may call
};

// The functions of a file by the addresses at which it was linked; empty if it lacks the table, and
// as mangled as they are there. Of several names of the same function the one that other files see
// comes before a weak one, that before a local one, and "malloc" before "__malloc". A function
// whose size is not known, written in assembly, ends where the next begins, or with its section;
// where only exported functions are known, it is left out, because others may follow it. Then the
// calls that start_calls() finds are named as well, where no symbol is: only their last bytes.
//
// Fails with ExitCode::data if the table is damaged or larger than AddressNames can hold.
[[nodiscard]] Result<AddressNames> elf_symbols(const ElfFile& file, SymbolSource source);

}  // namespace ktraced
