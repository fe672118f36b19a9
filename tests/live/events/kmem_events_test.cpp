// SPDX-License-Identifier: BSD-2-Clause
// Slab and page allocator events.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "harness/client/stream.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

// All kmem events of one process that makes known allocations.
class KmemTrace {
 public:
  KmemTrace() {
    WaitingTruth truth({"kmem", "50"});
    Daemon daemon(json{{"events", {{"kmem", true}}},
                       {"filter", {{"pid", {truth.pid()}}}},
                       {"stream", {{"buffer_kb", 16384}}}});
    Stream stream(daemon);
    expected_ = truth.act();
    trace_ = stream.finish();
    EXPECT_EQ(trace_.lost(), 0);
  }

  void expect_messages() const {
    for (const json& size : expected_["message_sizes"]) {
      auto found = kmallocs_of(size);
      ASSERT_GE(found.size(), 1U) << "no kmalloc of " << size << " bytes";
      const json& event = found.front();
      EXPECT_GE(number_of(event, "bytes_alloc"), number_of(event, "bytes_req"));
      EXPECT_LT(number_of(event, "bytes_alloc"), 2 * number_of(event, "bytes_req"));
      EXPECT_TRUE(followed_by(event, "kfree", "ptr"));
    }
  }
  void expect_names_of_gfp_flags() const {
    auto found = kmallocs_of(expected_["pipe_ring_size"].get<uint64_t>());
    ASSERT_GE(found.size(), 1U);
    std::vector<std::string> names;  // each kernel has its own order
    std::istringstream text(name_of(found[0], "gfp_flags"));
    for (std::string name; std::getline(text, name, '|');) names.push_back(name);
    EXPECT_THAT(names,
                testing::UnorderedElementsAre("GFP_KERNEL_ACCOUNT", "__GFP_ZERO", "__GFP_NOWARN"));
  }
  void expect_kernel_addresses() const {
    for (const json& event : trace_.events("kmalloc", expected_["pid"])) {
      EXPECT_LT(number_of(event, "ptr"), 0) << event;  // the upper half of the address space
      EXPECT_LT(number_of(event, "call_site"), 0) << event;
      EXPECT_TRUE(event["args"]["ptr"].get<std::string>().starts_with("0xffff")) << event;
      EXPECT_THAT(name_of(event, "call_site"), testing::HasSubstr("+0x")) << "a symbol";
    }
  }
  void expect_a_file_for_each_open() const {
    auto files = trace_.events("kmem_cache_alloc", expected_["pid"]);
    std::erase_if(files, [](const json& event) { return name_of(event, "name") != "filp"; });
    EXPECT_GE(files.size(), expected_["opens"].get<size_t>());
    for (const json& event : files) {
      EXPECT_GT(number_of(event, "bytes_req"), 0);
      EXPECT_GE(number_of(event, "bytes_alloc"), number_of(event, "bytes_req"));
    }
  }
  // It depends on the kernel which caches free at once and which later from another task.
  void expect_frees_to_the_same_cache() const {
    std::map<std::string, std::string> cache_of;  // by address
    size_t given_back = 0;
    for (const json& event : trace_.lines()) {
      if (event["pid"] != expected_["pid"] || event.contains("lost")) continue;
      if (event["event"] == "kmem_cache_alloc")
        cache_of[event["args"]["ptr"]] = name_of(event, "name");
      if (event["event"] != "kmem_cache_free" || !cache_of.contains(event["args"]["ptr"])) continue;
      EXPECT_EQ(name_of(event, "name"), cache_of[event["args"]["ptr"]]) << event;
      ++given_back;
    }
    EXPECT_GE(given_back, expected_["opens"].get<size_t>());
  }
  void expect_pages_of_a_pipe() const {
    size_t with_free = 0;
    for (const json& event : trace_.events("mm_page_alloc", expected_["pid"]))
      if (number_of(event, "order") == 0 && followed_by(event, "mm_page_free", "page")) ++with_free;
    EXPECT_GE(with_free, expected_["pipe_pages"].get<size_t>());
  }

 private:
  // The kmalloc events that requested exactly `size` bytes.
  [[nodiscard]] std::vector<json> kmallocs_of(uint64_t size) const {
    auto found = trace_.events("kmalloc", expected_["pid"]);
    std::erase_if(found, [&](const json& event) {
      return static_cast<uint64_t>(number_of(event, "bytes_req")) != size;
    });
    return found;
  }
  // Is there an event `name` whose `field` is that of `of`, later than it?
  [[nodiscard]] bool followed_by(const json& of, std::string_view name,
                                 const std::string& field) const {
    return !trace_
                .where([&](const json& event) {
                  return event["event"] == name && event["ts"] >= of["ts"] &&
                         number_of(event, field) == number_of(of, field);
                })
                .empty();
  }

  json expected_;
  Trace trace_;
};

TEST(Kmem, EventsAreTheAllocationsAndFreesOfAProcess) {
  const KmemTrace trace;
  trace.expect_messages();
  trace.expect_names_of_gfp_flags();
  trace.expect_kernel_addresses();
  trace.expect_a_file_for_each_open();
  trace.expect_frees_to_the_same_cache();
  trace.expect_pages_of_a_pipe();
}

}  // namespace
}  // namespace ktraced::live
