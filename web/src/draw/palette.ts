// Colours, as the style sheet has them: the same on canvases, in pictures and in tables. Each state has a second sign beside its colour.

import type { StateGroup } from "../generated/model";
import type { Theme } from "../store";

export const GROUPS: readonly StateGroup[] = ["cpu", "runnable", "disk", "network", "threads", "blocked", "sleeping", "overhead", "unknown"];

export const GROUP_WORDS: Record<StateGroup, string> = {
  cpu: "on CPU", runnable: "runnable", disk: "blocked: disk", network: "blocked: network", threads: "blocked: threads, children, pipes",
  blocked: "blocked: other", sleeping: "sleeping", overhead: "recording overhead", unknown: "unknown",
};

export interface Palette {
  groups: Record<StateGroup, string>;
  bg: string;
  panel: string;
  line: string;
  text: string;
  faint: string;
  accent: string;
  own: string;
  library: string;
  runtime: string;
  kernel: string;
  /** More than before, and less. */
  more: string;
  less: string;
}

const known = new Map<Theme, Palette>();

export function palette(theme: Theme): Palette {
  const found = known.get(theme);
  if (found !== undefined) return found;
  const style = getComputedStyle(document.documentElement);
  const color = (name: string) => style.getPropertyValue(`--${name}`).trim();
  const made: Palette = {
    groups: Object.fromEntries(GROUPS.map((group) => [group, color(group)])) as Record<StateGroup, string>,
    bg: color("bg"), panel: color("panel"), line: color("line"), text: color("text"), faint: color("faint"), accent: color("accent"),
    own: theme === "dark" ? "#c98a2b" : "#f2b45a", library: theme === "dark" ? "#8f7a4b" : "#e3d19b",
    runtime: theme === "dark" ? "#5f6672" : "#d3d8e0", kernel: theme === "dark" ? "#6f5560" : "#e6c3cc",
    more: color("more"), less: color("less"),
  };
  known.set(theme, made);
  return made;
}

/** Red, green, blue of `#rrggbb`. */
export function rgb(color: string): [number, number, number] {
  const value = Number.parseInt(color.slice(1), 16);
  return [(value >> 16) & 255, (value >> 8) & 255, value & 255];
}

/** Between two colours: 0 is the first, 1 the other. */
export function mixed(one: string, other: string, share: number): string {
  const [a, b] = [rgb(one), rgb(other)];
  const part = (at: 0 | 1 | 2) => Math.round(a[at] + (b[at] - a[at]) * Math.min(Math.max(share, 0), 1)).toString(16).padStart(2, "0");
  return `#${part(0)}${part(1)}${part(2)}`;
}

/** Black or white, whichever can be read on a colour. */
export function inkOn(color: string): string {
  const [r, g, b] = rgb(color).map((part) => (part / 255) ** 2.2) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.3 ? "#000000" : "#ffffff";
}
