// SPDX-License-Identifier: BSD-2-Clause
// Pinned objects in the BPF file system, which outlive the daemon.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "kernel/pins/pin_root.h"

namespace ktraced {

// The directory of one BPF object under the daemon's directory in a bpffs:
// ROOT/OBJECT/{maps,programs,links,rings}/NAME. Names may hold dots, which bpffs reserves; they are
// stored as '-'. Copies refer to the same directory.
class Pins {
 public:
  enum class Kind { map, program, link, ring };
  // The map that is pinned last and unpinned first: while it is there, everything else is too.
  static constexpr const char* kControlMap = ".data.control";

  // `object` identifies what is pinned: objects with the same id are interchangeable. Fails with
  // ExitCode::no_permission if something with that name is not ours.
  static Result<Pins> open(const std::shared_ptr<const PinRoot>& root, const std::string& object);

  // Pins `fd` under this name, replacing an earlier pin. Fails with ExitCode::os.
  Result<> pin(Kind kind, const std::string& name, int fd) const;
  // The object pinned under this name; an Fd without descriptor if there is none.
  [[nodiscard]] Fd get(Kind kind, const std::string& name) const;
  // The error for a pin that is not what a daemon has pinned there; `why` is a clause. It has
  // ExitCode::unavailable, because every start fails until the pin is removed, and names the pin
  // and the command that removes it.
  [[nodiscard]] std::unexpected<Error> damaged(Kind kind, const std::string& name,
                                               std::string_view why) const;
  // Fails as damaged() if a pin is no BPF object, or one of another kind than its folder says; with
  // ExitCode::no_permission if the process may not open a pin, and with ExitCode::os if it cannot
  // for lack of memory or descriptors.
  [[nodiscard]] Result<> check() const;
  void unpin(Kind kind, const std::string& name) const;
  // The names of all pins of a kind, as they are stored.
  [[nodiscard]] std::vector<std::string> names(Kind kind) const;
  // True if anything is pinned.
  [[nodiscard]] bool any() const;
  // Unpins everything of this object, and removes the root if nothing else is in it.
  void remove() const;

 private:
  struct Place {
    std::shared_ptr<const PinRoot> root;
    std::array<Fd, 4> folders;  // by Kind
    std::string object;
  };

  explicit Pins(std::shared_ptr<Place> place) : place_(std::move(place)) {}
  [[nodiscard]] int folder(Kind kind) const;
  [[nodiscard]] std::string path(Kind kind, const std::string& name) const;
  [[nodiscard]] std::unexpected<Error> not_opened(Kind kind, const std::string& name,
                                                  int error) const;

  std::shared_ptr<Place> place_;
};

}  // namespace ktraced
