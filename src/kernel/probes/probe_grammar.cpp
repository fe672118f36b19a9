// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/probes/probe_grammar.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "kernel/probes/probe_words.h"

namespace ktraced {
namespace {

constexpr uint64_t kMaxactiveMax = 4096;  // as in the kernel
constexpr std::string_view kReturnSuffix = "%return";

// Field names that every event of the kernel's tracing has; other fields must not use them.
constexpr std::array<std::string_view, 8> kReserved = {
    "common_type", "common_flags", "common_preempt_count", "common_pid",
    "common_tgid", "__probe_ip",   "__probe_func",         "__probe_ret_ip"};

bool is_group(std::string_view text) {
  std::string name(text);
  std::ranges::replace(name, '-', '_');
  return is_name(name);
}

struct Names {
  std::string group, event;
};

// [GRP/][EVENT] after the colon.
Parsed<Names> parse_names(Piece text) {
  Names names;
  // The kernel takes '.' as well.
  const size_t slash = std::min(text.text.find('/'), text.text.find('.'));
  if (slash != std::string_view::npos) {
    const Piece group = text.until(slash);
    if (!is_group(group.text))
      return wrong(group.column,
                   "'{}' is not a name of a group: use at most {} letters, digits, '_' and '-', no "
                   "digit first",
                   group.text, kProbeNameMax);
    names.group = group.text;
    text = text.from(slash + 1);
  }
  if (!text.empty() && !is_name(text.text))
    return wrong(text.column,
                 "'{}' is not a name of an event: use at most {} letters, digits and '_', no digit "
                 "first",
                 text.text, kProbeNameMax);
  names.event = text.text;
  return names;
}

Parsed<ProbeCommand> parse_removal(const std::vector<Piece>& words) {
  const Piece& word = words[0];
  if (!word.text.starts_with("-:") || word.text.size() == 2)
    return wrong(word.column, "'{}' removes nothing: write -:GROUP/EVENT, -:EVENT or -:GROUP/",
                 word.text);
  if (words.size() > 1)
    return wrong(words[1].column, "nothing may follow the name of a probe to remove");
  auto names = parse_names(word.from(2));
  if (!names) return std::unexpected(names.error());
  return ProbeRemoval{.group = std::move(names->group), .event = std::move(names->event)};
}

// "p", "r", "r20", with ":[GRP/][EVENT]".
Parsed<> parse_head(Piece word, ProbeDefinition& probe) {
  probe.at_return = word.text.starts_with('r');
  const size_t colon = word.text.find(':');
  const Piece count = word.until(colon).from(1);
  if (!count.empty()) {
    auto maxactive = unsigned_number(count.text);
    if (!maxactive || *maxactive == 0 || *maxactive > kMaxactiveMax)
      return wrong(word.column,
                   "'{}' is not a kind of probe: write p, r or rMAXACTIVE with 1 to {}",
                   word.until(colon).text, kMaxactiveMax);
    if (!probe.at_return)
      return wrong(count.column, "maxactive is for return probes: write r{}", count.text);
    probe.maxactive = static_cast<uint32_t>(*maxactive);
  }
  if (colon == std::string_view::npos) return {};
  if (colon + 1 == word.text.size())
    return wrong(word.column + colon, "a name is missing behind ':'");
  auto names = parse_names(word.from(colon + 1));
  if (!names) return std::unexpected(names.error());
  if (!names->group.empty()) probe.group = std::move(names->group);
  probe.event = std::move(names->event);
  return {};
}

// The bits of an address that are the same after each boot. The others would show users who know
// the names of events where the kernel is.
constexpr uint64_t kPageOffset = 0xfff;

// Generates a name from kind and location, as the kernel does: "p_vfs_read_0". "p_address_010" for
// an address.
std::string made_name(const ProbeDefinition& probe) {
  const ProbeLocation& place = probe.location;
  std::string name =
      place.symbol.empty()
          ? fmt::format("{}_address_{:03x}", probe.at_return ? 'r' : 'p',
                        place.address & kPageOffset)
          : fmt::format("{}_{}_{}", probe.at_return ? 'r' : 'p', place.symbol, place.offset);
  if (name.size() > kProbeNameMax) name.resize(kProbeNameMax);
  for (char& c : name)
    if (!is_name(std::string{'_', c})) c = '_';
  return name;
}

Parsed<> parse_place(Piece word, ProbeDefinition& probe) {
  const bool suffix = word.text.ends_with(kReturnSuffix);
  if (suffix && probe.at_return)
    return wrong(word.column + word.text.size() - kReturnSuffix.size(),
                 "'r' and %return mean the same: leave one out");
  if (suffix) {
    probe.at_return = true;
    word = word.until(word.text.size() - kReturnSuffix.size());
  }
  if (const size_t percent = word.text.find('%'); percent != std::string_view::npos)
    return wrong(word.column + percent, "'{}' is unknown: only %return may stand behind a function",
                 word.text.substr(percent));
  auto location = parse_location(word);
  if (!location) return std::unexpected(location.error());
  probe.location = std::move(*location);
  if (probe.at_return && probe.location.offset != 0)
    return wrong(word.column + word.text.find_first_of("+-"),
                 "a return probe has no offset: it is set on a whole function");
  return {};
}

Parsed<> check_argument(const ProbeDefinition& probe, const ProbeArgument& argument) {
  using Kind = FetchSource::Kind;
  const Kind kind = argument.source.kind;
  const bool is_argument =
      kind == Kind::argument || kind == Kind::all_arguments || kind == Kind::variable;
  if (kind == Kind::return_value && !probe.at_return)
    return wrong(argument.column, "$retval is known at the return: write r instead of p");
  if (is_argument && probe.at_return)
    return wrong(argument.column,
                 "arguments are gone at the return: fetch them by a probe at the entry");
  if (is_argument && probe.location.offset != 0)
    return wrong(argument.column,
                 "arguments are known only at a function's entry: take the offset away or fetch "
                 "registers, as in %di");
  if (kind == Kind::all_arguments && (!argument.name.empty() || !argument.dereferences.empty() ||
                                      argument.type.kind != FetchType::Kind::automatic))
    return wrong(argument.column, "$arg* stands alone, without name, type and +OFFS(…)");
  return {};
}

// Names a value as the kernel does: after its argument, or argN.
Parsed<> name_argument(ProbeArgument& argument, size_t number, std::set<std::string>& taken) {
  const bool by_name = argument.source.kind == FetchSource::Kind::variable &&
                       argument.source.members.empty() && argument.dereferences.empty();
  if (argument.source.kind == FetchSource::Kind::all_arguments) {
    // No value has this name; the names that it stands for are known when it is compiled.
    if (!taken.insert("$arg*").second) return wrong(argument.column, "$arg* is given twice");
    return {};
  }
  if (argument.name.empty())
    argument.name = by_name ? argument.source.name : fmt::format("arg{}", number);
  if (std::ranges::find(kReserved, argument.name) != kReserved.end())
    return wrong(argument.column, "'{}' is a name that every event has: choose another",
                 argument.name);
  if (!taken.insert(argument.name).second)
    return wrong(argument.column, "the name '{}' is given twice", argument.name);
  return {};
}

Parsed<> parse_arguments(const std::vector<Piece>& words, ProbeDefinition& probe) {
  constexpr size_t kFirst = 2;
  std::set<std::string> taken;
  for (size_t i = kFirst; i < words.size(); i++) {
    if (probe.arguments.size() == kProbeArgumentsMax)
      return wrong(words[i].column, "too many values: a probe fetches at most {}",
                   kProbeArgumentsMax);
    auto argument = parse_argument(words[i]);
    if (!argument) return std::unexpected(argument.error());
    if (auto done = check_argument(probe, *argument); !done) return done;
    if (auto done = name_argument(*argument, i - kFirst + 1, taken); !done) return done;
    probe.arguments.push_back(std::move(*argument));
  }
  return {};
}

}  // namespace

Parsed<ProbeCommand> parse_probe_line(std::string_view line) {
  if (line.size() > kProbeLineMax)
    return wrong(kProbeLineMax + 1, "the line is too long: it has {} bytes, and {} are the most",
                 line.size(), kProbeLineMax);
  auto words = words_of(line);
  if (!words) return std::unexpected(words.error());
  if (words->empty()) return wrong(1, "a probe is missing: write p SYMBOL or r SYMBOL");
  const Piece& head = (*words)[0];
  if (head.text[0] == '-') return parse_removal(*words);
  if (head.text[0] != 'p' && head.text[0] != 'r')
    return wrong(head.column,
                 "'{}' is not a kind of probe: a line begins with p (a function's entry or an "
                 "instruction), r (its return) or - (removal)",
                 head.text);
  ProbeDefinition probe;
  if (auto done = parse_head(head, probe); !done) return std::unexpected(done.error());
  if (words->size() < 2)
    return wrong(line.size() + 1, "the place is missing: name a function or an address");
  if (auto done = parse_place((*words)[1], probe); !done) return std::unexpected(done.error());
  if (probe.maxactive != 0 && !probe.at_return)
    return wrong(head.column + 1, "maxactive is for return probes: write r{}", probe.maxactive);
  if (auto done = parse_arguments(*words, probe); !done) return std::unexpected(done.error());
  if (probe.event.empty()) probe.event = made_name(probe);
  return probe;
}

Result<std::vector<ProbeCommand>> parse_probes(std::string_view text) {
  const bool one_line = text.find('\n') >= text.size() - (text.empty() ? 0 : 1);
  std::vector<ProbeCommand> commands;
  for (size_t number = 1; !text.empty(); number++) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const size_t first = line.find_first_not_of(" \t\r");
    if (first == std::string_view::npos || line[first] == '#') continue;
    auto command = parse_probe_line(line);
    if (!command)
      return fail(ExitCode::usage, "{}column {}: {}",
                  one_line ? "" : fmt::format("line {}, ", number), command.error().column,
                  command.error().message);
    commands.push_back(std::move(*command));
  }
  return commands;
}

}  // namespace ktraced
