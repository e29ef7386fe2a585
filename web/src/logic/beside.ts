// Two trees of functions beside each other, matched by names: recordings know each other's functions by nothing else.

import type { Frame, Tree } from "./flame";

/** A function in both: its time in A and in B. As wide as both together, so that what is gone is seen as well as what is new. */
export interface Both extends Tree<Both> {
  name: string;
  a: number;
  b: number;
}

export interface Difference {
  /** Names from the outermost function. */
  path: string[];
  a: number;
  b: number;
}

const DEEPEST = 60;

/** One tree of both. What is small on both sides is left out, and no deeper than this. */
export function merge(a: Frame, nameA: (frame: Frame) => string, b: Frame, nameB: (frame: Frame) => string): Both {
  const least = (a.total + b.total) * 0.0004;
  const byName = (frames: readonly Frame[], name: (frame: Frame) => string) => {
    const found = new Map<string, Frame[]>();
    for (const frame of frames) {
      for (const child of frame.children.values()) {
        const key = name(child);
        const known = found.get(key);
        if (known === undefined) found.set(key, [child]);
        else known.push(child);
      }
    }
    return found;
  };
  const total = (frames: readonly Frame[]) => frames.reduce((sum, frame) => sum + frame.total, 0);
  const join = (name: string, parent: Both | null, one: readonly Frame[], other: readonly Frame[]): Both => {
    const [inA, inB] = [total(one), total(other)];
    const both: Both = { name, parent, children: new Map(), depth: parent === null ? 0 : parent.depth + 1, total: inA + inB, a: inA, b: inB };
    if (both.depth >= DEEPEST) return both;
    const [childrenA, childrenB] = [byName(one, nameA), byName(other, nameB)];
    for (const key of new Set([...childrenA.keys(), ...childrenB.keys()])) {
      const [here, there] = [childrenA.get(key) ?? [], childrenB.get(key) ?? []];
      if (total(here) + total(there) >= least) both.children.set(key, join(key, both, here, there));
    }
    return both;
  };
  return join("all", null, [a], [b]);
}

/** What differs most first; only where a difference is not all that of one of its callees. */
export function differences(both: Both): Difference[] {
  const rows: Difference[] = [];
  const least = Math.max(both.a, both.b) * 0.002;
  const walk = (path: string[], node: Both) => {
    const difference = node.b - node.a;
    let isInOne = false;
    for (const child of node.children.values()) {
      const own = child.b - child.a;
      if (Math.abs(own) < least) continue;
      // All of the difference lies further down: that is where it is told.
      if (Math.abs(own - difference) < Math.abs(difference) * 0.03) isInOne = true;
      walk([...path, child.name], child);
    }
    if (!isInOne && path.length > 0 && Math.abs(difference) >= least) rows.push({ path, a: node.a, b: node.b });
  };
  walk([], both);
  return rows.sort((x, y) => Math.abs(y.b - y.a) - Math.abs(x.b - x.a));
}
