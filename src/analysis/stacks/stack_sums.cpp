// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/stacks/stack_sums.h"

#include <algorithm>
#include <array>
#include <initializer_list>

size_t std::hash<ktraced::StackKey>::operator()(const ktraced::StackKey& key) const noexcept {
  constexpr uint64_t kSpread = 0x9e3779b97f4a7c15;
  uint64_t hash = key.what;
  for (const ktraced::StackPlace* place : {&key.at, &key.waker})
    for (const uint64_t part : {uint64_t{place->owner}, place->kernel, place->user,
                                uint64_t{place->pid}, place->program, place->start_ns})
      hash = (hash ^ part ^ hash >> 29) * kSpread;
  return hash ^ hash >> 32;
}

namespace ktraced {

StackWeight& StackWeight::operator+=(const StackWeight& other) {
  count += other.count;
  ns += other.ns;
  bytes += other.bytes;
  if (other.longest_ns > longest_ns) {
    longest_ns = other.longest_ns;
    longest_ts = other.longest_ts;
  }
  return *this;
}

StackPlace place_of(const Actor& actor, const stack_numbers& stacks) {
  StackPlace place{.kernel = stacks.kernel, .user = stacks.user};
  if (stacks.user == 0 || actor.task == nullptr) return place;
  place.pid = actor.id;
  place.start_ns = actor.start_ns;
  place.program = (actor.leader != nullptr ? actor.leader : actor.task)->since;
  return place;
}

StackPlace StackSums::place_of(uint32_t tid, uint64_t ts, const NameTable& names,
                               const stack_numbers& stacks) {
  const TaskName* task = tid == 0 ? nullptr : names.task_at(tid, ts);
  const Actor actor = actor_of(tid, ts, task, names);
  StackPlace place = ktraced::place_of(actor, stacks);
  place.owner = owner_of(tid, ts, actor, names);
  return place;
}

uint32_t StackSums::owner_of(uint32_t tid, uint64_t ts, const Actor& actor,
                             const NameTable& names) {
  switch (by_) {
    case StacksBy::process: {
      const uint32_t index = owner_at(actors_.of(actor));
      if (!owners_[index].others) owners_[index].learn(actor);
      return index;
    }
    case StacksBy::thread: {
      const uint64_t start_ns = actor.task != nullptr ? actor.task->start_time : 0;
      const uint32_t index = owner_at(threads_.number_of(tid, start_ns));
      StackOwner& owner = owners_[index];
      if (owner.others) return index;
      owner.tid = tid;
      owner.pid = actor.id;
      owner.known = actor.known;
      if (start_ns != 0) owner.start_ns = start_ns;
      if (actor.task != nullptr && owner.comm != actor.task->comm())
        owner.comm = actor.task->comm();
      return index;
    }
    case StacksBy::cgroup:
      break;
  }
  const uint64_t id = names.cgroup_at(tid, ts);
  const uint32_t index = owner_at(id);
  StackOwner& owner = owners_[index];
  if (owner.others) return index;
  owner.cgroup_id = id;
  if (owner.cgroup.empty()) owner.cgroup = names.cgroup_path(id);
  return index;
}

// Nothing: there are too many owners.
uint32_t StackSums::owner_at(std::optional<uint64_t> key) {
  return key ? owners_.place_of(*key).index : owners_.others();
}

uint32_t StackSums::row_of(const StackKey& key, uint64_t ts, uint64_t waker_ts) {
  const auto [index, is_new] = rows_.place_of(key);
  if (is_new) {
    rows_[index].key = key;
    rows_[index].ts = ts;
    rows_[index].waker_ts = waker_ts;
  }
  return index;
}

void StackSums::add(const StackPoint& point, const StackWeight& weight) {
  rows_[point.row].weight += weight;
  if (points_.size() < max_points_) points_.push_back(point);
}

bool StackSums::may_lack(const StackTable& table) const {
  return std::ranges::any_of(rows_.rows(), [&table](const StackRow& row) {
    const StackKey& key = row.key;
    return key.at.user != 0 || key.waker.user != 0 ||
           std::ranges::any_of(std::array{key.at.kernel, key.waker.kernel}, [&](uint64_t number) {
             return number != 0 && table.find(number) == nullptr;
           });
  });
}

}  // namespace ktraced
