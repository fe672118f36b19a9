// SPDX-License-Identifier: BSD-2-Clause
// A terminal whose screen can be read, with a shell in it.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/machine/process.h"
#include "harness/machine/temp_dir.h"

namespace ktraced::live {

// A tmux server of its own, which ends with this, or with the tests. Throws if it cannot be
// started.
class Tmux {
 public:
  Tmux(int columns, int rows) : server_(command({"-D"})) {
    const auto answers = [this] { return run(command({"show-options", "-s"})).exit_code == 0; };
    if (!eventually(answers)) throw std::runtime_error("no tmux server: " + server_.err());
    tmux({"set-option", "-g", "status", "off"});
    tmux({"set-option", "-g", "default-terminal", "screen"});
    tmux({"new-session", "-d", "-x", std::to_string(columns), "-y", std::to_string(rows),
          "env PS1='$ ' sh"});
    // What is typed before the prompt is shown before it, too.
    if (const auto prompt = shows("$"); !prompt) throw std::runtime_error(prompt.message());
  }

  // Types a text, as it is.
  void type(const std::string& text) { tmux({"send-keys", "-l", text}); }
  // Presses a key that tmux names: Enter, Escape, Up, C-z.
  void press(const std::string& key) { tmux({"send-keys", key}); }
  void enter(const std::string& line) {
    type(line);
    press("Enter");
  }
  void resize(int columns, int rows) {
    tmux({"resize-window", "-x", std::to_string(columns), "-y", std::to_string(rows)});
  }

  // Its lines, without spaces at their ends.
  std::vector<std::string> lines() {
    std::istringstream screen(tmux({"capture-pane", "-p"}));
    std::vector<std::string> lines;
    for (std::string line; std::getline(screen, line);) lines.push_back(line);
    return lines;
  }
  std::string text() { return tmux({"capture-pane", "-p"}); }
  // Waits until the screen has this text; else the screen as it is.
  testing::AssertionResult shows(const std::string& part) {
    const auto found = [&] { return text().find(part) != std::string::npos; };
    if (eventually(found)) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "no '" << part << "' in:\n" << text();
  }

 private:
  [[nodiscard]] Command command(const Command& words) const {
    Command all = {"env",  "-u",       "TMUX",
                   "-u",   "NO_COLOR", "LC_ALL=C.UTF-8",
                   "tmux", "-S",       directory_.path() / "tmux",
                   "-f",   "/dev/null"};
    all.insert(all.end(), words.begin(), words.end());
    return all;
  }
  std::string tmux(const Command& words) {
    Finished finished = run(command(words));
    if (finished.exit_code != 0)
      throw std::runtime_error(fmt::format("tmux {}: {}", words.front(), finished.err));
    return std::move(finished.out);
  }

  TempDir directory_;
  Process server_;
};

}  // namespace ktraced::live
