#include "kernel/persistence.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <utility>

namespace ktraced {
namespace {

Result<Fd> lock_directory(const std::filesystem::path& root) {
  Fd directory(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return fail(ExitCode::os, "cannot open {}: {}", root.string(), errno_text(errno));
  if (::flock(directory.get(), LOCK_EX | LOCK_NB) != 0)
    return fail(ExitCode::unavailable,
                "another ktraced holds {}: stop it, or set \"bpffs\" to another directory",
                root.string());
  return directory;
}

// An id without its sizes, and these: "2x8192k".
std::pair<std::string, std::string> split_id(const std::string& id) {
  const size_t dash = id.rfind('-');
  return {id.substr(0, dash), id.substr(dash + 1)};
}

}  // namespace

std::string describe_difference(const std::string& old_id, const std::string& id) {
  const auto [old_build, old_sizes] = split_id(old_id);
  const auto [build, sizes] = split_id(id);
  if (old_build != build) return "its programs are of another build, or for other kernel features";
  return fmt::format("flight.banks x flight.buffer_kb was {}, now it is {}", old_sizes, sizes);
}

Result<AcquiredObject> acquire_object(const Schema& schema, const KernelFeatures& features,
                                      const BpfSizes& sizes, const std::filesystem::path& root) {
  const std::string identity = BpfObject::identity(features, sizes);
  auto pins = Pins::open(root, identity);
  if (!pins) {
    auto object = BpfObject::load(schema, features, sizes);
    if (!object) return pass_on(object);
    return AcquiredObject{.object = std::move(*object),
                          .adopted = false,
                          .replaced = {},
                          .unpinned_because = pins.error().message,
                          .lock = Fd()};
  }
  auto lock = lock_directory(root);
  if (!lock) return pass_on(lock);

  std::vector<std::string> replaced;
  for (const std::string& other : Pins::objects(root)) {
    if (other == identity) continue;
    if (auto old = Pins::open(root, other)) old->remove();
    replaced.push_back(fmt::format("{} ({})", other, describe_difference(other, identity)));
  }
  auto adopted = BpfObject::adopt(schema, features, *pins);
  if (!adopted) return pass_on(adopted);
  if (*adopted)
    return AcquiredObject{.object = std::move(**adopted),
                          .adopted = true,
                          .replaced = std::move(replaced),
                          .unpinned_because = {},
                          .lock = std::move(*lock)};
  auto object = BpfObject::load(schema, features, sizes);
  if (!object) {
    pins->remove();
    return pass_on(object);
  }
  if (auto pinned = object->persist(*pins); !pinned) {
    pins->remove();
    return pass_on(pinned);
  }
  return AcquiredObject{.object = std::move(*object),
                        .adopted = false,
                        .replaced = std::move(replaced),
                        .unpinned_because = {},
                        .lock = std::move(*lock)};
}

Result<std::vector<std::string>> remove_pinned(const std::filesystem::path& root) {
  if (auto checked = Pins::check_root(root); !checked) return pass_on(checked);
  if (!std::filesystem::exists(root)) return std::vector<std::string>{};
  auto lock = lock_directory(root);
  if (!lock) return pass_on(lock);
  return Pins::remove_all(root);
}

}  // namespace ktraced
