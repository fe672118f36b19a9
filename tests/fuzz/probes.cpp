// SPDX-License-Identifier: BSD-2-Clause
// Definitions of probes. What is accepted prints and parses back equal; what compiles fits into a
// record that readers accept; an error names a column of the line.
#include <bpf/btf.h>

#include <nlohmann/json.hpp>

#include "base/files/lines.h"
#include "fuzz/fuzz.h"
#include "kernel/probes/probe_compiler.h"
#include "kernel/probes/probe_grammar.h"
#include "kernel/programs/kernel_btf.h"
#include "schema/schema_json.h"

namespace ktraced::fuzz {
namespace {

// int vfs_read(struct file *file, char *buf, unsigned long count), and struct file.
BtfPtr small_btf() {
  BtfPtr btf(btf__new_empty());
  const int number = btf__add_int(btf.get(), "int", 4, BTF_INT_SIGNED);
  const int wide = btf__add_int(btf.get(), "unsigned long", 8, 0);
  const int text = btf__add_ptr(btf.get(), btf__add_int(btf.get(), "char", 1, BTF_INT_SIGNED));
  const int inner = btf__add_struct(btf.get(), "path", 16);
  btf__add_field(btf.get(), "name", text, 0, 0);
  btf__add_field(btf.get(), "bits", number, 64, 3);
  const int file = btf__add_struct(btf.get(), "file", 32);
  btf__add_field(btf.get(), "f_path", inner, 0, 0);
  btf__add_field(btf.get(), "f_pos", wide, 128, 0);
  btf__add_field(btf.get(), "self", file + 1, 192, 0);
  const int pointer = btf__add_ptr(btf.get(), file);
  const int proto = btf__add_func_proto(btf.get(), number);
  btf__add_func_param(btf.get(), "file", pointer);
  btf__add_func_param(btf.get(), "buf", text);
  btf__add_func_param(btf.get(), "count", wide);
  btf__add_func(btf.get(), "vfs_read", BTF_FUNC_GLOBAL, proto);
  return btf;
}

void compile(const ProbeDefinition& probe) {
  static const BtfPtr btf = small_btf();
  const ProbeWorld world{
      .symbol = [](const std::string&) -> Result<uint64_t> { return 0xffffffff81000000; },
      .function = [] { return BtfFunction::find(btf.get(), "vfs_read"); }};
  auto compiled = compile_probe(probe, world);
  if (!compiled) return require_error(compiled.error(), ExitCode::usage);
  require(compiled->event.size <= RECORD_MAX, "a record has a bounded length", text_of(probe));
  compiled->event.id = DYNAMIC_ID_FIRST;
  const auto again = event_from_json(event_to_json(compiled->event));
  require(again.has_value(), "readers accept the event", again ? "" : again.error().message);
  require(again->fields == compiled->event.fields, "readers see the same fields", text_of(probe));
}

void check_line(std::string_view line) {
  const auto command = parse_probe_line(line);
  if (!command) {
    require(command.error().column >= 1 && command.error().column <= line.size() + 1,
            "the column is in the line", command.error().message);
    return require_message({ExitCode::usage, command.error().message, {}});
  }
  const auto* probe = std::get_if<ProbeDefinition>(&*command);
  if (probe == nullptr) return;
  const std::string text = text_of(*probe);
  const auto again = parse_probe_line(text);
  // The printed form writes out what was left out, so it may be too long.
  if (text.size() <= kProbeLineMax)
    require(again && *again == *command, "a definition prints and parses back equal", text);
  compile(*probe);
}

}  // namespace

void check_input(std::string_view input) {
  for_each_line(input, check_line);
  if (const auto commands = parse_probes(input); !commands)
    require_error(commands.error(), ExitCode::usage);
}

}  // namespace ktraced::fuzz
