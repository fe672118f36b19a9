// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/stacks/stack_tree.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace ktraced {

bool StackTree::descend(uint32_t& node, uint32_t depth, uint32_t frame) {
  const uint64_t key = uint64_t{node} << 32 | frame;
  if (const auto known = children_.find(key); known != children_.end()) {
    node = known->second;
    return true;
  }
  if (nodes_.size() >= max_nodes_) return false;
  const auto made = static_cast<uint32_t>(nodes_.size());
  nodes_.push_back({.frame = frame, .parent = node == kTop ? made : node, .depth = depth});
  children_.emplace(key, made);
  node = made;
  return true;
}

void StackTree::add(uint32_t owner, std::span<const uint32_t> frames, const StackWeight& weight) {
  total_ += weight;
  count_functions(frames, weight);
  uint32_t node = kTop;
  bool whole = descend(node, 0, owner);
  const size_t count = frames.size();
  if (whole) nodes_[node].total += weight;
  for (size_t i = 0; whole && i < count; ++i) {
    whole = descend(node, static_cast<uint32_t>(i + 1),
                    frames[order_ == Order::inverted ? i : count - 1 - i]);
    if (whole) nodes_[node].total += weight;
  }
  if (node != kTop) nodes_[node].self += weight;
  if (!whole) folded_ += weight;
}

// A function that calls itself counts once.
void StackTree::count_functions(std::span<const uint32_t> frames, const StackWeight& weight) {
  for (size_t i = 0; i < frames.size(); ++i) {
    const auto before = frames.first(i);
    if (std::ranges::find(before, frames[i]) != before.end()) continue;
    const auto [known, is_new] =
        function_of_.try_emplace(frames[i], static_cast<uint32_t>(functions_.size()));
    if (is_new) functions_.push_back({.frame = frames[i]});
    Function& function = functions_[known->second];
    function.total += weight;
    if (i == 0) function.self += weight;
  }
}

std::vector<uint32_t> StackTree::heaviest(uint64_t StackWeight::* by, size_t most) const {
  std::vector<uint32_t> chosen(nodes_.size());
  std::iota(chosen.begin(), chosen.end(), 0U);
  // A parent has as much as each of its children, and is before them.
  std::ranges::sort(chosen, [&](uint32_t a, uint32_t b) {
    const Node &first = nodes_[a], &second = nodes_[b];
    return std::tuple(second.total.*by, first.depth, a) <
           std::tuple(first.total.*by, second.depth, b);
  });
  chosen.resize(std::min(chosen.size(), most));
  std::unordered_map<uint32_t, std::vector<uint32_t>> children;
  std::vector<uint32_t> order, open;
  for (const uint32_t node : chosen)
    (nodes_[node].parent == node ? open : children[nodes_[node].parent]).push_back(node);
  std::ranges::reverse(open);
  while (!open.empty()) {
    order.push_back(open.back());
    open.pop_back();
    const auto below = children.find(order.back());
    if (below == children.end()) continue;
    open.insert(open.end(), below->second.rbegin(), below->second.rend());
  }
  return order;
}

}  // namespace ktraced
