// SPDX-License-Identifier: BSD-2-Clause
// What Perfetto's own engine makes of exported traces: no errors, and the intervals of the reports.
//
//   node engine_test.mjs KTRACECTL PACKAGES TRACE…
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { TraceProcessor } from "./trace_processor.mjs";

const [ktracectl, packages, ...traces] = process.argv.slice(2).map((each) => path.resolve(each));
const directory = mkdtempSync(path.join(tmpdir(), "ktraced-perfetto-"));
after(() => rmSync(directory, { recursive: true }));

const run = (...args) => execFileSync(ktracectl, args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"], maxBuffer: 1 << 28 });
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
    const { event, cpu, args } = JSON.parse(line);
    if (event !== "sched_switch") continue;
    if (running.has(cpu) && running.get(cpu) !== args.prev_pid) ++count;
    running.set(cpu, args.next_pid);
  }
  return count;
}

function hasNoErrors(engine, unconnected, lost) {
  const errors = engine.query("select name, value from stats where severity in ('error', 'data_loss') and value > 0 order by name");
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

assert(traces.length > 0, "no traces");
for (const trace of traces)
  test(path.basename(trace), async (t) => {
    const engine = await imported(trace);
    const sched = report("sched", trace), syscalls = report("syscalls", trace);
    await t.test("the engine finds no errors but losses and switches that are not in the trace",
      () => hasNoErrors(engine, unconnectedSwitches(trace), report("summary", trace).total.lost));
    await t.test("slices of system calls are the calls of the report", () => hasTheCalls(engine, syscalls));
    await t.test("threads run as long as in the report", () => hasTheRuns(engine, sched));
  });
