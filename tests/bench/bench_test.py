#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What tests/bench makes of measurements: tables, verdicts, pictures. Measurements are recorded ones; nothing is timed."""
import json
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from growing import curves, machines, section, traces  # noqa: E402
from harness import host, results, svg  # noqa: E402
from hits import cases, rounds, table as hits_table  # noqa: E402
import sample_shares  # noqa: E402
import skipped_table  # noqa: E402
from programs import aims, changes, parts, perf_data, runner, table, tracings  # noqa: E402

MACHINE = {"kernel": "6.18.44", "cpus": 2, "cpu": "AMD EPYC"}


def run_of(tracing, number, value, unit="MB/s", **counts):
    return {"work": "w", "tracing": tracing, "figures": {"w": value}, "units": {"w": unit}, "elapsed_s": 2.0, "events": None,
            "lost": None, "rejected": None, "cpu_s": None, "round": number, **MACHINE, **counts}


def counted(work, when, missed, caught, left, recorded):
    event = {"recorded": recorded, "filtered": 0, "dropped": 0, "ignored": 0, "missed": missed}
    none = dict.fromkeys(event, 0)
    status = {"events": {"sys_enter": event, "sys_exit": none}, "catchers": {"sys_enter": {"caught": caught, "left": left}}}
    return f"counted {work} true {when} {json.dumps(status)}"


class SampleShares(unittest.TestCase):
    SCRIPT = "\n\n".join(["\t401000 spin\n\t401100 work\n"] * 60 + ["\tffffffff81000010 clear\n\t401200 call\n\t401100 work\n"] * 40)

    @staticmethod
    def ours(spins, reads, clear="clear_alias"):
        """A sample's user stack 1 or 2, and kernel stack 9, of process 7."""
        frames = [(1, 7, 0, "401000", "spin"), (1, 7, 1, "401100", "work"), (2, 7, 1, "401100", "work"), (2, 7, 0, "401200", "call"),
                  (9, None, 0, "ffffffff81000010", clear)]
        samples = [(None, 1, spins), (9, 2, reads)]
        names = ("stack", "pid", "depth", "address", "symbol")
        return sample_shares.our_samples(
            [{"kernel_stack": kernel, "user_stack": user, "pid": 7, "count": count} for kernel, user, count in samples],
            [dict(zip(names, frame)) for frame in frames],
            sample_shares.canonical_names(["ffffffff81000000 T clear", "ffffffff81000000 t clear_alias", "0 d data"]))

    def faults(self, ours, least=100):
        return sample_shares.faults(ours, sample_shares.perfs_samples(self.SCRIPT, str), least)

    def test_are_of_the_innermost_function_and_of_all(self):
        perfs = sample_shares.perfs_samples(self.SCRIPT, str)
        self.assertEqual(perfs.shares(), {"spin": (60, 60), "work": (0, 100), "clear": (40, 40), "call": (0, 40)})
        self.assertEqual(self.ours(60, 40).shares(), perfs.shares())
        self.assertIn("spin                                        60.0 %    60.0 %    60.0 %    60.0 %",
                      sample_shares.table(self.ours(60, 40), perfs))

    def test_agree_within_three_points(self):
        self.assertEqual(self.faults(self.ours(60, 40)), [])
        self.assertEqual(self.faults(self.ours(62, 38)), [])
        self.assertIn("spin is innermost in 65.0 % of ktraced's samples and in 60.0 % of perf's", self.faults(self.ours(65, 35)))

    def test_need_samples_and_the_names_that_perf_has(self):
        self.assertEqual(self.faults(self.ours(600, 400), 1000), ["perf has only 100 samples instead of 1000"])
        unnamed = self.faults(self.ours(60, 40, None))
        self.assertIn("perf has clear in 40 samples, and ktraced in none", unnamed)
        self.assertIn("perf calls 0xffffffff81000010 clear, and ktraced has no name for it", unnamed)


