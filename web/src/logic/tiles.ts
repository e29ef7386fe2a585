// Which tiles a stretch of time needs, and which of those at hand cover it.

import type { TileTime } from "../generated/model";

/** From a moment to another, in nanoseconds. */
export interface Range {
  from: number;
  until: number;
}

/** Levels end where the contract says. */
export const DEEPEST = 40;

export const lengthOf = (range: Range) => Math.max(range.until - range.from, 0);

/** The level at which a bucket is no longer than a pixel, or as deep as there may be. */
export function levelFor(all: Range, nsPerPixel: number, buckets: number): number {
  const pixels = lengthOf(all) / Math.max(nsPerPixel, 1e-9);
  const level = Math.ceil(Math.log2(Math.max(pixels / buckets, 1)) - 1e-9);
  return Math.min(Math.max(level, 0), DEEPEST);
}

/** The tiles of a level that a range lies in. */
export function tilesOf(all: Range, range: Range, level: number): number[] {
  const count = 2 ** level;
  const each = Math.max(lengthOf(all), 1) / count;
  const first = clamp(Math.floor((range.from - all.from) / each), 0, count - 1);
  const last = clamp(Math.ceil((range.until - all.from) / each) - 1, first, count - 1);
  const tiles: number[] = [];
  for (let tile = first; tile <= last; tile++) tiles.push(tile);
  return tiles;
}

export const clamp = (value: number, least: number, most: number) => Math.min(Math.max(value, least), most);

/** A range of a certain length at least, within the whole. */
export function within(all: Range, range: Range, least = 1_000): Range {
  const length = clamp(lengthOf(range), Math.min(least, lengthOf(all)), lengthOf(all));
  const middle = (range.from + range.until) / 2;
  const from = clamp(middle - length / 2, all.from, all.until - length);
  return { from, until: from + length };
}

/** The same range so many times as long, with a moment staying where it is. */
export function zoomed(all: Range, range: Range, at: number, factor: number): Range {
  const from = at - (at - range.from) * factor;
  return within(all, { from, until: from + lengthOf(range) * factor });
}

export function moved(all: Range, range: Range, share: number): Range {
  const length = lengthOf(range);
  const from = clamp(range.from + length * share, all.from, all.until - length);
  return { from, until: from + length };
}

export const bucketNs = (time: TileTime) => Math.max(time.until_ns - time.from_ns, 1) / Math.max(time.buckets, 1);

/** Tiles that were asked for, and those that are there. */
export class TileStore<T> {
  private readonly there = new Map<string, T>();
  private readonly asked = new Set<string>();

  constructor(
    private readonly ask: (level: number, tile: number) => Promise<T>,
    private readonly has: (level: number, tile: number) => boolean,
    /** Called with how many more are under way, each time that one is asked for or settled. */
    private readonly changed: (more: 1 | -1) => void,
    private readonly isComplete: (tile: T) => boolean,
  ) {}

  /** The tile, or the one above it that is there; asks for what is missing and would say more. */
  best(level: number, tile: number): T | undefined {
    const exact = this.there.get(`${level}/${tile}`);
    if (exact !== undefined) return exact;
    let above: T | undefined;
    for (let [l, t] = [level - 1, Math.floor(tile / 2)]; l >= 0; l--, t = Math.floor(t / 2)) {
      above = this.there.get(`${l}/${t}`);
      if (above !== undefined) break;
    }
    if (above === undefined || !this.isComplete(above)) this.want(level, tile);
    return above;
  }

  /** Asks for a tile, or where there is none for the nearest above it. */
  private want(level: number, tile: number): void {
    while (level > 0 && !this.has(level, tile)) {
      level -= 1;
      tile = Math.floor(tile / 2);
    }
    const key = `${level}/${tile}`;
    if (this.asked.has(key)) return;
    this.asked.add(key);
    this.changed(1);
    this.ask(level, tile).then(
      (answer) => {
        this.there.set(key, answer);
        this.changed(-1);
      },
      () => {
        this.asked.delete(key);
        this.changed(-1);
      },
    );
  }
}
