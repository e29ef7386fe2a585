// A lane in a tile: long pieces as rectangles, short ones as a picture that is made once and stretched from then on.

import type { Lane, Pieces, StateKind, Sums, TileTime } from "../generated/model";
import { firstAfter, placed } from "../logic/pieces";
import { bucketNs, type Range } from "../logic/tiles";
import { GROUPS, inkOn, rgb, type Palette } from "./palette";
import type { Pen } from "./pen";

/** From time to pixels. */
export interface Scale {
  range: Range;
  x: number;
  width: number;
}

export const xOf = (scale: Scale, at: number) => scale.x + ((at - scale.range.from) / (scale.range.until - scale.range.from)) * scale.width;
export const nsPerPixel = (scale: Scale) => (scale.range.until - scale.range.from) / Math.max(scale.width, 1);

export interface Stripe {
  pieces: Pieces;
  sums: Sums;
}

interface Picture {
  canvas: HTMLCanvasElement;
  palette: Palette;
  most: number;
}

const pictures = new WeakMap<Sums, Picture>();
const TALL = 16;

/** Columns of a bucket each, with what there was in it from the bottom up; `most` is a full column. */
function picture(sums: Sums, time: TileTime, states: readonly StateKind[], palette: Palette, most: number): HTMLCanvasElement {
  const found = pictures.get(sums);
  if (found !== undefined && found.palette === palette && found.most === most) return found.canvas;
  const canvas = document.createElement("canvas");
  canvas.width = time.buckets;
  canvas.height = TALL;
  const context = canvas.getContext("2d");
  if (context !== null) {
    const image = context.createImageData(time.buckets, TALL);
    const columns = new Float64Array(time.buckets * GROUPS.length);
    for (let i = 0; i < sums.bucket.length; i++) {
      const group = states[sums.state[i] ?? 0]?.group ?? "unknown";
      const at = (sums.bucket[i] ?? 0) * GROUPS.length + GROUPS.indexOf(group);
      columns[at] = (columns[at] ?? 0) + (sums.ns[i] ?? 0);
    }
    const colors = GROUPS.map((group) => rgb(palette.groups[group]));
    for (let bucket = 0; bucket < time.buckets; bucket++) {
      let filled = 0;
      for (let group = 0; group < GROUPS.length; group++) {
        const part = (columns[bucket * GROUPS.length + group] ?? 0) / most;
        if (part <= 0) continue;
        const from = Math.round(filled * TALL);
        filled = Math.min(filled + part, 1);
        // What there is can be seen, however little.
        const until = Math.max(Math.round(filled * TALL), Math.min(from + 1, TALL));
        const [r, g, b] = colors[group] ?? [0, 0, 0];
        for (let y = from; y < until; y++) {
          const at = ((TALL - 1 - y) * time.buckets + bucket) * 4;
          image.data[at] = r;
          image.data[at + 1] = g;
          image.data[at + 2] = b;
          image.data[at + 3] = 255;
        }
      }
    }
    context.putImageData(image, 0, 0);
  }
  pictures.set(sums, { canvas, palette, most });
  return canvas;
}

/** Draws what a tile says of a lane, between two moments. Names are drawn by whoever has drawn all tiles: they may reach into the next. */
export function drawStripe(
  pen: Pen, stripe: Stripe | Lane, time: TileTime, part: Range, scale: Scale, y: number, height: number,
  states: readonly StateKind[], palette: Palette, full: number, words: boolean,
): (() => void)[] {
  const { pieces, sums } = stripe;
  const each = bucketNs(time);
  if (sums.bucket.length > 0) {
    const image = picture(sums, time, states, palette, each * full);
    const [first, last] = [(part.from - time.from_ns) / each, (part.until - time.from_ns) / each];
    const x = Math.round(xOf(scale, part.from));
    pen.image(image, first, Math.max(last - first, 1e-6), x, y, Math.round(xOf(scale, part.until)) - x, height);
  }
  const lane = placed(pieces, time.from_ns);
  const pixel = nsPerPixel(scale);
  const named: (() => void)[] = [];
  let drawn = -Infinity;
  for (let i = firstAfter(lane, part.from); i < lane.from.length; i++) {
    const from = Math.max(lane.from[i] ?? 0, part.from);
    if (from >= part.until) break;
    const until = Math.min(lane.until[i] ?? 0, part.until);
    // Of several within one pixel the first is enough.
    if (until - drawn < pixel * 0.5) continue;
    drawn = until;
    const state = states[pieces.state[i] ?? 0];
    const group = state?.group ?? "unknown";
    const color = palette.groups[group];
    // Whole pixels, so that neighbours meet without a seam.
    const x = Math.round(xOf(scale, from));
    const width = Math.max(Math.round(xOf(scale, until)) - x, 1);
    // A second sign beside the colour: what runs is tall, what waits is low.
    const low = Math.round(group === "cpu" ? 0 : group === "runnable" ? height * 0.1 : group === "sleeping" ? height * 0.3 : height * 0.2);
    pen.rect(x, y + low, width, height - low, color);
    // A piece that goes on in the next tile is named once.
    const isBegin = from > part.from || part.from <= scale.range.from || (lane.from[i] ?? 0) >= part.from;
    if (words && isBegin && state !== undefined) {
      const room = xOf(scale, Math.min(lane.until[i] ?? 0, scale.range.until)) - x;
      if (room > 46) named.push(() => pen.text(x + 4, y + low + (height - low) / 2 + 0.5, state.word, inkOn(color), room - 8));
    }
  }
  return named;
}
