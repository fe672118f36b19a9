// SPDX-License-Identifier: BSD-2-Clause
// Stacks merged into a tree of functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "analysis/stacks/stack_sums.h"

namespace ktraced {

// A tree whose children are called by their parents; inverted, they call them. The first level has
// the owners of the stacks. Memory: about 150 bytes for each of at most `max_nodes` nodes.
class StackTree {
 public:
  static constexpr size_t kMaxNodes = 262144;

  enum class Order : uint8_t { callers_first, inverted };
  explicit StackTree(Order order, size_t max_nodes = kMaxNodes)
      : order_(order), max_nodes_(max_nodes) {}

  // Frames are numbers of StackNames, and owners indices in StackSums::owners().
  struct Node {
    uint32_t frame = 0;   // or an owner
    uint32_t parent = 0;  // index of a node; of an owner: its own
    uint32_t depth = 0;   // 0: an owner
    StackWeight total;    // with the nodes below it
    StackWeight self;     // of stacks that end here
  };
  // A function, wherever it is.
  struct Function {
    uint32_t frame = 0;
    StackWeight self;   // it was the innermost one
    StackWeight total;  // it was in the stack, however often
  };

  // Adds a stack: its functions, the innermost first.
  void add(uint32_t owner, std::span<const uint32_t> frames, const StackWeight& weight);

  // Parents before their children.
  [[nodiscard]] const std::vector<Node>& nodes() const { return nodes_; }
  [[nodiscard]] const std::vector<Function>& functions() const { return functions_; }
  [[nodiscard]] const StackWeight& total() const { return total_; }
  // The part of it whose stacks end in the tree before their last function: there were too many.
  [[nodiscard]] const StackWeight& folded() const { return folded_; }
  // The `most` nodes with the most of `by`, in the order of a tree that is printed: children follow
  // their parent, those with the most first.
  [[nodiscard]] std::vector<uint32_t> heaviest(uint64_t StackWeight::* by, size_t most) const;

 private:
  // False: there is no room for another node.
  bool descend(uint32_t& node, uint32_t depth, uint32_t frame);
  void count_functions(std::span<const uint32_t> frames, const StackWeight& weight);

  static constexpr uint32_t kTop = UINT32_MAX;

  Order order_;
  size_t max_nodes_;
  std::vector<Node> nodes_;
  std::unordered_map<uint64_t, uint32_t> children_;  // by parent and frame
  std::vector<Function> functions_;
  std::unordered_map<uint32_t, uint32_t> function_of_;  // by frame
  StackWeight total_, folded_;
};

}  // namespace ktraced
