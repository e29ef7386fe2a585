import { expect, test } from "vitest";
import { differences, merge, type Both } from "../src/logic/beside";
import { fold, functionName, functionSums, layout, stackLines, weigh, type Frame, type Selection, type Shape } from "../src/logic/flame";
import type { Code, FlameTile, StateKind } from "../src/generated/model";

const STATES: StateKind[] = [
  { key: "cpu", word: "on CPU", group: "cpu" },
  { key: "wait.flush", word: "fsync", group: "disk" },
];

// main -> store -> fsync; main -> store -> store (itself) -> write; main -> (libc) printf
const CODE: Code = {
  modules: ["/bin/import", "/lib/libc.so.6"],
  functions: {
    name: ["main", "store", "fsync", "write", "printf", ""], module: [1, 1, 2, 2, 2, 2], file: [1, 1, 0, 0, 0, 0],
    kind: ["own", "own", "runtime", "runtime", "runtime", "runtime"], files: ["/src/import.c"],
  },
  nodes: {
    parent: [0, 1, 2, 2, 4, 1], function: [0, 1, 2, 1, 3, 4], line: [106, 73, 0, 80, 0, 0], cut: [0, 0, 0, 0, 0, 0],
  },
  missing: ["(in short waits)"],
};

const TILE: FlameTile = {
  time: { level: 0, tile: 0, from_ns: 0, until_ns: 1000, buckets: 10 },
  long: { node: [2], thread: [0], state: [1], from_ns: [100], ns: [400] },
  short: { node: [4, 5], thread: [0, 1], state: [0, 0], bucket: [0, 9], ns: [60, 40], count: [3, 2] },
  rests: { thread: [0], missing: [0], state: [1], ns: [7] },
  is_complete: false,
};

const ALL: Selection = { range: null, times: "both", threads: null };
const SHAPE: Shape = { up: false, own: false, mergeRecursion: true, function: null };
const told = (root: Frame): Record<string, number> => {
  const lines: Record<string, number> = {};
  const walk = (frame: Frame, path: string) => {
    const name = frame.function === -2 ? `[${STATES[frame.state]?.word}]` : frame.function === -1 ? "" : functionName(CODE, frame.function);
    const here = path === "" ? name : `${path} ${name}`;
    if (frame.self > 0) lines[here] = frame.self;
    for (const child of frame.children.values()) walk(child, here);
  };
  walk(root, "");
  return lines;
};
const folded = (chosen: Selection, shape: Partial<Shape>) => told(fold(CODE, STATES, weigh(CODE, STATES, [TILE], chosen), { ...SHAPE, ...shape }));

test("all time is in the tree, and what has no stack is beside it", () => {
  const weights = weigh(CODE, STATES, [TILE], ALL);
  expect(weights.total).toBe(500);
  expect(Object.fromEntries(weights.missing)).toEqual({ "(in short waits)": 7 });
  const root = fold(CODE, STATES, weights, SHAPE);
  expect(root.total).toBe(500);
  expect(root.cpu).toBe(100);
});

test("stacks end in what they waited for, and recursion is told once", () => {
  expect(folded(ALL, {})).toEqual({ "main store fsync [fsync]": 400, "main store write": 60, "main printf": 40 });
  expect(folded(ALL, { mergeRecursion: false })).toEqual({ "main store fsync [fsync]": 400, "main store store write": 60, "main printf": 40 });
});

test("from the bottom, callers come below", () => {
  expect(folded(ALL, { up: true })).toEqual({ "[fsync] fsync store main": 400, "write store main": 60, "printf main": 40 });
});

