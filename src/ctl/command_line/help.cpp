// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/command_line/help.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>

#include "base/text/option_messages.h"
#include "base/text/suggest.h"

namespace ktraced {
namespace {

struct Examples {
  std::string_view command;  // "filter set"
  std::string_view lines;
};

constexpr Examples kExamples[] = {
    {"", R"(  ktracectl help record          options and examples of a command
  ktracectl status               what is traced and what was counted
  ktracectl top                  rates and losses, on a screen
  ktracectl stream --count 10    the next 10 events
  ktracectl snapshot take        save what the flight recorder holds)"},
    {"status", R"(  ktracectl status
  ktracectl status --per-cpu
  ktracectl status --verbose              also events that are off
  ktracectl status --overhead             what tracing costs, by program
  ktracectl status --overhead --duration 5s
  ktracectl --json status | jq .totals)"},
    {"events", R"(  ktracectl events                        every built-in event, and which are on
  ktracectl events list 'irq:*'           tracepoints of the kernel, by pattern
  ktracectl events enable kmem            a group
  ktracectl events disable kmalloc kfree)"},
    {"events list", R"(  ktracectl events list
  ktracectl events list kmem 'sched_*'    groups and patterns of built-in events
  ktracectl events list irq 'block:*'     tracepoints of the kernel
  ktracectl events list -v sched_switch   its fields)"},
    {"events enable", R"(  ktracectl events enable syscalls kmem
  ktracectl events enable 'sched_*'       built-in events by pattern
  ktracectl events enable irq             all tracepoints of a group
  ktracectl events enable block:block_rq_issue 'net:*'
  ktracectl events enable kmem --session client-1)"},
    {"events disable", R"(  ktracectl events disable kmem
  ktracectl events disable '*:*'          all tracepoints and probes)"},
    {"pause", "  ktracectl pause; ktracectl resume"},
    {"resume", "  ktracectl resume"},
    {"reset", R"(  ktracectl reset
  ktracectl reset --keep-history          only the counters and the stream's rings)"},
    {"reload", "  ktracectl reload"},
    {"filter", R"(  ktracectl filter
  ktracectl filter set comm='nginx*' exclude.uid=0
  ktracectl filter clear)"},
    {"filter show", "  ktracectl filter show"},
    {"filter set", R"(  ktracectl filter set pid=812,813
  ktracectl filter set follow=4711               a process and all its descendants
  ktracectl filter set comm='nginx*' exclude.uid=0
  ktracectl filter set uid=alice,1001
  ktracectl filter set syscall=openat,execve
  ktracectl filter set pid=812 --session client-1)"},
    {"filter clear", R"(  ktracectl filter clear                  the selection of system calls too
  ktracectl filter clear comm exclude.uid no longer by name, nor without that user)"},
    {"session", "  ktracectl session list"},
    {"session list", R"(  ktracectl session list
  ktracectl --json session list | jq '.sessions[].name')"},
    {"session show", "  ktracectl session show recorder"},
    {"top", R"(  ktracectl top
  ktracectl top --view calls --comm nginx --interval 2s
  ktracectl top --view processes --event sched
  ktracectl top --count 3 | cat                     three frames as text
  ktracectl --json top --count 1 | jq .rows)"},
    {"snapshot", R"(  ktracectl snapshot take --reason 'latency alert'
  ktracectl snapshot list
  ktracectl snapshot export incident-7    one file, for another machine)"},
    {"snapshot take", R"(  ktracectl snapshot take
  ktracectl snapshot take incident-7
  ktracectl snapshot take --timeout 1m    waits longer for a bank
  ktracectl snapshot take --with-previous
  ktracectl snapshot take --reason 'latency alert' --no-wait)"},
    {"snapshot list", R"(  ktracectl snapshot list
  ktracectl snapshot list --verbose
  ktracectl snapshot list --per-cpu)"},
    {"snapshot keep", R"(  ktracectl snapshot keep incident-7
  ktracectl snapshot keep --undo incident-7)"},
    {"snapshot export", R"(  ktracectl snapshot export incident-7    makes incident-7.tar.zst
  ktracectl show incident-7.tar.zst       shows it, on any machine
  ktracectl snapshot export incident-7 -o /tmp/slow.tar.zst
  ktracectl snapshot export incident-7 -o - | ssh HOST 'cat >incident-7.tar.zst')"},
    {"snapshot delete", "  ktracectl snapshot delete NAME NAME2"},
    {"snapshot enable", "  ktracectl snapshot enable"},
    {"snapshot disable", "  ktracectl snapshot disable"},
    {"probe", R"(  ktracectl probe add 'p:open do_sys_openat2 path=+0($arg2):ustring'
  ktracectl probe list
  ktracectl probe remove open)"},
    {"probe list", "  ktracectl probe list"},
    {"probe add", R"(  ktracectl probe add 'p:read vfs_read count ino=file->f_inode->i_ino'
  ktracectl probe add 'r:opened do_sys_openat2 fd=$retval:s64'
  ktracectl probe add -f probes.txt)"},
    {"probe remove", R"(  ktracectl probe remove open
  ktracectl probe remove kprobes/         all of a group)"},
    {"probe clear", "  ktracectl probe clear"},
    {"stream", R"(  ktracectl stream --comm nginx --count 100
  ktracectl stream --event syscalls --pid 812 --format json
  ktracectl stream --event 'sched_*' --uid alice --duration 2s
  ktracectl stream --syscall openat --follow 4711
  ktracectl stream --event syscalls --where 'ret == -ENOENT' --until 14:05
  ktracectl stream --count-only --duration 5s)"},
    {"show", R"(  ktracectl show DIR
  ktracectl show SNAPSHOT
  ktracectl show SNAPSHOT.tar.zst                      of 'snapshot export'
  ktracectl show SNAPSHOT --directory /mnt/snapshots
  ktracectl show DIR --event kmalloc,kfree --format json
  ktracectl show DIR --last 2s --time wall --error any
  ktracectl show DIR --since 14:03:21.5 --where 'nr == openat && ret < 0'
  ktracectl show /var/log/ktraced/stream-*[0-9])"},
    {"report", R"(  ktracectl report summary DIR
  ktracectl report html DIR -o report.html)"},
    {"report summary", R"(  ktracectl report summary DIR
  ktracectl report summary DIR --by lost
  ktracectl report summary DIR --event 'sched_*',kmem
  ktracectl report summary --live --duration 5s)"},
    {"report processes", R"(  ktracectl report processes DIR --by lifetime
  ktracectl report processes DIR --tree --top all
  ktracectl report processes DIR --comm 'make*' --csv)"},
    {"report files", R"(  ktracectl report files DIR --error ENOENT            what was not found
  ktracectl report files DIR --by opens --top 20
  ktracectl report files DIR --where 'text ~ "/etc/*"' --csv --table process_paths
  ktracectl report files --live --event syscalls,strings --comm nginx)"},
    {"report kmem", R"(  ktracectl report kmem DIR --by waste
  ktracectl report kmem DIR --event kmalloc,kfree
  ktracectl report kmem DIR --stacks --by cgroup          who holds what
  ktracectl report kmem --live --duration 5s --top 20)"},
    {"report sched", R"(  ktracectl report sched DIR --by delay
  ktracectl report sched DIR --tid 815 --since -500ms
  ktracectl report sched --live --duration 5s)"},
    {"report syscalls", R"(  ktracectl report syscalls DIR --by errors
  ktracectl report syscalls DIR --comm make --error ENOENT --last 2s
  ktracectl report syscalls DIR --json
  ktracectl report syscalls --live --syscall openat
  ktracectl report syscalls DIR --stacks fsync            where it is called
  ktracectl report syscalls DIR --csv --table processes --top all)"},
    {"report wakeups", R"(  ktracectl report wakeups nginx DIR
  ktracectl report wakeups 812 DIR --by delay --top 20
  ktracectl report wakeups 'kworker*' --live --duration 5s)"},
    {"report cpu", R"(  ktracectl report cpu DIR
  ktracectl report cpu DIR --by cgroup --top 20
  ktracectl report cpu DIR --comm nginx --invert
  ktracectl report cpu DIR --lines --debuginfod           lines of the source
  ktracectl report cpu DIR --csv --table functions --top all)"},
    {"report offcpu", R"(  ktracectl report offcpu DIR --by thread
  ktracectl report offcpu DIR --comm nginx --last 2s
  ktracectl report offcpu --live --duration 5s)"},
    {"report html", R"(  ktracectl report html DIR -o report.html
  ktracectl report html DIR --event sched,syscalls -o report.html)"},
    {"export", R"(  ktracectl export DIR --to perfetto -o out.pftrace    for ui.perfetto.dev
  ktracectl export DIR --to trace.dat -o trace.dat     for trace-cmd report and KernelShark
  ktracectl export DIR --to json -o - | jq .event
  ktracectl export DIR --to folded -o - | flamegraph.pl >out.svg)"},
    {"query", R"(  ktracectl query DIR .tables
  ktracectl query DIR 'SELECT comm, count(*) FROM sys_enter GROUP BY comm ORDER BY 2 DESC'
  ktracectl query DIR --pid 815 --last 2s 'SELECT syscall, sum(dur) FROM calls GROUP BY syscall'
  ktracectl query DIR --csv "SELECT * FROM calls WHERE error = 'ENOENT'" >calls.csv
  ktracectl query DIR --lines 'SELECT DISTINCT source, line FROM frames WHERE depth = 0'
  ktracectl query DIR --shell
  ktracectl snapshot take now && ktracectl query now .tables    the running machine)"},
    {"record", R"(  ktracectl record -o DIR --duration 10
  ktracectl record -o DIR -- make -j8                  a command and its descendants
  ktracectl record -o DIR --all -- make -j8            everything while it runs
  ktracectl record -o DIR --event sched --cgroup /sys/fs/cgroup/system.slice --duration 1m)"},
};

// CLI11's formatter also lists which options exclude each other, in undefined order, and takes
// bytes for columns: "…" has three.
class PlainHelp : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override {
    if (!option->get_option_text().empty()) return " " + option->get_option_text();
    std::string out;
    if (option->get_type_size() == 0) return out;
    if (!option->get_positional() && !option->get_type_name().empty())
      out += " " + option->get_type_name();
    if (!option->get_default_str().empty()) out += "=" + option->get_default_str();
    if (!option->get_envname().empty()) out += " or $" + option->get_envname();
    return option->get_required() ? out + " (needed)" : out;
  }

  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    std::string line = CLI::Formatter::make_option(option, is_positional);
    const std::string& what = option->get_description();
    const size_t begin = what.empty() ? std::string::npos : line.find(what);
    if (begin == std::string::npos) return line;
    const auto further = std::count_if(line.begin(), line.begin() + static_cast<ptrdiff_t>(begin),
                                       [](char c) { return (c & 0xc0) == 0x80; });
    return line.insert(begin, static_cast<size_t>(further), ' ');
  }
};

std::string examples_of(const CLI::App& command) {
  const std::string words = words_of(command);
  for (const Examples& examples : kExamples)
    if (examples.command == words) return std::string("Examples:\n").append(examples.lines);
  return {};
}

}  // namespace

void set_help_format(CLI::App& program) { program.formatter(std::make_shared<PlainHelp>()); }

void add_examples(CLI::App& program) {
  if (std::string text = examples_of(program); !text.empty()) program.footer(std::move(text));
  for (CLI::App* command : program.get_subcommands({})) add_examples(*command);
}

Result<std::string> help_on(const CLI::App& program, const std::vector<std::string>& words) {
  const CLI::App* command = &program;
  for (const std::string& word : words) {
    const auto below = command->get_subcommands({});
    const auto next =
        std::ranges::find_if(below, [&](const CLI::App* sub) { return sub->get_name() == word; });
    if (next == below.end()) {
      std::vector<std::string> names;
      std::ranges::transform(below, std::back_inserter(names), &CLI::App::get_name);
      return fail(ExitCode::usage, "{}", unknown_name("command", word, names));
    }
    command = *next;
  }
  // App::help() would print the help of `help` itself.
  const std::string typed = words_of(*command);
  const std::string name = program.get_name() + (typed.empty() ? "" : " ") + typed;
  return command->get_formatter()->make_help(command, name, CLI::AppFormatMode::Normal);
}

}  // namespace ktraced
