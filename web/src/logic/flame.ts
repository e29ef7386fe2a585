// From weights of stacks to trees of functions: who called whom, and for how long.

import type { Code, FlameTile, StateKind } from "../generated/model";
import type { Range } from "./tiles";
import type { Times } from "./address";

/** What is counted. */
export interface Selection {
  range: Range | null;
  times: Times;
  /** Threads by their place; null for all. */
  threads: ReadonlySet<number> | null;
}

/** Time by node of the code's tree and state. */
export interface Weights {
  /** `node * states + state`. */
  ns: Map<number, number>;
  states: number;
  total: number;
  /** Time without a stack, by words. */
  missing: Map<string, number>;
}

export const isCounted = (kind: StateKind | undefined, times: Times) =>
  kind !== undefined && (times === "both" || (times === "cpu") === (kind.group === "cpu"));

/** Sums up tiles that lie beside each other. */
export function weigh(code: Code, states: readonly StateKind[], tiles: readonly FlameTile[], chosen: Selection): Weights {
  const weights: Weights = { ns: new Map(), states: states.length, total: 0, missing: new Map() };
  const isMeant = (thread: number | undefined, state: number | undefined) =>
    thread !== undefined && state !== undefined && (chosen.threads === null || chosen.threads.has(thread)) && isCounted(states[state], chosen.times);
  const add = (node: number, state: number, ns: number) => {
    if (ns <= 0) return;
    const key = node * weights.states + state;
    weights.ns.set(key, (weights.ns.get(key) ?? 0) + ns);
    weights.total += ns;
  };
  const { range } = chosen;
  for (const tile of tiles) {
    // A wait that reaches into two tiles is in both, whole: each counts its own part.
    const from = Math.max(range?.from ?? -Infinity, tile.time.from_ns);
    const until = Math.min(range?.until ?? Infinity, tile.time.until_ns);
    if (until <= from) continue;
    const { long, short, time } = tile;
    for (let i = 0; i < long.node.length; i++) {
      if (!isMeant(long.thread[i], long.state[i])) continue;
      const begin = long.from_ns[i] ?? 0;
      add(long.node[i] ?? 0, long.state[i] ?? 0, Math.min(begin + (long.ns[i] ?? 0), until) - Math.max(begin, from));
    }
    const bucket = Math.max(time.until_ns - time.from_ns, 1) / time.buckets;
    for (let i = 0; i < short.node.length; i++) {
      if (!isMeant(short.thread[i], short.state[i])) continue;
      const begin = time.from_ns + (short.bucket[i] ?? 0) * bucket;
      const share = (Math.min(begin + bucket, until) - Math.max(begin, from)) / bucket;
      add(short.node[i] ?? 0, short.state[i] ?? 0, (short.ns[i] ?? 0) * Math.min(Math.max(share, 0), 1));
    }
    if (range === null) {
      const { rests } = tile;
      for (let i = 0; i < rests.thread.length; i++) {
        if (!isMeant(rests.thread[i], rests.state[i])) continue;
        const words = code.missing[rests.missing[i] ?? 0] ?? "";
        weights.missing.set(words, (weights.missing.get(words) ?? 0) + (rests.ns[i] ?? 0));
      }
    }
  }
  return weights;
}

/** What flame graphs are drawn of: the totals of the children are part of a node's own. */
export interface Tree<T> {
  parent: T | null;
  children: Map<string, T>;
  depth: number;
  total: number;
}

/** A function with all that called it, or with all that it called. */
export interface Frame extends Tree<Frame> {
  /** As an index into the functions of the code; -1 for all; -2 for a state. */
  function: number;
  state: number;
  self: number;
  /** Of the total, on CPU. */
  cpu: number;
}

const frame = (parent: Frame | null, fn: number, state: number): Frame => ({
  function: fn, state, parent, children: new Map(), depth: parent === null ? 0 : parent.depth + 1, total: 0, self: 0, cpu: 0,
});

function child(parent: Frame, fn: number, state: number): Frame {
  const key = `${fn}/${state}`;
  let found = parent.children.get(key);
  if (found === undefined) {
    found = frame(parent, fn, state);
    parent.children.set(key, found);
  }
  return found;
}

export interface Shape {
  /** From the innermost functions to those that called them. */
  up: boolean;
  /** Only functions of the program itself. */
  own: boolean;
  /** A function that calls itself, also by way of others, is told once. */
  mergeRecursion: boolean;
  /** Only what this function took part in, as the root. */
  function: number | null;
}

/** The functions of a stack that are shown, outermost first. */
function stackOf(code: Code, node: number, shape: Shape): number[] {
  const functions: number[] = [];
  for (let at = node + 1; at > 0; at = code.nodes.parent[at - 1] ?? 0) {
    const fn = code.nodes.function[at - 1] ?? 0;
    if (!shape.own || code.functions.kind[fn] === "own") functions.push(fn);
  }
  functions.reverse();
  if (!shape.mergeRecursion) return functions;
  const known = new Map<number, number>();
  const merged: number[] = [];
  for (const fn of functions) {
    const before = known.get(fn);
    if (before !== undefined) {
      // Back to where it was called first.
      for (const gone of merged.splice(before + 1)) known.delete(gone);
      continue;
    }
    known.set(fn, merged.length);
    merged.push(fn);
  }
  return merged;
}

