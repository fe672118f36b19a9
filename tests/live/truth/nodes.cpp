// SPDX-License-Identifier: BSD-2-Clause
// Work that takes memory of certain NUMA nodes.
#include <linux/mempolicy.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "truth.h"

namespace truth {
namespace {

void bind_to_node(int node) {
  const unsigned long nodes = 1UL << node;
  check(::syscall(SYS_set_mempolicy, MPOL_BIND, &nodes, 8 * sizeof(nodes)), "set_mempolicy");
}

void touch_pages(size_t pages) {
  auto* memory = static_cast<char*>(
      ::mmap(nullptr, pages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ::madvise(memory, pages * kPage, MADV_NOHUGEPAGE);
  for (size_t page = 0; page < pages; ++page) static_cast<volatile char*>(memory)[page * kPage] = 1;
}

// Leaves messages in queues, so that they need new slabs. Then removes the queues.
void hold_messages(size_t length, int count) {
  constexpr int kOfQueue = 16;
  struct {
    long type;
    std::array<char, 4000> text;
  } message = {1, {}};
  std::vector<int> queues;
  for (int i = 0; i < count; ++i) {
    if (i % kOfQueue == 0)
      queues.push_back(static_cast<int>(check(::msgget(IPC_PRIVATE, 0600), "msgget")));
    check(::msgsnd(queues.back(), &message, length, IPC_NOWAIT), "msgsnd");
  }
  for (const int queue : queues) ::msgctl(queue, IPC_RMID, nullptr);
}

}  // namespace

// nodes NODES: on each CPU below NODES, which is of the node with the same number, touches pages
// and sends messages with memory of that node only. Reports for each node the number of pages, the
// number of messages and the size that these request from kmalloc.
json memory_of_nodes(Arguments arguments) {
  constexpr size_t kPages = 64;
  constexpr int kMessages = 256;
  json nodes = json::array();
  for (int node = 0; node < number(arguments, 0, 1); ++node) {
    pin_to_cpu(node);
    bind_to_node(node);
    const size_t length = 811 + static_cast<size_t>(node);
    touch_pages(kPages);
    hold_messages(length, kMessages);
    nodes.push_back({{"node", node},
                     {"pages", kPages},
                     {"messages", kMessages},
                     {"message_size", length + kMessageHeader}});
  }
  return {{"nodes", nodes}};
}

}  // namespace truth
