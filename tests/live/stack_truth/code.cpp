// SPDX-License-Identifier: BSD-2-Clause
#include "code.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string_view>

namespace stack_truth {
namespace {

constexpr size_t kPage = 4096;
constexpr std::string_view kGnu("GNU", 4);  // the owner of a note, with the NUL

// long through(Next next, Call& call) { return next(call); } with a frame pointer.
constexpr std::array<unsigned char, 14> kCode = {
    0x55,              // push %rbp
    0x48, 0x89, 0xe5,  // mov %rsp, %rbp
    0x48, 0x89, 0xf8,  // mov %rdi, %rax
    0x48, 0x89, 0xf7,  // mov %rsi, %rdi
    0xff, 0xd0,        // call *%rax
    0x5d,              // pop %rbp
    0xc3,              // ret
};

struct Search {
  uint64_t address;
  bool found;
  FilePlace place;
};

// The build id in the notes of a segment.
std::string build_id_in(const char* notes, size_t size) {
  const auto padded = [](size_t bytes) { return (bytes + 3) / 4 * 4; };
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes, sizeof(note));
    const char* name = notes + sizeof(note);
    const size_t bytes = sizeof(note) + padded(note.n_namesz) + padded(note.n_descsz);
    if (bytes > size) break;
    if (note.n_type == NT_GNU_BUILD_ID && std::string_view(name, note.n_namesz) == kGnu) {
      std::string text;
      for (size_t i = 0; i < note.n_descsz; ++i) {
        std::array<char, 3> digits{};
        std::snprintf(digits.data(), digits.size(), "%02x",
                      static_cast<unsigned char>(name[padded(note.n_namesz) + i]));
        text += digits.data();
      }
      return text;
    }
    notes += bytes;
    size -= bytes;
  }
  return {};
}

int search_object(dl_phdr_info* object, size_t, void* argument) {
  auto& search = *static_cast<Search*>(argument);
  FilePlace place;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    const uint64_t begin = object->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && search.address >= begin &&
        search.address - begin < segment.p_filesz) {
      search.found = true;
      place.offset = segment.p_offset + (search.address - begin);
    }
    if (segment.p_type == PT_NOTE && place.build_id.empty())
      place.build_id = build_id_in(reinterpret_cast<const char*>(begin), segment.p_memsz);
  }
  if (search.found) search.place = place;
  return search.found ? 1 : 0;
}

}  // namespace

void die(const std::string& what) {
  std::fprintf(stderr, "stack_truth: %s: %s\n", what.c_str(), std::strerror(errno));
  std::exit(1);
}

Library::Library(const std::string& path) : handle_(::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ == nullptr) die("cannot open " + path);
  function_ = reinterpret_cast<Through>(::dlsym(handle_, "through_library"));
  const auto get_range = reinterpret_cast<void (*)(Range&)>(::dlsym(handle_, "range_of_library"));
  if (function_ == nullptr || get_range == nullptr) die("the library lacks its functions");
  get_range(range_);
}

Library::~Library() { ::dlclose(handle_); }

Range make_function() {
  void* page = ::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) die("mmap");
  std::memcpy(page, kCode.data(), kCode.size());
  if (::mprotect(page, kPage, PROT_READ | PROT_EXEC) != 0) die("mprotect");
  const auto begin = reinterpret_cast<uint64_t>(page);
  return {.begin = begin, .end = begin + kCode.size()};
}

std::string write_perf_map(const Range& function, const std::string& name) {
  const std::string path = "/tmp/perf-" + std::to_string(::getpid()) + ".map";
  std::ofstream file(path, std::ios::app);
  file << std::hex << function.begin << ' ' << function.end - function.begin << ' ' << name << '\n'
       << std::flush;
  if (!file) die("cannot write " + path);
  return path;
}

FilePlace place_of(uint64_t address) {
  Search search{.address = address, .found = false, .place = {}};
  ::dl_iterate_phdr(search_object, &search);
  if (!search.found) die("an address is in no file");
  return search.place;
}

Mappers::Mappers(int threads) {
  for (int i = 0; i < threads; ++i)
    threads_.emplace_back([this] {
      constexpr size_t kBytes = 16 * kPage;
      while (!ending_) {
        void* code =
            ::mmap(nullptr, kBytes, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (code == MAP_FAILED) die("mmap");
        ::munmap(code, kBytes);
        ++mapped_;
      }
    });
}

Mappers::~Mappers() {
  ending_ = true;
  for (std::thread& thread : threads_) thread.join();
}

}  // namespace stack_truth
