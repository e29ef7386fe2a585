// The time axis above a chart.

import { axisStep, moment } from "../logic/units";
import type { Palette } from "./palette";
import type { Pen } from "./pen";
import { nsPerPixel, xOf, type Scale } from "./strip";

export const AXIS = 22;

export function drawAxis(pen: Pen, scale: Scale, y: number, until: number, palette: Palette): void {
  const step = axisStep(nsPerPixel(scale));
  const shown = scale.range.until - scale.range.from;
  pen.rect(scale.x, y, scale.width, AXIS, palette.panel);
  for (let at = Math.ceil(scale.range.from / step) * step; at < scale.range.until; at += step) {
    const x = xOf(scale, at);
    pen.line(x, y, x, until, palette.line, 0.6);
    pen.text(x + 3, y + AXIS / 2, moment(at, shown), palette.faint, 120);
  }
}