/** The tree of all weights. Each stack ends in what it did, if that is not running. */
export function fold(code: Code, states: readonly StateKind[], weights: Weights, shape: Shape): Frame {
  const root = frame(null, -1, -1);
  const stacks = new Map<number, number[]>();
  for (const [key, ns] of weights.ns) {
    const [node, state] = [Math.floor(key / weights.states), key % weights.states];
    let stack = stacks.get(node);
    if (stack === undefined) {
      stack = stackOf(code, node, shape);
      stacks.set(node, stack);
    }
    let path = stack;
    if (shape.function !== null) {
      const at = shape.up ? stack.lastIndexOf(shape.function) : stack.indexOf(shape.function);
      if (at < 0) continue;
      path = shape.up ? stack.slice(0, at + 1) : stack.slice(at);
    }
    const isCpu = states[state]?.group === "cpu";
    const order = shape.up ? path.slice().reverse() : path;
    let at = root;
    const pass = (one: Frame) => {
      one.total += ns;
      if (isCpu) one.cpu += ns;
      at = one;
    };
    pass(root);
    // From the bottom, the state comes first: what was waited for, and who waited for it.
    if (shape.up && !isCpu && shape.function === null) pass(child(at, -2, state));
    for (const fn of order) pass(child(at, fn, -1));
    if (!shape.up && !isCpu) pass(child(at, -2, state));
    at.self += ns;
  }
  return root;
}

export interface FunctionSum {
  function: number;
  self: number;
  total: number;
}

/** Functions by the time in them alone and with all that they called, longest first. */
export function functionSums(code: Code, weights: Weights): FunctionSum[] {
  const sums = new Map<number, FunctionSum>();
  const sum = (fn: number) => {
    let found = sums.get(fn);
    if (found === undefined) {
      found = { function: fn, self: 0, total: 0 };
      sums.set(fn, found);
    }
    return found;
  };
  const byNode = new Map<number, number>();
  for (const [key, ns] of weights.ns) {
    const node = Math.floor(key / weights.states);
    byNode.set(node, (byNode.get(node) ?? 0) + ns);
  }
  for (const [node, ns] of byNode) {
    const seen = new Set<number>();
    for (let at = node + 1; at > 0; at = code.nodes.parent[at - 1] ?? 0) {
      const fn = code.nodes.function[at - 1] ?? 0;
      if (at === node + 1) sum(fn).self += ns;
      if (!seen.has(fn)) {
        seen.add(fn);
        sum(fn).total += ns;
      }
    }
  }
  return [...sums.values()].sort((a, b) => b.self - a.self || b.total - a.total);
}

/** A rectangle of a flame graph; `x` and `width` as shares of the whole. */
export interface Box<T> {
  frame: T;
  x: number;
  width: number;
  depth: number;
}

/** The rectangles below a frame that are wide enough to be seen, with those that lead to it above. */
export function layout<T extends Tree<T>>(focus: T, least: number): Box<T>[] {
  const boxes: Box<T>[] = [];
  for (let at: T | null = focus.parent; at !== null; at = at.parent) boxes.push({ frame: at, x: 0, width: 1, depth: at.depth });
  const whole = Math.max(focus.total, 1e-9);
  const stack: { frame: T; x: number }[] = [{ frame: focus, x: 0 }];
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const width = next.frame.total / whole;
    if (width < least) continue;
    boxes.push({ frame: next.frame, x: next.x, width, depth: next.frame.depth });
    let x = next.x;
    const children = [...next.frame.children.values()].sort((a, b) => b.total - a.total);
    for (const one of children) {
      stack.push({ frame: one, x });
      x += one.total / whole;
    }
  }
  return boxes;
}

/** The name of a function, as far as it has one. */
export function functionName(code: Code, fn: number): string {
  const name = code.functions.name[fn] ?? "";
  if (name !== "") return name;
  const module = code.modules[(code.functions.module[fn] ?? 0) - 1];
  return module === undefined || module === "" ? "(no name)" : `(no name in ${fileName(module)})`;
}

export const fileName = (path: string) => path.slice(path.lastIndexOf("/") + 1) || path;

/** A stack as lines, innermost first: `store  import.c:73`. */
export function stackLines(code: Code, nodeFromOne: number): { function: number; text: string }[] {
  const lines: { function: number; text: string }[] = [];
  for (let at = nodeFromOne; at > 0; at = code.nodes.parent[at - 1] ?? 0) {
    const fn = code.nodes.function[at - 1] ?? 0;
    const file = code.functions.files[(code.functions.file[fn] ?? 0) - 1];
    const line = code.nodes.line[at - 1] ?? 0;
    const place = file === undefined ? "" : `  ${fileName(file)}${line > 0 ? `:${line}` : ""}`;
    lines.push({ function: fn, text: functionName(code, fn) + place });
  }
  return lines;
}
