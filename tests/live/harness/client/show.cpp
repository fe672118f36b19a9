// SPDX-License-Identifier: BSD-2-Clause
#include "harness/client/show.h"

#include <sstream>

namespace ktraced::live {

Shown show(const Command& words) {
  Command command = {kClientProgram, "show", "--format", "json"};
  command.insert(command.end(), words.begin(), words.end());
  Shown shown{.lines = {}, .finished = run(command)};
  std::istringstream text(shown.finished.out);
  for (std::string line; std::getline(text, line);) shown.lines.push_back(json::parse(line));
  return shown;
}

}  // namespace ktraced::live
