import { expect, test } from "vitest";
import { alike } from "../src/logic/alike";
import { added, bars } from "../src/logic/histogram";
import { bandPiece, firstAfter, pieceAt, placed } from "../src/logic/pieces";
import { heightOf, openAtFirst, rowsOf, visible } from "../src/logic/rows";
import type { Overview, Pieces, ProcessRow, ThingRow, ThreadRow } from "../src/generated/model";

const sums = { cpu_ns: 0, runnable_ns: 0, blocked_ns: 0, overhead_ns: 0, unknown_ns: 0 };

function overview(threadsOf: readonly number[]): Overview {
  const processes: ProcessRow[] = [];
  const threads: ThreadRow[] = [];
  threadsOf.forEach((count, at) => {
    processes.push({
      process: at, pid: 100 + at, name: `p${at}`, executable: "", arguments: [], parent: null, start_ns: 0, end_ns: 9,
      first_thread: threads.length, thread_count: count, sums,
    });
    for (let i = 0; i < count; i++) {
      threads.push({ thread: threads.length, tid: 1000 + threads.length, name: `t${at}-${i}`, process: at, start_ns: 0, end_ns: 9, sums, on_path_ns: 0, is_housekeeping: false });
    }
  });
  return {
    contract: 1, tool_version: "", name: "", command: [], directory: "", started_unix_ns: 0, from_ns: 0, until_ns: 9, wall_ns: 9, exit_code: 0,
    exit_signal: null, size_bytes: 0, spans: 0, states: [], wake_sources: [], processes, threads, processors: [0, 3], lanes_per_chunk: 64,
    main_thread: 0, has: { stacks: true, calls: true, b: false, any_prediction: true }, thinned: [],
  };
}

const choice = { lanes: "threads" as const, open: new Set<number>(), search: "", process: null, bands: [] };

test("a process with one thread is one row, others open and close", () => {
  const recorded = overview([1, 3]);
  expect(rowsOf(recorded, choice).map((row) => row.kind)).toEqual(["path", "thread", "process"]);
  const rows = rowsOf(recorded, { ...choice, open: new Set([1]) });
  expect(rows.map((row) => row.label)).toEqual(["critical path", "p0(100)", "p1(101)", "t1-0(1001)", "t1-1(1002)", "t1-2(1003)"]);
  expect(rowsOf(recorded, { ...choice, lanes: "processors" }).map((row) => row.label)).toEqual(["critical path", "CPU 0", "CPU 3"]);
  expect(rowsOf(recorded, { ...choice, bands: ["requests", "loop"] }).map((row) => row.kind)).toEqual(["path", "band", "band", "thread", "process"]);
});

test("a search opens what it finds, and only that", () => {
  const recorded = overview([1, 3]);
  expect(rowsOf(recorded, { ...choice, search: "T1-2" }).map((row) => row.label)).toEqual(["critical path", "p1(101)", "t1-2(1003)"]);
  expect(rowsOf(recorded, { ...choice, search: "nobody" }).map((row) => row.kind)).toEqual(["path"]);
});

test("twenty thousand threads stay folded, and few rows are drawn", () => {
  const recorded = overview([2, 20_000]);
  const open = openAtFirst(recorded);
  expect([...open]).toEqual([0]);
  const rows = rowsOf(recorded, { ...choice, open: new Set([0, 1]) });
  expect(rows.length).toBe(20_005);
  const shown = visible(rows, 200_000, 600);
  expect(shown.length).toBeLessThan(40);
  expect(shown[0]?.y).toBeLessThanOrEqual(200_000);
  expect(heightOf(rows)).toBeGreaterThan(20_000 * 20);
  expect(visible(rows, heightOf(rows), 100)).toEqual([]);
});

const PIECES: Pieces = { gap: [5, 0, -2], ns: [10, 20, 5], state: [0, 1, 0], thread: [], thing: [], node: [], waker: [], source: [] };

test("pieces lie one after the other, also where a gap is negative", () => {
  const lane = placed(PIECES, 100);
  expect([...lane.from]).toEqual([105, 115, 133]);
  expect([...lane.until]).toEqual([115, 135, 138]);
  expect(pieceAt(lane, 104)).toBe(-1);
  expect(pieceAt(lane, 105)).toBe(0);
  expect(pieceAt(lane, 115)).toBe(1);
  expect(pieceAt(lane, 137)).toBe(2);
  expect(pieceAt(lane, 138)).toBe(-1);
  expect(firstAfter(lane, 0)).toBe(0);
  expect(placed(PIECES, 100)).toBe(lane);
});

test("a histogram has all its bars, also the empty ones between", () => {
  expect(bars({ bucket: [3, 5], count: [2, 1] })).toEqual([
    { from: 8, until: 16, count: 2 },
    { from: 16, until: 32, count: 0 },
    { from: 32, until: 64, count: 1 },
  ]);
  expect(bars({ bucket: [0], count: [4] })).toEqual([{ from: 0, until: 2, count: 4 }]);
  expect(bars({ bucket: [], count: [] })).toEqual([]);
  expect(added([{ bucket: [5], count: [1] }, { bucket: [3, 5], count: [2, 3] }])).toEqual({ bucket: [3, 5], count: [2, 4] });
});

test("connections to one peer are one row that holds them all", () => {
  const thing = (id: number, name: string, call_ns: number): ThingRow => ({
    id, kind: "socket", name, path: null, filesystem: null, size: null, local: null, remote: null, calls: 1, call_ns, bytes: 10, errors: 0,
    is_estimated: id === 2, waits: 0, wait_ns: 0, on_path_ns: 0,
  });
  const rows = alike([thing(1, "db:5432", 5), thing(2, "db:5432", 9), thing(3, "log", 7)]);
  expect(rows.map((row) => [row.name, row.calls, row.call_ns, row.is_estimated])).toEqual([["db:5432", 2, 14, true], ["log", 1, 7, false]]);
  expect(rows[0]?.rows.map((row) => row.id)).toEqual([2, 1]);
});

test("an operation of a band is found by its moment, with its thread", () => {
  const band = { from_ns: [100, 150, 300], ns: [100, 20, 50], thread: [3, 4, 5] };
  expect(bandPiece(band, 160)).toEqual({ thread: 3, from: 100, until: 200 });
  expect(bandPiece(band, 349)).toEqual({ thread: 5, from: 300, until: 350 });
  for (const at of [99, 200, 350]) expect(bandPiece(band, at)).toBe(null);
  expect(bandPiece(undefined, 0)).toBe(null);
});
