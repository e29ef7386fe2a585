// A flame graph, from the outermost functions down.

import type { Code, StateKind } from "../generated/model";
import { functionName, type Box, type Frame } from "../logic/flame";
import { inkOn, type Palette } from "./palette";
import type { Pen } from "./pen";

export const ROW = 19;

export interface FlameLook {
  code: Code;
  states: readonly StateKind[];
  palette: Palette;
  search: string;
  selected: Frame | null;
}

export function nameOf(frame: Frame, look: Pick<FlameLook, "code" | "states">): string {
  if (frame.function === -1) return "all";
  if (frame.function === -2) return look.states[frame.state]?.word ?? "";
  return functionName(look.code, frame.function);
}

export function colorOf(frame: Frame, look: FlameLook): string {
  const { palette, code, states } = look;
  if (frame.function === -1) return palette.panel;
  if (frame.function === -2) return palette.groups[states[frame.state]?.group ?? "unknown"];
  return palette[code.functions.kind[frame.function] ?? "runtime"];
}

export function isFound(name: string, search: string): boolean {
  return search !== "" && name.toLowerCase().includes(search.toLowerCase());
}

export function drawFlame(pen: Pen, boxes: readonly Box[], look: FlameLook, width: number, top: number, height: number): void {
  for (const box of boxes) {
    const y = box.depth * ROW - top;
    if (y + ROW < 0 || y > height) continue;
    const name = nameOf(box.frame, look);
    const color = isFound(name, look.search) ? look.palette.accent : colorOf(box.frame, look);
    const [x, w] = [box.x * width, box.width * width];
    pen.rect(x, y, Math.max(w - 0.5, 0.5), ROW - 1, color);
    if (w > 26) pen.text(x + 4, y + ROW / 2, name, inkOn(color), w - 8);
    if (box.frame === look.selected) pen.outline(x + 1, y + 1, Math.max(w - 2.5, 1), ROW - 3, look.palette.text);
  }
}
