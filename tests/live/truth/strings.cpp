// SPDX-License-Identifier: BSD-2-Clause
// System calls with string arguments: long, odd, unmapped, and in memory that is not resident.
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <utility>

#include "truth.h"

namespace truth {
namespace {

constexpr size_t kKept = 256;  // bytes of a string

unsigned long number_of(const void* pointer) { return reinterpret_cast<unsigned long>(pointer); }

// Pages of memory at an address that 32-bit calls can have too.
char* pages(size_t count, int protection = PROT_READ | PROT_WRITE) {
  void* memory =
      ::mmap(nullptr, count * kPage, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
  if (memory == MAP_FAILED) die("mmap");
  return static_cast<char*>(memory);
}

// Pages of a file with this text at its beginning; none of them is resident.
char* absent_pages(size_t count, const std::string& text) {
  const auto file = static_cast<int>(check(::memfd_create("truth", MFD_CLOEXEC), "memfd_create"));
  check(::ftruncate(file, static_cast<off_t>(count * kPage)), "ftruncate");
  check(::pwrite(file, text.data(), text.size(), 0), "pwrite");
  void* memory = ::mmap(nullptr, count * kPage, PROT_READ, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) die("mmap");
  ::close(file);
  return static_cast<char*>(memory);
}

// The strings that the calls get, in order.
class StringBook {
 public:
  // The next string: argument `arg` of call `nr`. `text`: nothing is readable there, if null.
  void expect(long nr, int arg, const char* pointer, const std::string* text, bool absent = false) {
    json entry = {{"event", "sys_enter_string"},
                  {"nr", nr},
                  {"arg", arg},
                  {"pointer", number_of(pointer)},
                  {"length", 0},
                  {"cut", false},
                  {"unreadable", text == nullptr || absent},
                  {"text", ""}};
    const json unread = entry;
    if (text != nullptr) {
      entry["length"] = std::min(text->size(), kKept);
      entry["cut"] = text->size() > kKept;
      entry["text"] = text->substr(0, kKept);
    }
    strings_.push_back(absent || text == nullptr ? unread : entry);
    if (!absent && text != nullptr) return;
    entry["event"] = "sys_exit_string";
    entry["unreadable"] = text == nullptr;
    strings_.push_back(entry);
  }
  // A path that does not exist, or is relative to a directory that does not.
  void open(const char* pointer, const std::string* text, bool absent = false) {
    expect(SYS_openat, 1, pointer, text, absent);
    raw_syscall(SYS_openat, {~0UL, number_of(pointer), O_RDONLY, 0, 0, 0});
  }
  // The same with a text in memory that is resident.
  void open(const std::string& text) {
    char* memory = pages(text.size() / kPage + 1);
    std::memcpy(memory, text.c_str(), text.size() + 1);
    open(memory, &text);
  }
  [[nodiscard]] json report() { return std::move(strings_); }

 private:
  json strings_ = json::array();
};

void open_long_and_odd(StringBook& book) {
  for (const size_t length : {1U, 255U, 256U, 257U, 258U, 4000U})
    book.open("/nonexistent/" + std::string(length - std::min<size_t>(length, 13), 'x'));
  for (const size_t length : {255U, 256U, 257U, 258U, 5000U}) book.open(std::string(length, 'y'));
  book.open("");
  book.open("a \"quote\", a \\, a\nline, an \x1b and an é");
}

void open_crossing_pages(StringBook& book) {
  const std::string text = "/nonexistent/crossing";
  char* memory = pages(2);
  std::memcpy(memory + kPage - 5, text.c_str(), text.size() + 1);
  book.open(memory + kPage - 5, &text);
  check(::munmap(memory + kPage, kPage), "munmap");
  book.open(memory + kPage - 5, nullptr);  // goes on in memory that is not mapped
  const std::string fits = "fits";         // ends at the last byte before it
  std::memcpy(memory + kPage - 5, fits.c_str(), fits.size() + 1);
  book.open(memory + kPage - 5, &fits);
}

void open_bad_pointers(StringBook& book) {
  char* gone = pages(1);
  check(::munmap(gone, kPage), "munmap");
  for (const char* pointer :
       {static_cast<const char*>(nullptr), static_cast<const char*>(gone),
        static_cast<const char*>(pages(1, PROT_NONE)),
        reinterpret_cast<const char*>(0xffff888000000000), reinterpret_cast<const char*>(~0UL)})
    book.open(pointer, nullptr);
}

void open_absent_pages(StringBook& book) {
  const std::string text = "/nonexistent/absent";
  const char* memory = absent_pages(1, text);
  book.open(memory, &text, true);
  book.open(memory, &text);  // the call before has made it resident
  const std::string other = std::string(kPage - 8, '\0') + "/nonexistent/absent";
  const char* crossing = absent_pages(2, other) + kPage - 8;
  static_cast<void>(*static_cast<const volatile char*>(crossing));  // may make both pages resident
  check(::madvise(const_cast<char*>(crossing + 8), kPage, MADV_DONTNEED), "madvise");
  book.open(crossing, &text, true);
}

// Calls with several strings. No one may make these mounts, links and names.
void several_strings(StringBook& book) {
  static const std::string from = "/nonexistent/from", to = "/nonexistent/to", type = "truth";
  book.expect(SYS_rename, 0, from.c_str(), &from);
  book.expect(SYS_rename, 1, to.c_str(), &to);
  raw_syscall(SYS_rename, {number_of(from.c_str()), number_of(to.c_str()), 0, 0, 0, 0});
  book.expect(SYS_rename, 0, from.c_str(), &from);
  book.expect(SYS_rename, 1, nullptr, nullptr);
  raw_syscall(SYS_rename, {number_of(from.c_str()), 0, 0, 0, 0, 0});
  book.expect(SYS_symlinkat, 0, from.c_str(), &from);
  book.expect(SYS_symlinkat, 2, to.c_str(), &to);
  raw_syscall(SYS_symlinkat, {number_of(from.c_str()), ~0UL, number_of(to.c_str()), 0, 0, 0});
  for (int arg = 0; const std::string* text : {&from, &to, &type})
    book.expect(SYS_mount, arg++, text->c_str(), text);
  raw_syscall(SYS_mount,
              {number_of(from.c_str()), number_of(to.c_str()), number_of(type.c_str()), 0, 0, 0});
}

// connect() of no socket: the kernel looks at the address only after it has found the socket.
void connect_to(StringBook& book, const void* address, size_t length, const std::string& text) {
  const auto* pointer = static_cast<const char*>(address);
  book.expect(SYS_connect, 1, pointer, &text);
  raw_syscall(SYS_connect, {~0UL, number_of(address), length, 0, 0, 0});
}

void connect_addresses(StringBook& book) {
  sockaddr_in inet = {.sin_family = AF_INET,
                      .sin_port = htons(8080),
                      .sin_addr = {htonl(0x7f000001)},
                      .sin_zero = {}};
  connect_to(book, &inet, sizeof(inet), "127.0.0.1:8080");
  connect_to(book, &inet, sizeof(sa_family_t) + sizeof(in_port_t), "family 2");
  sockaddr_in6 inet6 = {};
  inet6.sin6_family = AF_INET6;
  inet6.sin6_port = htons(443);
  inet6.sin6_addr.s6_addr[0] = 0xfe;
  inet6.sin6_addr.s6_addr[15] = 0x1f;
  connect_to(book, &inet6, sizeof(inet6), "[fe00:0000:0000:0000:0000:0000:0000:001f]:443");
  inet6.sin6_scope_id = 2;
  connect_to(book, &inet6, sizeof(inet6), "[fe00:0000:0000:0000:0000:0000:0000:001f%2]:443");
  // Without its end the zone is none, and its bytes behind the end are not read.
  for (size_t length = offsetof(sockaddr_in6, sin6_scope_id); length < sizeof(inet6); ++length)
    connect_to(book, &inet6, length, "[fe00:0000:0000:0000:0000:0000:0000:001f]:443");
  sockaddr_un local = {.sun_family = AF_UNIX, .sun_path = "/run/truth.sock"};
  connect_to(book, &local, sizeof(local), "/run/truth.sock");
  connect_to(book, &local, sizeof(sa_family_t) + 4, "/run");
  connect_to(book, &local, sizeof(sa_family_t), "");
  connect_to(book, &local, 1, "");
  std::memset(local.sun_path, 'p', sizeof(local.sun_path));
  connect_to(book, &local, sizeof(local), std::string(sizeof(local.sun_path), 'p'));
  local.sun_path[0] = '\0';
  connect_to(book, &local, sizeof(sa_family_t) + 6, "@ppppp");
  connect_to(book, &local, sizeof(local), "@" + std::string(sizeof(local.sun_path) - 1, 'p'));
  std::memcpy(local.sun_path, "\0one\0two\0", 9);
  connect_to(book, &local, sizeof(sa_family_t) + 9, "@one@two@");
  sockaddr other = {.sa_family = AF_NETLINK, .sa_data = {}};
  connect_to(book, &other, sizeof(other), "family 16");
  book.expect(SYS_connect, 1, nullptr, nullptr);
  raw_syscall(SYS_connect, {~0UL, 0, sizeof(inet), 0, 0, 0});
}

}  // namespace

// A path through the 32-bit entry.
json open_ia32() {
  constexpr unsigned kIa32Open = 5;
  const std::string text = "/nonexistent/ia32";
  char* memory = pages(1);
  std::memcpy(memory, text.c_str(), text.size() + 1);
  ia32_call(kIa32Open, {static_cast<unsigned>(number_of(memory)), O_RDONLY, 0, 0, 0});
  return {{"nr", kIa32Open}, {"pointer", number_of(memory)}, {"text", text}};
}

// strings: calls that fail, and the strings that they get; "strings ia32": one of a 32-bit call.
json string_arguments(Arguments words) {
  if (!words.empty()) return open_ia32();
  StringBook book;
  open_long_and_odd(book);
  open_crossing_pages(book);
  open_bad_pointers(book);
  open_absent_pages(book);
  several_strings(book);
  connect_addresses(book);
  return {{"strings", book.report()}};
}

}  // namespace truth
