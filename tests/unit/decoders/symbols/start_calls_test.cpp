// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/symbols/start_calls.h"

#include <dlfcn.h>
#include <elf.h>
#include <execinfo.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "decoders/symbols/elf_symbols.h"
#include "unit/support/shapes.h"

namespace ktraced {
namespace {

using test::OwnFiles;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kAddress = 0x401000;  // of the code
constexpr uint64_t kExit = kAddress + 0x1000;

struct Export {
  std::string name;
  uint64_t address = kExit + 0x1000;
  uint64_t size = 16;
};
const std::vector<Export> kGlibc = {{.name = "exit", .address = kExit},
                                    {.name = "pthread_create"},
                                    {.name = "gnu_get_libc_version"}};

std::vector<Export> glibc_without(const std::string& name) {
  std::vector<Export> exports = kGlibc;
  std::erase_if(exports, [&](const Export& one) { return one.name == name; });
  return exports;
}

// The bytes of a header, or of a distance in code.
std::string raw_bytes(const auto& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}
std::string distance(int64_t from, int64_t to) {
  return raw_bytes(static_cast<int32_t>(to - from));
}

// A stripped library for x86-64. `size`: of the section of its code, which goes on behind it.
std::string library(std::string code, const std::vector<Export>& exports, size_t size) {
  std::string names(1, '\0'), symbols(sizeof(Elf64_Sym), '\0');
  for (const Export& one : exports) {
    symbols += raw_bytes(Elf64_Sym{.st_name = static_cast<uint32_t>(names.size()),
                                   .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                                   .st_other = 0,
                                   .st_shndx = 1,
                                   .st_value = one.address,
                                   .st_size = one.size});
    names += one.name + '\0';
  }
  code.resize((code.size() + 15) / 16 * 16, '\0');
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = header.e_version = EV_CURRENT;
  header.e_type = ET_DYN;
  header.e_machine = EM_X86_64;
  header.e_ehsize = sizeof header;
  header.e_shoff = sizeof header;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 4;
  header.e_shstrndx = 3;
  std::array<Elf64_Shdr, 4> sections{};
  uint64_t offset = sizeof header + sizeof sections;
  auto place = [&](Elf64_Shdr& section, uint32_t type, const std::string& content) {
    section.sh_type = type;
    section.sh_offset = offset;
    section.sh_size = content.size();
    section.sh_addralign = 8;
    offset += content.size();
  };
  place(sections[1], SHT_PROGBITS, code);
  sections[1].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
  sections[1].sh_addr = kAddress;
  sections[1].sh_size = size;
  place(sections[2], SHT_DYNSYM, symbols);
  sections[2].sh_link = 3;
  sections[2].sh_entsize = sizeof(Elf64_Sym);
  place(sections[3], SHT_STRTAB, names);
  return raw_bytes(header) + raw_bytes(sections) + code + symbols + names;
}
std::string library(const std::string& code, const std::vector<Export>& exports = kGlibc) {
  return library(code, exports, code.size());
}

// "NAME+OFFSET" at each byte of the first 256 that has a name, with its distance from the code.
std::vector<std::string> names_in(const std::string& bytes) {
  const OwnFiles files;
  const auto file = ElfFile::open(files.write("file", bytes));
  EXPECT_TRUE(file) << file.error().message;
  const auto names = elf_symbols(*file, SymbolSource::exported);
  EXPECT_TRUE(names) << names.error().message;
  EXPECT_TRUE(elf_symbols(*file, SymbolSource::all)->empty());
  std::vector<std::string> found;
  for (uint64_t at = 0; at < 256; at++)
    if (const auto name = names->at(kAddress + at))
      found.push_back(std::to_string(at) + " " + std::string(name->name) + "+" +
                      std::to_string(name->offset));
  return found;
}

const std::string kCall = "\xff\xd0";  // call *%rax
const std::string kStore("\x64\x48\x89\x04\x25\x28\x06\0\0", 9);
const std::string kInt = "\x48\x98";

// A call, `before` bytes from the beginning of the code, whose result is what exit() gets.
std::string call_of_main(size_t before = 0, const std::string& call = kCall) {
  const auto end = static_cast<int64_t>(kAddress + before + call.size() + 7);
  return call + "\x89\xc7\xe8" + distance(end, static_cast<int64_t>(kExit));
}

TEST(StartCalls, NamesTheLastByteOfTheCallOfMain) {
  EXPECT_THAT(names_in(library(call_of_main())), ElementsAre("1 __libc_start_call_main+0"));
  EXPECT_THAT(names_in(library(std::string(16, '\x90') + call_of_main(16))),
              ElementsAre("17 __libc_start_call_main+0"));
}

TEST(StartCalls, KnowsIndirectCalls) {
  const std::vector<std::string> calls = {
      std::string("\xff\xd3", 2),                      // *%rbx
      std::string("\x41\xff\xd6", 3),                  // *%r14
      std::string("\xff\x10", 2),                      // *(%rax)
      std::string("\xff\x55\x08", 3),                  // *0x8(%rbp)
      std::string("\xff\x54\x24\x18", 4),              // *0x18(%rsp)
      std::string("\xff\x93\x38\x06\0\0", 6),          // *0x638(%rbx)
      std::string("\xff\x15\x38\x06\0\0", 6),          // *0x638(%rip)
      std::string("\xff\x94\x24\x38\x06\0\0", 7),      // *0x638(%rsp)
      std::string("\x64\xff\x14\x25\x40\x06\0\0", 8),  // *%fs:0x640
  };
  for (const std::string& call : calls)
    EXPECT_THAT(names_in(library(call_of_main(0, call))),
                ElementsAre(std::to_string(call.size() - 1) + " __libc_start_call_main+0"));
  const std::vector<std::string> others = {
      std::string("\xe8\0\0\0\0", 5),      // a direct call
      std::string("\xff\xe0", 2),          // jmp *%rax
      std::string("\xff\xd0\x90", 3),      // nothing returns behind the nop
      std::string("\xff\x93\x38\x06", 4),  // cut
      std::string("\xd0", 1),
      std::string(),
  };
  for (const std::string& call : others)
    EXPECT_THAT(names_in(library(call_of_main(0, call))), IsEmpty()) << call.size();
}

TEST(StartCalls, NamesTheCallsOfARoutine) {
  EXPECT_THAT(names_in(library(kCall + kStore)), ElementsAre("1 start_thread+0"));
  EXPECT_THAT(names_in(library(kCall + kInt + kStore)), ElementsAre("1 start_thread+0"));
  const std::string both = kCall + kInt + kStore;  // the store is at 4
  const auto from = static_cast<int64_t>(both.size() + kCall.size() + 5);
  EXPECT_THAT(names_in(library(both + kCall + "\xe9" + distance(from, 4))),
              ElementsAre("1 start_thread+0", "14 start_thread+0"));
  EXPECT_THAT(names_in(library(kCall + "\xeb\x03" + "\x90\x90\x90" + kStore)),
              ElementsAre("1 start_thread+0"));
}

TEST(StartCalls, NamesNothingWithoutAllEvidence) {
  const std::string code = call_of_main() + kCall + kStore;
  const std::vector<std::string> both = {"1 __libc_start_call_main+0", "10 start_thread+0"};
  EXPECT_EQ(names_in(library(code)), both);
  EXPECT_EQ(names_in(library(code, glibc_without("pthread_create"))), std::vector{both[0]});
  EXPECT_EQ(names_in(library(code, glibc_without("exit"))), std::vector{both[1]});
  EXPECT_EQ(names_in(library(code, glibc_without("gnu_get_libc_version"))), std::vector{both[1]})
      << "another libc calls its function otherwise";
  EXPECT_THAT(names_in(library(code, {})), IsEmpty());
  std::string of_arm = library(code);
  reinterpret_cast<Elf64_Ehdr*>(of_arm.data())->e_machine = EM_AARCH64;
  EXPECT_THAT(names_in(of_arm), IsEmpty());
  std::string elsewhere = call_of_main();
  elsewhere[5]++;
  EXPECT_THAT(names_in(library(elsewhere)), IsEmpty()) << "not to exit()";
  const std::string of_thread("\x64\x48\x89\x04\x25\xf8\xff\xff\xff", 9);
  EXPECT_THAT(names_in(library(kCall + of_thread)), IsEmpty()) << "a variable of the thread";
}

TEST(StartCalls, NamesNoneOfSeveralPlaces) {
  EXPECT_THAT(names_in(library(call_of_main() + call_of_main(9))), IsEmpty());
  EXPECT_THAT(names_in(library(kCall + kStore + kCall + kStore)), IsEmpty());
  std::string three = kCall + kStore;
  for (int i = 0; i < 2; i++) {
    const auto from = static_cast<int64_t>(three.size() + kCall.size() + 5);
    three += kCall + "\xe9" + distance(from, 2);
  }
  EXPECT_THAT(names_in(library(three)), IsEmpty());
}

TEST(StartCalls, NeverNamesWhatASymbolHas) {
  std::vector<Export> exports = kGlibc;
  exports.push_back({.name = "known", .address = kAddress, .size = 4});
  EXPECT_THAT(names_in(library(call_of_main(), exports)),
              ElementsAre("0 known+0", "1 known+1", "2 known+2", "3 known+3"));
}

TEST(StartCalls, ReadsNothingBehindTheCode) {
  const auto back = [](const std::string& before) {
    return before + kCall + "\xe9" + distance(static_cast<int64_t>(before.size()) + 7, 2);
  };
  for (const std::string& code : {call_of_main(), kCall + kStore, kCall + kInt + kStore,
                                  kCall + std::string("\xeb\0", 2) + kStore, back(kCall + kStore)})
    for (size_t size = 0; size < code.size(); size++) {
      const bool has_first = code.size() > 13 && size >= 11 && code.substr(2, 9) == kStore;
      EXPECT_EQ(names_in(library(code, kGlibc, size)).size(), has_first ? 1U : 0U) << size;
    }
  // Jumps to before and behind the code.
  for (const int32_t far : {INT32_MIN, -8, 0, 1, INT32_MAX})
    EXPECT_THAT(names_in(library(kCall + "\xe9" + raw_bytes(far), kGlibc, 7)), IsEmpty());
}

TEST(StartCalls, ReadsNoHugeCode) {
  const std::string code = call_of_main() + kCall + kStore;
  EXPECT_EQ(names_in(library(code + std::string(size_t{15} << 20, '\x90'))).size(), 2U);
  EXPECT_THAT(names_in(library(code + std::string(size_t{16} << 20, '\x90'))), IsEmpty());
  EXPECT_THAT(names_in(library(code, kGlibc, size_t{1} << 20)), IsEmpty()) << "not in the file";
}

#ifdef __x86_64__
// The names that exported symbols give to the callers of this function.
std::set<std::string> callers_in_libc() {
  std::array<void*, 256> frames{};
  const int count = ::backtrace(frames.data(), static_cast<int>(frames.size()));
  Dl_info libc{};
  EXPECT_NE(::dladdr(::dlsym(RTLD_DEFAULT, "gnu_get_libc_version"), &libc), 0);
  const auto file = ElfFile::open(libc.dli_fname);
  EXPECT_TRUE(file) << file.error().message;
  const auto names = elf_symbols(*file, SymbolSource::exported);
  EXPECT_TRUE(names) << names.error().message;
  std::set<std::string> found;
  for (int i = 0; i < count; i++) {
    Dl_info info{};
    if (::dladdr(frames.at(i), &info) == 0 || info.dli_fbase != libc.dli_fbase) continue;
    const auto at =
        reinterpret_cast<uint64_t>(frames.at(i)) - reinterpret_cast<uint64_t>(libc.dli_fbase) - 1;
    if (const auto name = names->at(at)) found.emplace(name->name);
  }
  return found;
}

TEST(StartCalls, AreKnownInTheLibcOfThisMachine) {
  EXPECT_THAT(callers_in_libc(), Contains("__libc_start_call_main"));
  std::set<std::string> of_thread;
  std::thread([&] { of_thread = callers_in_libc(); }).join();
  EXPECT_THAT(of_thread, Contains("start_thread"));
}
#endif

}  // namespace
}  // namespace ktraced
