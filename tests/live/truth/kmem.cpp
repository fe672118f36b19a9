// SPDX-License-Identifier: BSD-2-Clause
// Work that makes the kernel allocate memory of known sizes.
#include <fcntl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "truth.h"

namespace truth {
namespace {

constexpr size_t kPipeBuffer = 40;  // struct pipe_buffer

// Sends and receives messages; reports the sizes requested from kmalloc.
json send_messages() {
  struct {
    long type;
    std::array<char, 4000> text;
  } message = {1, {}};
  json sizes = json::array();
  int queue = static_cast<int>(check(::msgget(IPC_PRIVATE, 0600), "msgget"));
  for (size_t length : {101, 1003, 1999, 3511}) {
    check(::msgsnd(queue, &message, length, 0), "msgsnd");
    check(::msgrcv(queue, &message, message.text.size(), 0, 0), "msgrcv");
    sizes.push_back(length + kMessageHeader);
  }
  ::msgctl(queue, IPC_RMID, nullptr);
  return sizes;
}

// Makes the ring of a pipe 32 buffers long; returns the size requested from kmalloc.
size_t resize_pipe(int pipe) {
  constexpr size_t kBuffers = 32;
  check(::fcntl(pipe, F_SETPIPE_SZ, kBuffers * kPage), "F_SETPIPE_SZ");
  return kBuffers * kPipeBuffer;
}

long fill_pipe(const int ends[2], long pages) {
  std::vector<char> page(kPage);
  for (long i = 0; i < pages; ++i) check(::write(ends[1], page.data(), page.size()), "write");
  return pages;
}

}  // namespace

// kmem [OPENS]: messages, a pipe and OPENS times open and close of a file.
json kernel_memory(Arguments arguments) {
  json messages = send_messages();
  int ends[2];
  check(::pipe(ends), "pipe");
  size_t ring = resize_pipe(ends[0]);
  long pages = fill_pipe(ends, 20);
  ::close(ends[0]);
  ::close(ends[1]);
  long opens = number(arguments, 0, 100);
  for (long i = 0; i < opens; ++i)
    ::close(static_cast<int>(check(::open("/dev/null", O_RDONLY), "open")));
  return {{"message_sizes", messages},
          {"pipe_ring_size", ring},
          {"pipe_pages", pages},
          {"opens", opens}};
}

// messages SENT RECEIVED [LENGTH]: sends messages, receives some of them and leaves the others in
// their queue, which outlives this process. Reports the queue's number and the size requested from
// kmalloc.
json leave_messages(Arguments arguments) {
  const long sent = number(arguments, 0, 10), received = number(arguments, 1, 0);
  struct {
    long type;
    std::array<char, 4000> text;
  } message = {1, {}};
  const auto length = static_cast<size_t>(number(arguments, 2, 607));
  const auto queue = static_cast<int>(check(::msgget(IPC_PRIVATE, 0600), "msgget"));
  for (long i = 0; i < sent; ++i) check(::msgsnd(queue, &message, length, IPC_NOWAIT), "msgsnd");
  for (long i = 0; i < received; ++i)
    check(::msgrcv(queue, &message, message.text.size(), 0, 0), "msgrcv");
  return {{"queue", queue}, {"size", length + kMessageHeader}};
}

// oom CGROUP: a child takes more memory than CGROUP allows and is killed for it.
json out_of_memory(Arguments arguments) {
  if (arguments.empty()) die("oom needs a control group");
  pid_t child = static_cast<pid_t>(check(::fork(), "fork"));
  if (child == 0) {
    std::ofstream(arguments[0] + "/cgroup.procs") << ::getpid() << std::flush;
    constexpr size_t kTooMuch = 256UL << 20;
    auto* memory = static_cast<volatile char*>(
        ::mmap(nullptr, kTooMuch, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    for (size_t at = 0; at < kTooMuch; at += kPage) memory[at] = 1;
    ::_exit(0);
  }
  json end = reap(child);
  if (end["signal"] != SIGKILL) die("the child was not killed");
  return {{"victim", child}, {"uid", ::getuid()}};
}

}  // namespace truth
