// A flame graph, from the outermost functions down.

import type { Box } from "../logic/flame";
import { inkOn } from "./palette";
import type { Pen } from "./pen";

export const ROW = 19;

/** What a flame graph shows of its frames. */
export interface FlameLook<T> {
  name: (frame: T) => string;
  color: (frame: T) => string;
  /** Found by a search: in this colour. */
  isFound: (frame: T) => boolean;
  found: string;
  selected: T | null;
  outline: string;
}

export function isFound(name: string, search: string): boolean {
  return search !== "" && name.toLowerCase().includes(search.toLowerCase());
}

export function drawFlame<T>(pen: Pen, boxes: readonly Box<T>[], look: FlameLook<T>, width: number, top: number, height: number): void {
  for (const box of boxes) {
    const y = box.depth * ROW - top;
    if (y + ROW < 0 || y > height) continue;
    const color = look.isFound(box.frame) ? look.found : look.color(box.frame);
    const [x, w] = [box.x * width, box.width * width];
    pen.rect(x, y, Math.max(w - 0.5, 0.5), ROW - 1, color);
    if (w > 26) pen.text(x + 4, y + ROW / 2, look.name(box.frame), inkOn(color), w - 8);
    if (box.frame === look.selected) pen.outline(x + 1, y + 1, Math.max(w - 2.5, 1), ROW - 3, look.outline);
  }
}