class SkippedHits(unittest.TestCase):
    def test_counts_are_differences_and_skipped_hits_are_those_of_the_first_program(self):
        lines = ["preempt full", counted("getppid", "before", 1, 4, 2, 10), counted("getppid", "after", 11, 44, 12, 1000)]
        self.assertEqual(skipped_table.rows(lines), [("getppid", "syscalls", "true", 1000, 40, 10)])

    def test_shares_are_of_the_hits(self):
        self.assertIn("40  4.000 %        10  1.000 %", skipped_table.table([("getppid", "syscalls", "true", 1000, 40, 10)]))

    def test_a_count_that_is_missing_is_an_error(self):
        self.assertRaises(ValueError, skipped_table.rows, [counted("getppid", "before", 1, 4, 2, 10)])


class WholePrograms(unittest.TestCase):
    def test_change_is_against_the_untraced_run_of_the_same_round(self):
        runs = [run_of("nothing", 0, 100), run_of("flight", 0, 90), run_of("nothing", 1, 200), run_of("flight", 1, 160)]
        self.assertEqual([round(change, 6) for change in table.changes(runs, "w")["flight"]], [-0.1, -0.2])

    def test_table_has_median_spread_rates_losses_and_cpu(self):
        runs = [run_of("nothing", n, 100) for n in range(3)]
        runs += [run_of("flight", n, value, events=3_000_000, lost=1_000_000, rejected=0, cpu_s=0.5)
                 for n, value in enumerate((90, 80, 60))]
        self.assertIn("| flight | 80.00 | −20.0 % | −40.0 % to −10.0 % | 1.50 million |  | 25 % | 25.0 % |",
                      table.document(runs))

    def test_what_a_tracing_does_not_know_is_empty(self):
        runs = [run_of("nothing", 0, 100), run_of("empty", 0, 99)]
        self.assertIn("| empty | 99.00 | −1.0 % | −1.0 % to −1.0 % |  |  |  |  |", table.document(runs))

    def test_rejected_hits_are_no_losses(self):
        runs = [run_of("nothing", 0, 100), run_of("rejected", 0, 90, events=0, lost=1, rejected=999, cpu_s=0)]
        self.assertIn("| 0 | 500 | 0.1 % | 0.0 % |", table.document(runs))

    def test_overview_marks_times(self):
        runs = [run_of("nothing", 0, 1, "s"), run_of("ftrace", 0, 1.5, "s")]
        text = table.document(runs)
        self.assertIn("| | w (time) |", text)
        self.assertIn("| ftrace | +50 % |", text)

    def test_raw_results_of_several_runs_make_one_table(self):
        with tempfile.TemporaryDirectory() as directory:
            paths = [pathlib.Path(directory) / name for name in ("a.jsonl", "b.jsonl")]
            for path, number in zip(paths, (0, 1)):
                file = results.ResultFile(path)
                file.add(**run_of("nothing", number, 100))
                file.add(**run_of("flight", number, 80 + 10 * number))
            printed = subprocess.run([HERE / "whole", "--print", *paths], check=True, capture_output=True, text=True).stdout
        self.assertEqual(printed.rstrip("\n"), table.document(
            [run_of(tracing, n, value) for n, flight in ((0, 80), (1, 90)) for tracing, value in (("nothing", 100), ("flight", flight))]))

    def test_rounds_of_several_files_are_not_mixed(self):
        runs = [{**run_of(tracing, 0, value), "file": file} for file, untraced in (("a", 100), ("b", 200))
                for tracing, value in (("nothing", untraced), ("flight", untraced * 0.9))]
        self.assertEqual([round(change, 6) for change in changes.changes(runs, "w")["flight"]], [-0.1, -0.1])
        self.assertIn("medians of 2 rounds", table.document(runs))

    def test_untraced_runs_show_how_much_the_machine_changes(self):
        self.assertIn("| nothing | 100.00 |  | −20.0 % to +10.0 % |", table.document(
            [run_of("nothing", n, value) for n, value in enumerate((100, 80, 110))]))

    def test_slow_down_is_the_longer_time_of_the_same_work(self):
        rates = changes.slow_downs([run_of("nothing", 0, 100), run_of("flight", 0, 80)], "w")
        times = changes.slow_downs([run_of("nothing", 0, 100, "s"), run_of("flight", 0, 125, "s")], "w")
        self.assertEqual((rates["flight"], times["flight"]), ({(None, 0): 0.25}, {(None, 0): 0.25}))

    def test_nothing_measured_is_said(self):
        self.assertEqual(table.document([]), "nothing was measured")

    def test_each_round_begins_with_another_tracing(self):
        self.assertEqual([runner.rotated(["a", "b", "c"], n) for n in range(4)],
                         [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"], ["a", "b", "c"]])

    def test_unknown_names_are_refused(self):
        done = subprocess.run([HERE / "whole", "--work", "dbench,nonsense"], check=False, capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("nonsense is not one of dbench", done.stderr)


def rounds_of(figure="w", counts=None, **times):
    """Runs of one work: by tracing, its times of all rounds. An untraced run takes 100 s."""
    number = max(map(len, times.values()))
    runs = []
    for tracing, values in {"nothing": [100] * number, **times}.items():
        for n, value in enumerate(values):
            runs.append({**run_of(tracing, n, value, "s", **(counts or {}).get(tracing, {})),
                         "figures": {figure: value}, "units": {figure: "s"}})
    return runs


class Aims(unittest.TestCase):
    def verdicts(self, runs, figure="w"):
        return {(one.tracing, one.aim): one.verdict for one in aims.judgements(runs, [figure])}

    def test_medians_decide(self):
        met, = aims.judgements(rounds_of(floor=[120] * 5, flight=[124, 125, 127, 124, 150]), ["w"])
        self.assertEqual((met.verdict, met.rounds_met, met.measured, met.limit), ("met", 3, "+25.0 %", "+26.0 %"))
        missed, = aims.judgements(rounds_of(floor=[120] * 5, flight=[124, 127, 127, 124, 150]), ["w"])
        self.assertEqual((missed.verdict, missed.rounds_met, missed.rounds), ("missed", 2, 5))

    def test_default_configuration_is_allowed_less_in_a_kernel_build(self):
        self.assertEqual(self.verdicts(rounds_of(default=[102] * 5)), {("default", "at most 3 %"): "met"})
        self.assertEqual(self.verdicts(rounds_of(default=[104] * 5)), {("default", "at most 3 %"): "missed"})
        self.assertEqual(self.verdicts(rounds_of("kernel build", default=[102] * 5), "kernel build"),
                         {("default", "at most 1 %"): "missed"})

    def test_flight_recorder_is_compared_with_the_floor_and_ftrace(self):
        runs = rounds_of(floor=[120] * 5, ftrace=[125] * 5, flight=[125] * 5)
        self.assertEqual(self.verdicts(runs), {("flight", "at most 1.3 x floor"): "met", ("flight", "below ftrace"): "missed"})

    def test_filter_for_another_process_must_be_below_the_floor(self):
        self.assertEqual(self.verdicts(rounds_of(floor=[120] * 5, rejected=[119] * 5)), {("rejected", "below the floor"): "met"})
        self.assertEqual(self.verdicts(rounds_of(floor=[120] * 5, rejected=[120] * 5)), {("rejected", "below the floor"): "missed"})

    def test_streams_are_judged_from_a_million_events_a_second(self):
        def verdicts(events):  # in 2 s
            counts = {"stream": {"events": events, "lost": 0, "dropped": 0}}
            return set(self.verdicts(rounds_of(counts=counts, ftrace=[120] * 5, stream=[121] * 5)).values())
        self.assertEqual(verdicts(2_000_000), {"met"})
        self.assertEqual(verdicts(1_999_998), {"too few events"})

    def test_dropped_events_count_as_events_of_a_stream(self):
        runs = rounds_of(counts={"stream": {"events": 900_000, "lost": 0, "dropped": 1_100_000}}, stream=[110] * 5)
        self.assertEqual(self.verdicts(runs), {("stream", "nothing dropped"): "missed"})

    def test_an_event_that_one_round_has_dropped_misses_the_aim(self):
        runs = rounds_of(counts={"stream": {"events": 3_000_000, "lost": 7, "dropped": 0}}, stream=[110] * 5)
        self.assertEqual(self.verdicts(runs), {("stream", "nothing dropped"): "met"})
        runs[-1]["dropped"] = 1
        self.assertEqual(self.verdicts(runs), {("stream", "nothing dropped"): "missed"})
        self.assertIn("| w | stream | 1 of 15,000,001 events | 0 to 1 | nothing dropped |  | 4 of 5 | **missed** |", table.document(runs))

    def test_fewer_than_five_rounds_decide_nothing(self):
        self.assertEqual(self.verdicts(rounds_of(default=[150] * 4)), {("default", "at most 3 %"): "too few rounds"})

    def test_rounds_that_lack_a_run_do_not_count(self):
        runs = rounds_of(floor=[120] * 5, rejected=[110] * 6)
        self.assertEqual([one.rounds for one in aims.judgements(runs, ["w"])], [5])

    def test_nothing_can_be_compared_with_a_slow_down_of_zero(self):
        self.assertEqual(self.verdicts(rounds_of(floor=[100] * 5, flight=[101] * 5)),
                         {("flight", "at most 1.3 x floor"): "floor is not measurable"})

    def test_what_was_not_measured_has_no_row(self):
        self.assertEqual(aims.aim_table(rounds_of(floor=[120] * 5, ftrace=[130] * 5), ["w"]), "")

    def test_missed_aim_names_the_command_that_takes_the_tracing_apart(self):
        text = table.document(rounds_of(default=[104] * 5))
        self.assertIn("| w | default | +4.0 % | +4.0 % to +4.0 % | at most 3 % | +3.0 % | 0 of 5 | **missed** |", text)
        self.assertIn("sudo tests/bench/whole --work w --parts default", text)
        self.assertNotIn("--parts", table.document(rounds_of(default=[102] * 5)))


class Parts(unittest.TestCase):
    FLIGHT = {"flight": [160, 170], "flight-no-catchers": [150, 155], "floor": [130, 130], "empty": [120, 120]}

    def test_part_costs_what_the_next_tracing_is_faster(self):
        text = parts.part_tables(rounds_of(**self.FLIGHT), ["w"])
        self.assertEqual(len(text), 1)
        for row in ("| flight | +65.0 % | catchers | +12.5 % | +10.0 % to +15.0 % |",
                    "| flight-no-catchers | +52.5 % | counters, filter and records | +22.5 % | +20.0 % to +25.0 % |",
                    "| floor | +30.0 % | reading the clock | +10.0 % | +10.0 % to +10.0 % |",
                    "| empty | +20.0 % | hooks and empty programs | +20.0 % | +20.0 % to +20.0 % |"):
            self.assertIn(row, text[0])

    def test_all_tracings_are_needed(self):
        self.assertEqual(parts.part_tables(rounds_of(**{**self.FLIGHT, "floor": []}), ["w"]), [])

    def test_untraced_runs_are_measured_too_and_names_are_unique(self):
        for name in parts.PARTS:
            names = [tracing.name for tracing in parts.tracings_of(name)]
            self.assertEqual((names[0], len(set(names))), ("nothing", len(names)))

    def test_variants_leave_out_groups_and_catchers_only(self):
        without = parts.without_groups(tracings.Flight, "kmem", "sched")
        self.assertEqual(without.config["events"], {"sched": False, "process": True, "kmem": False, "syscalls": True, "signal": True})
        self.assertEqual(parts.without_groups(tracings.Default, "sched").config, {"events": {"sched": False}})
        self.assertEqual(parts.without_catchers(tracings.Flight).config,
                         {**tracings.Flight.config, "exact": {"kmem": False, "syscalls": False}})
        self.assertTrue(tracings.Flight.config["events"]["kmem"])

    def test_parts_replace_the_tracings(self):
        done = subprocess.run([HERE / "whole", "--parts", "flight", "--tracing", "ftrace"], check=False, capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("not allowed with", done.stderr)


def hit_figures(**turn_ns):
    return {"turns": 1000, "hits": 2.0, "rounds": 50, "turn_ns": {"nothing": 100, "empty": 220, "clock": 300, **turn_ns}}


class FakeWorker:
    """Answers stretches with these ns of a turn, by program; each turn has two records."""

    work, hooks = "w", ("group/event",)

    def __init__(self, records=2, **turn_ns):
        self.records, self.turn_ns, self.asked = records, turn_ns, []

    def stretch(self, program, turns):
        self.asked.append(program)
        return round(self.turn_ns[program] * turns), self.records * turns


class FakeCase:
    name, program = "flight", "nothing"

    def __init__(self, seen=0):
        self.turns, self.hits = [], seen

    def turn(self, on):
        self.turns.append(on)

    def seen(self):
        return self.hits


class Hits(unittest.TestCase):
    def cases_of(self, **turn_ns):
        return hits_table.evaluated(hit_figures(**turn_ns))["cases"]

    def test_cost_of_a_hit_is_above_the_untraced_turn_and_compared_with_the_floor(self):
        found = self.cases_of(ftrace=500)
        self.assertEqual((found["empty"]["ns"], found["clock"]["ns"], found["ftrace"]["ns"]), (60, 100, 200))
        self.assertEqual((found["clock"]["of_floor"], found["ftrace"]["of_floor"]), (1, 2))

    def test_aims_are_met_up_to_their_limit(self):
        met = self.cases_of(rejected=260, flight=370, stream=420)
        self.assertEqual([round(met[case]["aim"]["ns"], 6) for case in ("rejected", "flight", "stream")], [80, 135, 160])
        self.assertTrue(all(met[case]["aim"]["met"] for case in ("rejected", "flight", "stream")))
        missed = self.cases_of(rejected=262, flight=372, stream=422)
        self.assertFalse(any(missed[case]["aim"]["met"] for case in ("rejected", "flight", "stream")))
        self.assertNotIn("aim", missed["clock"])

    def test_table_has_costs_ratios_and_aims(self):
        text = hits_table.document({**MACHINE, "measured_cpu": 1}, {"getppid": hit_figures(flight=350, stream=500)})
        self.assertIn("Linux 6.18.44, 2 CPUs (AMD EPYC); measured on CPU 1.", text)
        self.assertIn("| clock (floor) | 100 | 1.00 |  |  |", text)
        self.assertIn("| flight | 125 | 1.25 | 1.35 x floor = 135 | met |", text)
        self.assertIn("| stream | 200 | 2.00 | 1.6 x floor = 160 | missed |", text)
        self.assertNotIn("| nothing |", text)

    def test_json_has_what_was_measured_and_what_follows(self):
        found = hits_table.as_json(MACHINE, {"getppid": hit_figures(flight=350)})
        self.assertEqual(json.loads(json.dumps(found)), found)
        self.assertEqual(found["works"]["getppid"]["turn_ns"]["flight"], 350)
        self.assertEqual(found["works"]["getppid"]["cases"]["flight"]["ns"], 125)

    def test_floor_that_was_not_measurable_has_no_ratios(self):
        self.assertIsNone(self.cases_of(clock=100)["empty"]["of_floor"])

    def test_floor_is_always_measured_and_calls_only_with_calls(self):
        self.assertEqual(cases.names_for("getppid", ["completed"]), ["nothing", "empty", "clock", "completed"])
        self.assertEqual(cases.names_for("procfile", ["completed", "ftrace"]), ["nothing", "empty", "clock", "ftrace"])

    def test_turns_fill_the_stretch(self):
        self.assertEqual(rounds.turns_of(FakeWorker(nothing=123), 5), 41000)
        self.assertEqual(rounds.turns_of(FakeWorker(nothing=1e9), 5), 1)

    def test_hits_are_counted_as_records(self):
        self.assertEqual(rounds.hits_of_a_turn(FakeWorker(ringbuf=1), 1000), 2.0)
        with self.assertRaisesRegex(host.MeasurementError, "no hits of group/event"):
            rounds.hits_of_a_turn(FakeWorker(records=0, ringbuf=1), 1000)

    def test_case_is_on_during_its_stretch_only(self):
        case, worker = FakeCase(), FakeWorker(nothing=7)
        self.assertEqual(rounds.ns_of_a_turn(worker, case, 1000), 7)
        self.assertEqual((case.turns, worker.asked), ([True, False], ["nothing"]))

    def test_case_is_turned_off_when_its_stretch_fails(self):
        case = FakeCase()
        self.assertRaises(KeyError, rounds.ns_of_a_turn, FakeWorker(), case, 1000)
        self.assertEqual(case.turns, [True, False])

    def test_case_that_has_seen_too_few_hits_is_an_error(self):
        cases.check_seen(FakeCase(seen=1010), 10, 1000)
        cases.check_seen(FakeCase(seen=None), None, 1000)
        with self.assertRaisesRegex(host.MeasurementError, "flight has seen 500 of 1,000 hits"):
            cases.check_seen(FakeCase(seen=510), 10, 1000)

    def test_events_of_a_daemon_are_those_of_the_hooks(self):
        hooks = ("raw_syscalls/sys_enter", "raw_syscalls/sys_exit", "kmem/kfree")
        flight = cases.Flight("flight", pathlib.Path("build"), pathlib.Path("work"), hooks)
        self.assertEqual(flight.events(), {"syscalls": ["sys_enter", "sys_exit"], "kmem": ["kfree"]})

    def test_unknown_names_are_refused(self):
        done = subprocess.run([HERE / "floor", "--case", "flight,nonsense"], check=False, capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("nonsense is not one of rejected, flight", done.stderr)


class PerfData(unittest.TestCase):
    def test_samples_and_losses_are_counted(self):
        sample = struct.pack("<IHHQ", perf_data.SAMPLE, 0, 16, 0)
        lost = struct.pack("<IHHQQ", perf_data.LOST, 0, 24, 7, 1000)
        lost_samples = struct.pack("<IHHQ", perf_data.LOST_SAMPLES, 0, 16, 30)
        other = struct.pack("<IHHQ", 3, 0, 16, 0)
        records = sample + lost + other + sample + lost_samples
        header = perf_data.MAGIC + bytes(32) + struct.pack("<QQ", 104, len(records)) + bytes(48)
        with tempfile.NamedTemporaryFile() as file:
            file.write(header + records)
            file.flush()
            self.assertEqual(perf_data.count_records(file.name), (2, 1030))

    def test_another_file_is_refused(self):
        with tempfile.NamedTemporaryFile() as file:
            file.write(bytes(200))
            file.flush()
            with self.assertRaisesRegex(ValueError, "is no perf.data file"):
                perf_data.count_records(file.name)


def points(curve, series, values):
    return [{"curve": curve, "series": series, "x": x, "y": y} for x, y in values]


class Growth(unittest.TestCase):
    def verdict(self, *arguments):
        return curves.verdicts(points(*arguments))[0]

    def test_equal_values_are_flat(self):
        self.assertTrue(self.verdict("filter-cost", "rejected", [(1, 708), (10, 708), (4096, 709)]).holds)

    def test_growing_values_are_not_flat(self):
        verdict = self.verdict("filter-cost", "rejected", [(1, 100), (10, 200), (100, 400), (1000, 800)])
        self.assertFalse(verdict.holds)
        self.assertAlmostEqual(verdict.slope, 0.301, 3)

    def test_zeros_are_flat(self):
        self.assertTrue(self.verdict("cpus-incomplete", "incomplete", [(1, 0), (2, 0), (8, 0)]).holds)

    def test_proportional_values_behind_a_fixed_part_are_linear(self):
        verdict = self.verdict("tasks-time", "snapshot", [(x, 5e6 + 1e3 * x) for x in (10, 100, 1000, 10000, 30000, 50000)])
        self.assertTrue(verdict.holds)

    def test_fixed_part_does_not_hide_that_values_grow_faster(self):
        verdict = self.verdict("filter-set", "set-filter", [(1, 513423), (10, 618285), (100, 1662201), (1000, 13945446), (4096, 91550251)])
        self.assertFalse(verdict.holds)

    def test_quadratic_values_are_not_linear(self):
        self.assertFalse(self.verdict("tasks-time", "snapshot", [(x, x * x) for x in (10, 100, 1000, 10000)]).holds)

    def test_verdicts_are_printed_with_their_ends(self):
        self.assertIn("| A rejected getppid() | process ids in the filter | rejected | flat | 0.00 | 708 instructions at 1 | "
                      "708 instructions at 4,096 | yes |",
                      curves.verdict_table(points("filter-cost", "rejected", [(1, 708), (4096, 708)])))

    def test_report_of_a_machine_gives_points_and_notes(self):
        found, notes = machines.parse("machine 6.12\npoint filter-cost rejected 10 708\nnote limit ktracectl: too many\ndone\n")
        self.assertEqual(found, points("filter-cost", "rejected", [(10, 708)]))
        self.assertEqual(notes, {"limit": "ktracectl: too many"})

    def test_sizes_of_traces_end_with_the_largest(self):
        self.assertEqual(traces.sizes(0.3, 10240), [1, 10, 100, 1000, 10000, 10240])
        self.assertEqual(traces.sizes(1.5, 100), [10, 100])
        self.assertEqual(traces.sizes(0.3, 0), [])

    def test_section_says_which_parts_were_not_measured(self):
        measured = {"filter": {"kernel": "6.12", "notes": {}, "points": []}}
        self.assertIn("\n- not measured: `cpus`, `traces`", section.document(measured, ("cpus", "filter", "traces")))
        self.assertNotIn("not measured", section.document(measured, ("filter",)))

    def test_section_has_verdicts_origins_and_notes(self):
        text = section.document({
            "filter": {"kernel": "6.12", "notes": {"rings": "in an arena", "filter-limit": "too many"},
                       "points": points("filter-cost", "rejected", [(1, 708), (4096, 708)])},
            "events": {"kernel": "6.12", "notes": {"rings": "in an arena"}, "points": []},
            "traces": {**MACHINE, "notes": {}, "points": points("trace-time", "show", [(1, 1), (10, 10), (100, 100)])}},
            ("filter", "events", "traces"))
        self.assertIn("| A rejected getppid() |", text)
        self.assertIn("| CPU time of ktracectl |", text)
        self.assertIn("- `filter`, `events`: Linux 6.12 in a virtual machine, rings in an arena\n", text)
        self.assertIn("- `traces`: Linux 6.18.44, 2 CPUs (AMD EPYC)\n", text)
        self.assertTrue(text.endswith("- filter-limit: too many"))

    def test_section_replaces_what_is_between_its_marks(self):
        with tempfile.TemporaryDirectory() as directory:
            page = pathlib.Path(directory) / "page.md"
            page.write_text(f"before\n{section.BEGIN}\nold\n{section.END}\nafter\n", encoding="utf-8")
            for text in ("new", "newer"):
                section.replace(page, text)
            self.assertEqual(page.read_text(encoding="utf-8"), f"before\n{section.BEGIN}\n\nnewer\n\n{section.END}\nafter\n")
            page.write_text("no marks", encoding="utf-8")
            self.assertRaisesRegex(host.MeasurementError, "lacks the lines", section.replace, page, "new")

    def test_machine_that_fails_or_dies_is_an_error(self):
        with self.assertRaisesRegex(host.MeasurementError, "no bench_work"):
            machines.parse("failed: no bench_work\ndone\n")
        with self.assertRaisesRegex(host.MeasurementError, "has not ended"):
            machines.parse("point filter-cost rejected 10 708\n")


class Pictures(unittest.TestCase):
    def drawn(self, log=""):
        text = svg.page([svg.chart("A < B", "x", "y", {"one": [(1, 10), (10, 100)], "two": [(1, 0), (10, 5)]}, log)])
        return xml.etree.ElementTree.fromstring(text)

    def test_page_is_xml_with_a_line_for_each_series(self):
        names = {"svg": "http://www.w3.org/2000/svg"}
        root = self.drawn()
        self.assertEqual(len(root.findall(".//svg:path", names)), 2)
        self.assertIn("A < B", [text.text for text in root.iterfind(".//svg:text", names)])

    def test_values_that_a_logarithmic_axis_has_not_are_left_out(self):
        names = {"svg": "http://www.w3.org/2000/svg"}
        self.assertEqual(len(self.drawn("xy").findall(".//svg:circle", names)), 3)

    def test_linear_axes_begin_at_zero(self):
        axis = svg.Axis.over([400, 708], False)
        self.assertEqual((axis.at(0), axis.high), (0, 800))

    def test_committed_picture_and_page_show_the_committed_values(self):
        committed = (host.ROOT / "docs/images/growth.svg", host.ROOT / "docs/performance.md")
        with tempfile.TemporaryDirectory() as directory:
            picture, page = (pathlib.Path(directory) / file.name for file in committed)
            shutil.copy(committed[1], page)
            subprocess.run([HERE / "growth", "--draw", "--svg", picture, "--page", page], check=True, capture_output=True)
            for new, old in zip((picture, page), committed):
                self.assertEqual(new.read_text(encoding="utf-8"), old.read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main()
