// SPDX-License-Identifier: BSD-2-Clause
// Memory that is mapped and touched, and files that come and go.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <tuple>

#include "actions.h"
#include "base/fd.h"

namespace noise {
namespace {

using ktraced::Fd;

constexpr size_t kPage = 4096;

void touch(void* memory, size_t pages) {
  for (size_t page = 0; page < pages; ++page) static_cast<volatile char*>(memory)[page * kPage] = 1;
}

// One of a few names, so that the number of files stays small.
std::string file_name(Dice& dice, const World& world) {
  constexpr std::array kNames = std::to_array<const char*>(
      {"a", "b", "c", "d", "two words", "\"quoted\"\\n", "tab\tand\nline", "\xff\xfe", "é"});
  return world.directory / dice.pick(kNames);
}

}  // namespace

void map_memory(Dice& dice, World&) {
  const size_t pages = dice.between(2, 64), length = pages * kPage;
  const Fd file(dice.coin() ? ::memfd_create("noise", MFD_CLOEXEC) : -1);
  if (file) std::ignore = ::ftruncate(file.get(), static_cast<off_t>(length));
  const int flags = file ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
  void* memory = ::mmap(nullptr, length, PROT_READ | PROT_WRITE, flags, file.get(), 0);
  if (memory == MAP_FAILED) return;
  touch(memory, pages);
  std::ignore = ::mprotect(memory, kPage, PROT_READ);
  std::ignore = ::madvise(memory, length, MADV_DONTNEED);
  std::ignore = ::munmap(memory, length);
}

// In a child, because this program's own heap grows by brk too.
void grow_heap(Dice& dice, World& world) {
  const size_t pages = dice.between(1, 256);
  world.children.run([pages] {
    void* memory = ::sbrk(static_cast<intptr_t>(pages * kPage));
    if (memory == reinterpret_cast<void*>(-1)) return 1;
    touch(memory, pages);
    return ::sbrk(-static_cast<intptr_t>(pages * kPage)) == nullptr ? 1 : 0;
  });
}

void write_file(Dice& dice, World& world) {
  std::array<char, kPage> text;
  text.fill('n');
  const Fd file(::open(file_name(dice, world).c_str(),
                       O_RDWR | O_CREAT | O_CLOEXEC | (dice.coin() ? O_TRUNC : 0), 0600));
  for (uint64_t left = dice.between(1, 8); left > 0; --left)
    std::ignore = ::write(file.get(), text.data(), dice.between(1, text.size()));
  std::ignore = ::ftruncate(file.get(), static_cast<off_t>(dice.below(8 * kPage)));
  std::ignore = ::lseek(file.get(), 0, SEEK_SET);
  while (::read(file.get(), text.data(), text.size()) > 0) {
  }
}

void rename_file(Dice& dice, World& world) {
  const std::string from = file_name(dice, world), to = file_name(dice, world);
  std::ignore = ::rename(from.c_str(), to.c_str());
}

void link_file(Dice& dice, World& world) {
  const std::string from = file_name(dice, world), to = file_name(dice, world);
  std::ignore = dice.coin() ? ::link(from.c_str(), to.c_str()) : ::symlink("nowhere", to.c_str());
}

void remove_file(Dice& dice, World& world) {
  std::ignore = ::unlink(file_name(dice, world).c_str());
}

void make_directory(Dice& dice, World& world) {
  const std::string path = file_name(dice, world);
  std::ignore = ::mkdir(path.c_str(), 0700);
  std::ignore = ::rmdir(path.c_str());
}

}  // namespace noise