test("only own code, one kind of time, one thread, one function", () => {
  expect(folded(ALL, { own: true })).toEqual({ "main store [fsync]": 400, "main store": 60, main: 40 });
  expect(folded({ ...ALL, times: "cpu" }, {})).toEqual({ "main store write": 60, "main printf": 40 });
  expect(folded({ ...ALL, times: "waits" }, {})).toEqual({ "main store fsync [fsync]": 400 });
  expect(folded({ ...ALL, threads: new Set([1]) }, {})).toEqual({ "main printf": 40 });
  expect(folded(ALL, { function: 1 })).toEqual({ "store fsync [fsync]": 400, "store write": 60 });
  expect(folded(ALL, { function: 1, up: true })).toEqual({ "store main": 460 });
});

test("a range counts the part of a wait that lies within it, and of a bucket its share", () => {
  const half = { ...ALL, range: { from: 300, until: 950 } };
  expect(folded(half, {})).toEqual({ "main store fsync [fsync]": 200, "main printf": 20 });
});

test("a wait that reaches into two tiles is counted once", () => {
  const halves = [0, 1].map((tile): FlameTile => ({
    ...TILE,
    time: { level: 1, tile, from_ns: tile * 250, until_ns: (tile + 1) * 250, buckets: 10 },
    short: { node: [], thread: [], state: [], bucket: [], ns: [], count: [] },
  }));
  expect(weigh(CODE, STATES, halves, { ...ALL, range: { from: 0, until: 500 } }).total).toBe(400);
});

test("functions are summed alone and with what they called, each once for a stack", () => {
  const sums = functionSums(CODE, weigh(CODE, STATES, [TILE], ALL));
  const by = Object.fromEntries(sums.map((sum) => [functionName(CODE, sum.function), [sum.self, sum.total]]));
  expect(by).toEqual({ fsync: [400, 400], write: [60, 60], printf: [40, 40], main: [0, 500], store: [0, 460] });
});

test("boxes lie within their callers", () => {
  const root = fold(CODE, STATES, weigh(CODE, STATES, [TILE], ALL), SHAPE);
  const boxes = layout(root, 0);
  const of = new Map(boxes.map((box) => [box.frame, box]));
  for (const box of boxes) {
    const parent = box.frame.parent === null ? undefined : of.get(box.frame.parent);
    if (parent === undefined) continue;
    expect(box.x).toBeGreaterThanOrEqual(parent.x - 1e-9);
    expect(box.x + box.width).toBeLessThanOrEqual(parent.x + parent.width + 1e-9);
    expect(box.depth).toBe(parent.depth + 1);
  }
  expect(layout(root, 0.5).length).toBeLessThan(boxes.length);
});

test("code without a name goes by its module, and a stack has its lines", () => {
  expect(functionName(CODE, 5)).toBe("(no name in libc.so.6)");
  expect(stackLines(CODE, 2).map((line) => line.text)).toEqual(["store  import.c:73", "main  import.c:106"]);
  expect(stackLines(CODE, 0)).toEqual([]);
});

test("two trees differ where a difference is not all that of a callee", () => {
  const a = fold(CODE, STATES, weigh(CODE, STATES, [TILE], ALL), SHAPE);
  const b = fold(CODE, STATES, weigh(CODE, STATES, [TILE], { ...ALL, times: "cpu" }), SHAPE);
  const name = (frame: Frame) => (frame.function === -2 ? "[fsync]" : functionName(CODE, frame.function));
  const both = merge(a, name, b, name);
  const [first, ...others] = differences(both);
  expect(first?.path).toEqual(["main", "store", "fsync", "[fsync]"]);
  expect([first?.a, first?.b]).toEqual([400, 0]);
  expect(others).toEqual([]);
  expect(differences(merge(a, name, a, name))).toEqual([]);
  // Both together are as wide as what they are made of, at each depth.
  const check = (node: Both) => {
    expect(node.total).toBe(node.a + node.b);
    let sum = 0;
    for (const child of node.children.values()) {
      expect(child.depth).toBe(node.depth + 1);
      sum += child.total;
      check(child);
    }
    expect(sum).toBeLessThanOrEqual(node.total);
  };
  check(both);
  expect([both.a, both.b]).toEqual([a.total, b.total]);
});
