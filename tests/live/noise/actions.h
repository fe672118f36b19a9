// SPDX-License-Identifier: BSD-2-Clause
// What the noise does, one short action after the other. Calls that fail are part of it.
#pragma once

#include <filesystem>
#include <span>
#include <string_view>

#include "children.h"
#include "dice.h"

namespace noise {

// What lives longer than one action.
struct World {
  std::filesystem::path directory;  // for files of the actions
  Children children;
  Threads threads;
};

struct Action {
  std::string_view kind;  // a word of the line that is printed at the end
  std::string_view name;
  unsigned weight;  // how often it is chosen, compared with others
  void (*run)(Dice&, World&);
};

// Every action, in a fixed order.
std::span<const Action> actions();

// System calls: calls.cpp
void ask(Dice&, World&);
void make_mistakes(Dice&, World&);
void open_missing_files(Dice&, World&);
void read_and_write(Dice&, World&);
void look_at_files(Dice&, World&);
void use_futex(Dice&, World&);
void use_pipe(Dice&, World&);
void use_sockets(Dice&, World&);
void use_epoll(Dice&, World&);
void sleep_shortly(Dice&, World&);

// Memory and files: storage.cpp
void map_memory(Dice&, World&);
void grow_heap(Dice&, World&);
void write_file(Dice&, World&);
void rename_file(Dice&, World&);
void link_file(Dice&, World&);
void remove_file(Dice&, World&);
void make_directory(Dice&, World&);

// Threads, processes and signals: tasks.cpp
void run_thread(Dice&, World&);
void start_thread(Dice&, World&);
void end_thread(Dice&, World&);
void exit_child(Dice&, World&);
void exec_program(Dice&, World&);
void exec_missing_program(Dice&, World&);
void spawn_program(Dice&, World&);
void leave_orphan(Dice&, World&);
void start_process(Dice&, World&);
void kill_process(Dice&, World&);
void signal_child(Dice&, World&);
void crash_child(Dice&, World&);

}  // namespace noise
