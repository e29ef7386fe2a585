// Pieces of a lane: where each begins, and which of them a moment lies in.

import type { Band, Pieces } from "../generated/model";

/** Pieces with their own moments instead of gaps; made once for each tile. */
export interface Placed {
  from: Float64Array;
  until: Float64Array;
  pieces: Pieces;
}

const known = new WeakMap<Pieces, Placed>();

export function placed(pieces: Pieces, fromNs: number): Placed {
  const found = known.get(pieces);
  if (found !== undefined) return found;
  const length = pieces.ns.length;
  const made: Placed = { from: new Float64Array(length), until: new Float64Array(length), pieces };
  let at = fromNs;
  for (let i = 0; i < length; i++) {
    at += pieces.gap[i] ?? 0;
    made.from[i] = at;
    at += pieces.ns[i] ?? 0;
    made.until[i] = at;
  }
  known.set(pieces, made);
  return made;
}

/** The first piece that ends after a moment. */
export function firstAfter(lane: Placed, at: number): number {
  let [low, high] = [0, lane.until.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((lane.until[middle] ?? 0) <= at) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The piece at a moment, or -1. */
export function pieceAt(lane: Placed, at: number): number {
  const first = firstAfter(lane, at);
  return first < lane.from.length && (lane.from[first] ?? Infinity) <= at ? first : -1;
}

/** An operation of a band. */
export interface BandPiece {
  thread: number;
  from: number;
  until: number;
}

/** The operation at a moment; of several the one that began first, which is the one that is drawn. */
export function bandPiece(band: Pick<Band, "from_ns" | "ns" | "thread"> | undefined, at: number): BandPiece | null {
  if (band === undefined) return null;
  const found = band.from_ns.findIndex((from, index) => from <= at && at < from + (band.ns[index] ?? 0));
  const [from, thread] = [band.from_ns[found], band.thread[found]];
  return from === undefined || thread === undefined ? null : { thread, from, until: from + (band.ns[found] ?? 0) };
}
