// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/capture/attach_functions.h"

#include <utility>

namespace ktraced {
namespace {

// Calls `act` with what attaches this kind of program, and the key that it knows the program by.
auto with_owner(const Program& program, BpfObject& object, EventCatalog& catalog,
                Catchers& catchers, auto&& act) {
  switch (program.kind) {
    case Program::Kind::dynamic:
      return act(catalog.dynamic(), program.dynamic_id);
    case Program::Kind::calls:
      return act(catalog.calls(), program.name);
    case Program::Kind::catcher:
      return act(catchers, Catchers::event_of(program.name));
    case Program::Kind::stack:
      return act(catalog.stacks(), program.name);
    case Program::Kind::built_in:
      break;
  }
  return act(object, program.name);
}

}  // namespace

ProgramAttacher::Kernel attach_functions(BpfObject& object, EventCatalog& catalog, CallHooks& calls,
                                         StackHooks& stacks, Catchers& catchers,
                                         std::function<void(const std::string& event)> try_attach) {
  return {.attached =
              [&](const Program& program) {
                return with_owner(
                    program, object, catalog, catchers,
                    [](const auto& owner, const auto& key) { return owner.attached(key); });
              },
          .detaching =
              [&](const Program& program) {
                return with_owner(
                    program, object, catalog, catchers,
                    [](auto& owner, const auto& key) { return owner.detaching(key); });
              },
          .attach = [&](const Program& program) -> Result<> {
            if (program.kind == Program::Kind::stack) return stacks.attach(program.name);
            if (program.kind != Program::Kind::calls)
              return with_owner(program, object, catalog, catchers,
                                [](auto& owner, const auto& key) { return owner.attach(key); });
            calls.attach(program.name);  // it notes failures itself
            return {};
          },
          .detach =
              [&](const Program& program) {
                if (program.kind == Program::Kind::built_in) catchers.detach(program.name);
                with_owner(program, object, catalog, catchers,
                           [](auto& owner, const auto& key) { owner.detach(key); });
              },
          .try_attach = std::move(try_attach)};
}

}  // namespace ktraced
