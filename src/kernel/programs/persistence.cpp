// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/programs/persistence.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "base/clock.h"

namespace ktraced {
namespace {

// Splits an id into the part without sizes, and the sizes: "2x8192k".
std::pair<std::string, std::string> split_id(const std::string& id) {
  const size_t dash = id.rfind('-');
  return {id.substr(0, dash), id.substr(dash + 1)};
}

std::optional<BpfSizes> sizes_in(const std::string& id) {
  const std::string text = split_id(id).second;
  const char* end = text.data() + text.size();
  BpfSizes sizes;
  uint32_t kb = 0;
  const auto banks = std::from_chars(text.data(), end, sizes.flight_banks);
  if (banks.ec != std::errc() || banks.ptr == end || *banks.ptr != 'x') return std::nullopt;
  if (std::from_chars(banks.ptr + 1, end, kb).ec != std::errc()) return std::nullopt;
  sizes.flight_bytes = kb * 1024;
  return sizes;
}

// The sizes of the object that an earlier daemon of this build has pinned; `sizes`, if there is
// none.
BpfSizes sizes_left(const PinRoot& root, const std::string& programs, const BpfSizes& sizes) {
  BpfSizes left = sizes;
  for (const std::string& id : root.objects().value_or(std::vector<std::string>{})) {
    if (id == object_id(programs, sizes)) return sizes;
    const auto found = sizes_in(id);
    if (found && object_id(programs, *found) == id) left = *found;
  }
  return left;
}

// Loads an object that is not pinned and ends with the daemon.
Result<AcquiredObject> load_unpinned(const Schema& schema, const KernelFeatures& features,
                                     const BpfSizes& sizes, const std::string& why,
                                     const std::function<Result<>()>& may_load) {
  if (auto checked = may_load(); !checked) return propagate(checked);
  auto object = BpfObject::load(schema, features, sizes);
  if (!object) return propagate(object);
  return AcquiredObject{.object = std::move(*object),
                        .sizes = sizes,
                        .adopted = false,
                        .replaced = {},
                        .unpinned_because = why,
                        .lock = {}};
}

// When the oldest of the pinned programs was loaded; 0 if there is none.
uint64_t loaded_since(const Pins& pins) {
  uint64_t oldest = 0;
  for (const std::string& name : pins.names(Pins::Kind::program)) {
    const Fd program = pins.get(Pins::Kind::program, name);
    const uint64_t loaded = program ? load_time_of(program.get()) : 0;
    if (loaded != 0) oldest = oldest == 0 ? loaded : std::min(oldest, loaded);
  }
  return oldest;
}

Result<ReplacedObject> take_away(const std::shared_ptr<const PinRoot>& root, const std::string& id,
                                 std::string reason) {
  ReplacedObject replaced{.id = id, .reason = std::move(reason)};
  if (const auto pins = Pins::open(root, id); pins && pins->get(Pins::Kind::map, Pins::kControlMap))
    replaced.since_ns = loaded_since(*pins);
  if (auto done = root->remove_object(id); !done) return propagate(done);
  replaced.until_ns = boottime_ns();
  return replaced;
}

// Removes the objects of other builds or sizes, and returns which they were.
Result<std::vector<ReplacedObject>> remove_others(const std::shared_ptr<const PinRoot>& root,
                                                  const std::string& identity) {
  std::vector<ReplacedObject> replaced;
  auto objects = root->objects();
  if (!objects) return propagate(objects);
  for (const std::string& other : *objects) {
    if (other == identity) continue;
    auto removed = take_away(root, other, describe_difference(other, identity));
    if (!removed) return propagate(removed);
    replaced.push_back(std::move(*removed));
  }
  return replaced;
}

// Leaves no pins behind if it fails.
Result<BpfObject> load_pinned(const Schema& schema, const KernelFeatures& features,
                              const BpfSizes& sizes, const Pins& pins) {
  auto object = BpfObject::load(schema, features, sizes);
  if (object)
    if (auto pinned = object->persist(pins); !pinned) object = propagate(pinned);
  if (!object) pins.remove();
  return object;
}

}  // namespace

std::string object_id(const std::string& programs, const BpfSizes& sizes) {
  return fmt::format("{}-{}x{}k", programs, sizes.flight_banks, sizes.flight_bytes / 1024);
}

std::string describe_difference(const std::string& old_id, const std::string& id) {
  if (split_id(old_id).first != split_id(id).first)
    return "its programs are of another build, or for other kernel features";
  return "an earlier daemon ended while it made it";
}

std::vector<std::string> describe_losses(std::span<const ReplacedObject> replaced) {
  std::vector<std::string> losses;
  for (const auto& [id, reason, since_ns, until_ns] : replaced)
    if (since_ns != 0)
      losses.push_back(fmt::format(
          "what {} recorded from {:.3f} s to {:.3f} s after boot is lost, except for "
          "what is on disk: {}",
          id, static_cast<double>(since_ns) / 1e9, static_cast<double>(until_ns) / 1e9, reason));
  return losses;
}

uint64_t lost_ns(std::span<const ReplacedObject> replaced) {
  uint64_t sum = 0;
  for (const ReplacedObject& old : replaced)
    if (old.since_ns != 0) sum += old.until_ns - std::min(old.until_ns, old.since_ns);
  return sum;
}

Result<AcquiredObject> acquire_object(const Schema& schema, const KernelFeatures& features,
                                      const BpfSizes& sizes, const std::filesystem::path& path,
                                      const std::string& cleanup,
                                      const std::function<Result<>()>& may_load) {
  const auto unpinned = [&](const Error& why) {
    return load_unpinned(schema, features, sizes, why.message, may_load);
  };
  auto root = PinRoot::open(path, PinRoot::IfMissing::make, cleanup);
  if (!root) return unpinned(root.error());
  auto lock = (*root)->lock();
  if (!lock && lock.error().code != ExitCode::unavailable) return unpinned(lock.error());
  if (!lock) return propagate(lock);
  const std::string programs = BpfObject::identity(features);
  const auto open_pins = [&](const BpfSizes& its) {
    return Pins::open(*root, object_id(programs, its));
  };
  const BpfSizes left = sizes_left(**root, programs, sizes);
  auto pins = open_pins(left);
  if (!pins) return unpinned(pins.error());
  auto adopted = BpfObject::adopt(features, left, *pins);
  if (!adopted) return propagate(adopted);
  if (!*adopted || left != sizes)
    if (auto checked = may_load(); !checked) {  // the history of other sizes stays
      if (!pins->any()) pins->remove();
      return propagate(checked);
    }
  const std::string identity = object_id(programs, *adopted ? left : sizes);
  auto replaced = remove_others(*root, identity);
  if (!replaced) return propagate(replaced);
  if (*adopted)
    return AcquiredObject{.object = std::move(**adopted),
                          .sizes = left,
                          .adopted = true,
                          .replaced = std::move(*replaced),
                          .unpinned_because = {},
                          .lock = std::move(*lock)};
  pins = open_pins(sizes);
  if (pins && pins->any()) {  // of a daemon that ended while it pinned it
    if (auto removed = (*root)->remove_object(identity); !removed) return propagate(removed);
    pins = open_pins(sizes);
  }
  if (!pins) return unpinned(pins.error());
  auto object = load_pinned(schema, features, sizes, *pins);
  if (!object) return propagate(object);
  return AcquiredObject{.object = std::move(*object),
                        .sizes = sizes,
                        .adopted = false,
                        .replaced = std::move(*replaced),
                        .unpinned_because = {},
                        .lock = std::move(*lock)};
}

Result<std::vector<std::string>> remove_pinned(const std::filesystem::path& path) {
  auto root = PinRoot::open(path, PinRoot::IfMissing::fail);
  if (!root && root.error().code == ExitCode::data) return std::vector<std::string>{};
  if (!root) return propagate(root);
  auto lock = (*root)->lock();
  if (!lock) return propagate(lock);
  auto objects = (*root)->objects();
  if (!objects) return objects;
  for (const std::string& object : *objects)
    if (auto removed = (*root)->remove_object(object); !removed) return propagate(removed);
  (*root)->remove_if_empty();
  return objects;
}

}  // namespace ktraced
