// SPDX-License-Identifier: BSD-2-Clause
// What Perfetto's own engine makes of exported traces: no errors, and the intervals of reports and queries.
//
//   node engine_test.mjs KTRACECTL PACKAGES MAKE_TRACE TRACE…
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { TraceProcessor } from "./trace_processor.mjs";

const [ktracectl, packages, makeTrace, ...traces] = process.argv.slice(2).map((each) => path.resolve(each));
const directory = mkdtempSync(path.join(tmpdir(), "ktraced-perfetto-"));
after(() => rmSync(directory, { recursive: true }));

const run = (...args) => execFileSync(ktracectl, args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"], maxBuffer: 1 << 28 });
const rowsOf = (trace, sql) => run("query", trace, sql, "--json").split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
const report = (name, trace) => JSON.parse(run("report", name, trace, "--json", "--top", "100000"));

async function imported(trace) {
  const file = path.join(directory, `${path.basename(trace)}.pftrace`);
  run("export", trace, "--to", "perfetto", "-o", file);
  const engine = await TraceProcessor.start(packages);
  engine.load(readFileSync(file));
  return engine;
}

const byKey = (a, b) => (a[0] < b[0] ? -1 : 1);

// The switches away from a thread that the CPU had not been given to: those in between are not in the trace.
function unconnectedSwitches(trace) {
  const running = new Map();
  let count = 0;
  for (const line of run("show", trace, "--format", "json", "--event", "sched_switch").trim().split("\n")) {
    const { event, cpu, lost, args } = JSON.parse(line);
    if (event !== "sched_switch") continue;
    if (lost !== undefined) {
      if (running.has(cpu)) running.set(cpu, 0);  // the export says so, and nothing else is known
      continue;
    }
    if (running.has(cpu) && running.get(cpu) !== args.prev_pid) ++count;
    running.set(cpu, args.next_pid);
  }
  return count;
}

// States that the export ends, because it is not known how they went on, are none that the engine knows.
function hasNoErrors(engine, unconnected, lost) {
  const errors = engine.query("select name, value from stats where severity in ('error', 'data_loss') and value > 0 order by name")
    .filter(({ name }) => lost === 0 || name !== "task_state_invalid");
  const expected = [{ name: "ftrace_cpu_dropped_events_end", value: lost }, { name: "mismatched_sched_switch_tids", value: unconnected }];
  assert.deepEqual(errors, expected.filter(({ value }) => value > 0));
}

function hasTheCalls(engine, syscalls) {
  const slices = engine.query(`select name, count(*) as count, sum(dur) as ns from slice
    where category = 'syscalls' and dur > 0 and extract_arg(arg_set_id, 'debug.end') is null group by name`);
  const rows = syscalls.calls.rows.filter((row) => row.time.count > 0);
  assert(rows.length > 3);
  assert.deepEqual(slices.map((row) => [row.name, row.count, row.ns]).sort(byKey),
                   rows.map((row) => [row.syscall, row.time.count, row.time.total_ns]).sort(byKey));
}

// The engine also shows the runs of those between whom a filtered trace switches.
function hasTheRuns(engine, sched) {
  const runs = new Map(engine.query("select tid, sum(dur) as ns from sched join thread using (utid) where dur >= 0 group by tid")
    .map((row) => [row.tid, row.ns]));
  const rows = sched.threads.rows.filter((row) => row.on_cpu_ns > 0);
  assert(rows.length > 3);
  for (const row of rows) assert.equal(runs.get(row.tid), row.on_cpu_ns, `thread ${row.tid} ${row.comm}`);
}

// ---- states of threads ----

// What the trace says about the states of threads: { tid, state, begin, end }. Without those of the daemon, whose wakeups are not all in
// the trace, and without what the engine leaves open or cannot know: the last two states of a thread, and those before its first run.
function statesIn(trace) {
  const isOther = ({ comm }) => !(comm ?? "").startsWith("ktraced");
  const runs = rowsOf(trace, "SELECT tid, comm, ts, end_ts, state, outcome FROM runs WHERE tid <> 0 ORDER BY ts").filter(isOther);
  const waits = rowsOf(trace, "SELECT tid, comm, ts, end_ts, reason FROM waits").filter(isOther);
  const wakings = rowsOf(trace, "SELECT arg_pid AS tid, ts FROM sched_waking UNION ALL SELECT arg_pid, ts FROM sched_wakeup_new ORDER BY 2");
  const firstWaking = (tid, from, to) => wakings.find((each) => each.tid === tid && each.ts > from && each.ts <= to)?.ts;
  const known = runs.filter(({ outcome }) => outcome === "switch");
  const followed = known.flatMap((run) => {
    const next = runs.find(({ tid, ts }) => tid === run.tid && ts >= run.end_ts);
    return next === undefined ? [] : [{ ...run, next: next.ts }];
  });
  const endBefore = (tid, ts) => known.findLast((run) => run.tid === tid && run.end_ts <= ts)?.end_ts;
  const running = followed.map(({ tid, ts, end_ts }) => ({ tid, state: "Running", begin: ts, end: end_ts }));
  const asleep = followed.filter(({ state }) => !state.startsWith("R")).map(({ tid, state, end_ts, next }) =>
    ({ tid, state, begin: end_ts, end: firstWaking(tid, end_ts, next) ?? next }));
  const runnable = waits.filter(({ tid, end_ts }) => known.some((run) => run.tid === tid && run.ts === end_ts)).flatMap(({ tid, ts, end_ts, reason }) => {
    const before = endBefore(tid, ts) ?? 0;
    const begin = reason === "woken" ? firstWaking(tid, before, end_ts) : before === ts ? ts : undefined;
    return begin === undefined ? [] : [{ tid, state: "R", begin, end: end_ts }];
  });
  assert(running.length > 3 && asleep.length > 1 && runnable.length > 3, "the trace has states");
  return [...running, ...asleep, ...runnable];
}

// Number and sum of the lengths, by thread and state.
function sumsOf(states) {
  const sums = {};
  for (const { tid, state, begin, end } of states) {
    const sum = (sums[`${tid} ${state}`] ??= { count: 0, ns: 0 });
    sum.count += 1;
    sum.ns += end - begin;
  }
  return sums;
}

// Of the engine's states those are compared that begin or end with one of ours. `gap`: switches are missing in this time.
function hasTheStates(engine, trace, gap = { begin: 0, end: 0 }) {
  const ours = statesIn(trace).filter(({ state, begin, end }) => state === "Running" || end <= gap.begin || begin >= gap.end);
  const places = new Set(ours.flatMap(({ tid, state, begin, end }) => [`${tid} ${state} from ${begin}`, `${tid} ${state} to ${end}`]));
  const theirs = engine.query("select tid, thread_state.ts as begin, dur, state from thread_state join thread using (utid) where dur >= 0 and state is not null")
    .map(({ tid, begin, dur, state }) => ({ tid, state: state.replace(/^R\+$/, "R"), begin, end: begin + dur }))
    .filter(({ tid, state, begin, end }) => places.has(`${tid} ${state} from ${begin}`) || places.has(`${tid} ${state} to ${end}`));
  assert.deepEqual(sumsOf(theirs.sort((a, b) => a.begin - b.begin)), sumsOf(ours));
}

// ---- losses ----

const kHeader = { bytes: 80, begin: 24, end: 32, content: 40, packet: 48, number: 56, discarded: 64, lost: 76 };

// A copy of a trace without some switches of CPU 0 in its middle, and what is between them: as if they had been lost.
function withoutSwitches(trace) {
  const copy = path.join(directory, `${path.basename(trace)}-lossy`);
  cpSync(trace, copy, { recursive: true });
  const manifestFile = path.join(copy, "manifest.json"), manifest = JSON.parse(readFileSync(manifestFile, "utf8"));
  const { schema: { events }, cpus: [cpu] } = manifest;
  const switchId = events.find(({ name }) => name === "sched_switch").id;
  const file = path.join(copy, "ctf/cpu0"), bytes = readFileSync(file);
  const records = [];
  for (let at = 0; at < bytes.length;) {
    const end = at + Number(bytes.readBigUInt64LE(at + kHeader.packet)) / 8;
    for (let record = at + kHeader.bytes + 16 * bytes.readUInt32LE(at + kHeader.lost); record < end;) {
      const size = bytes.readUInt16LE(record + 10);
      records.push(bytes.subarray(record, record + size));
      record += size;
    }
    at = end;
  }
  const places = records.map((record, i) => (record.readUInt16LE(8) === switchId ? i : -1)).filter((i) => i >= 0);
  const middle = Math.floor(places.length / 2), first = places[middle], last = places[middle + 6];
  const lost = new Map();
  for (const record of records.slice(first, last)) lost.set(record.readUInt16LE(8), (lost.get(record.readUInt16LE(8)) ?? 0) + 1);
  const entries = [...lost].map(([id, count]) => {
    const account = cpu.events[events.find((event) => event.id === id).name];
    account.records -= count;
    account.lost += count;
    const entry = Buffer.alloc(16);
    entry.writeBigUInt64LE(BigInt(count), 0);
    entry.writeUInt32LE(id, 8);
    return entry;
  });
  const packetOf = (number, content, losses, discarded) => {
    const header = Buffer.from(bytes.subarray(0, kHeader.bytes)), packet = Buffer.concat([header, ...losses, ...content]);
    content[0].copy(packet, kHeader.begin, 0, 8);
    content.at(-1).copy(packet, kHeader.end, 0, 8);
    for (const [at, value] of [[kHeader.content, packet.length * 8], [kHeader.packet, packet.length * 8], [kHeader.number, number], [kHeader.discarded, discarded]])
      packet.writeBigUInt64LE(BigInt(value), at);
    packet.writeUInt32LE(losses.length, kHeader.lost);
    return packet;
  };
  writeFileSync(manifestFile, JSON.stringify(manifest));
  writeFileSync(file, Buffer.concat([packetOf(0, records.slice(0, first), [], 0), packetOf(1, records.slice(last), entries, last - first)]));
  return { copy, gap: { begin: Number(records[first - 1].readBigUInt64LE(0)), end: Number(records[last].readBigUInt64LE(0)) } };
}

// States of CPU 0, and of threads that do not run.
function claimsNothingAcross(engine, { begin, end }) {
  for (const table of ["thread_state", "sched"])
    assert.deepEqual(engine.query(`select tid, ${table}.ts as ts, dur from ${table} join thread using (utid) where tid <> 0 and (cpu is null or cpu = 0)
      and ${table}.ts <= ${begin} and (dur < 0 or ${table}.ts + dur >= ${end})${table === "sched" ? "" : " and state is not null"}`), [], table);
}

assert(traces.length > 0, "no traces");
for (const trace of traces)
  test(path.basename(trace), async (t) => {
    const engine = await imported(trace);
    const sched = report("sched", trace), syscalls = report("syscalls", trace);
    await t.test("the engine finds no errors but losses and switches that are not in the trace",
      () => hasNoErrors(engine, unconnectedSwitches(trace), report("summary", trace).total.lost));
    await t.test("slices of system calls are the calls of the report", () => hasTheCalls(engine, syscalls));
    await t.test("threads run as long as in the report", () => hasTheRuns(engine, sched));
    await t.test("states of threads are the intervals of runs and waits", () => hasTheStates(engine, trace));
  });

for (const trace of traces.filter((each) => each.endsWith("-whole")))
  test(`${path.basename(trace)} without some switches`, async (t) => {
    const damaged = withoutSwitches(trace);
    const engine = await imported(damaged.copy);
    await t.test("the engine finds no errors but losses and switches that are not in the trace",
      () => hasNoErrors(engine, unconnectedSwitches(damaged.copy), report("summary", damaged.copy).total.lost));
    await t.test("no state goes on across the loss", () => claimsNothingAcross(engine, damaged.gap));
    await t.test("the other states are the intervals of runs and waits", () => hasTheStates(engine, damaged.copy, damaged.gap));
  });

test("samples have their callstacks", async () => {
  const trace = path.join(directory, "stacks");
  execFileSync(makeTrace, [trace, "stacks"]);
  const engine = await imported(trace);
  hasNoErrors(engine, 0, 0);
  const innermost = engine.query(`select tid, stack_profile_frame.name as name, count(*) as count from perf_sample join thread using (utid)
    join stack_profile_callsite on callsite_id = stack_profile_callsite.id join stack_profile_frame on frame_id = stack_profile_frame.id
    group by tid, stack_profile_frame.name order by tid, stack_profile_frame.name`);
  assert.deepEqual(innermost.map(({ tid, name, count }) => `${tid} ${name} ${count}`),
                   ["0 [idle] 1", "57 ext4_read 1", "812 [0x401000] 1", "812 ext4_read 1", "813 ext4_read 1"]);
  const depths = engine.query("select depth from perf_sample join stack_profile_callsite on callsite_id = stack_profile_callsite.id order by ts");
  assert.deepEqual(depths.map(({ depth }) => depth), [2, 3, 2, 0, 0]);
});
