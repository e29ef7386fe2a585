// Two trees of functions beside each other, matched by names: recordings know each other's functions by nothing else.

import type { Frame } from "./flame";

export interface Difference {
  /** Names from the outermost function. */
  path: string[];
  a: number;
  b: number;
}

const DEEPEST = 60;

/** What differs most first; only where a difference is not all that of one of its callees. */
export function beside(a: Frame, nameA: (frame: Frame) => string, b: Frame, nameB: (frame: Frame) => string): Difference[] {
  const rows: Difference[] = [];
  const least = Math.max(a.total, b.total) * 0.002;
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
  const total = (frames: readonly Frame[] | undefined) => (frames ?? []).reduce((sum, frame) => sum + frame.total, 0);
  const walk = (path: string[], one: readonly Frame[], other: readonly Frame[]) => {
    const [inA, inB] = [byName(one, nameA), byName(other, nameB)];
    const difference = total(other) - total(one);
    let isInOne = false;
    for (const name of new Set([...inA.keys(), ...inB.keys()])) {
      const [childA, childB] = [inA.get(name) ?? [], inB.get(name) ?? []];
      const own = total(childB) - total(childA);
      if (Math.abs(own) < least) continue;
      // All of the difference lies further down: that is where it is told.
      if (Math.abs(own - difference) < Math.abs(difference) * 0.03) isInOne = true;
      if (path.length < DEEPEST) walk([...path, name], childA, childB);
    }
    if (!isInOne && path.length > 0 && Math.abs(difference) >= least) rows.push({ path, a: total(one), b: total(other) });
  };
  walk([], [a], [b]);
  return rows.sort((x, y) => Math.abs(y.b - y.a) - Math.abs(x.b - x.a));
}
