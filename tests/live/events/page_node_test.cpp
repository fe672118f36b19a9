// SPDX-License-Identifier: BSD-2-Clause
// The NUMA node of memory.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "harness/client/stream.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

// What a process does that takes memory of each of the first `count` nodes.
struct MemoryOfNodes {
  json expected;
  Trace trace;
};
MemoryOfNodes trace_memory_of_nodes(int count) {
  Daemon daemon(json{{"events", {{"kmem", true}}}, {"stream", {{"buffer_kb", 16384}}}});
  WaitingTruth truth({"nodes", std::to_string(count)});
  daemon.set_filter({{"pid", {truth.pid()}}});
  Stream stream(daemon);
  json expected = truth.act();
  return {.expected = std::move(expected), .trace = stream.finish()};
}

// A policy binds only the pages that a process asks for. Objects may be in slabs that were there
// before, which belong to the CPU and so to its node.
void expect_memory_of(const json& node, const MemoryOfNodes& actual) {
  size_t pages = 0;
  for (const json& event : actual.trace.events("mm_page_alloc", actual.expected["pid"])) {
    if (event["cpu"] != node["node"] || !name_of(event, "gfp_flags").contains("GFP_HIGHUSER"))
      continue;
    EXPECT_EQ(number_of(event, "page_node"), node["node"]) << event;
    ++pages;
  }
  EXPECT_GE(pages, node["pages"].get<size_t>());
  size_t messages = 0, elsewhere = 0;
  for (const json& event : actual.trace.events("kmalloc", actual.expected["pid"])) {
    if (number_of(event, "bytes_req") != node["message_size"]) continue;
    ++messages;
    elsewhere += number_of(event, "page_node") == node["node"] ? 0 : 1;
  }
  EXPECT_EQ(messages, node["messages"].get<size_t>());
  EXPECT_LE(elsewhere, messages / 10);
}

TEST(PageNode, IsZeroOnAMachineWithOneNode) {
  const MemoryOfNodes actual = trace_memory_of_nodes(1);
  expect_memory_of(actual.expected["nodes"][0], actual);
  for (const char* event : {"kmalloc", "kmem_cache_alloc", "mm_page_alloc"})
    for (const json& each : actual.trace.events(event, actual.expected["pid"]))
      EXPECT_EQ(number_of(each, "page_node"), 0) << each;
}

// On a machine with two nodes, each with a CPU.
TEST(TwoNodes, PageNodeIsThatOfTheMemory) {
  const MemoryOfNodes actual = trace_memory_of_nodes(2);
  ASSERT_EQ(actual.trace.lost(), 0);
  for (const json& node : actual.expected["nodes"]) expect_memory_of(node, actual);
  for (const char* event : {"kmalloc", "kmem_cache_alloc", "mm_page_alloc"})
    for (const json& each : actual.trace.events(event, actual.expected["pid"]))
      EXPECT_GE(number_of(each, "page_node"), 0) << each;
}

}  // namespace
}  // namespace ktraced::live
