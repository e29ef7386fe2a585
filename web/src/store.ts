// What is looked at, in one place: views are functions of it, and the address of the page keeps it.

import { computed, effect, signal } from "@preact/signals";
import type { Overview } from "./generated/model";
import { isStep, read, START, written, type State, type Tab } from "./logic/address";
import type { Range } from "./logic/tiles";
import type { Recording } from "./data/recording";

export interface Loaded {
  a: Recording;
  overview: Overview;
  /** The recording beside it. */
  b: { recording: Recording; overview: Overview } | null;
}

export const loaded = signal<Loaded | null>(null);
export const state = signal<State>(read(location.hash));

/** The view that is shown first, and that an address without one means: of two recordings the comparison. */
let first: Tab = START.tab;

/** What was loaded is shown, in the view that the address asks for or else the first. */
export function show(made: Loaded): void {
  first = made.b === null ? "answer" : "compare";
  state.value = read(location.hash, first);
  loaded.value = made;
}
export type Theme = "light" | "dark";

const preferred = matchMedia("(prefers-color-scheme: dark)");
export const theme = signal<Theme>(preferred.matches ? "dark" : "light");
preferred.addEventListener("change", () => {
  theme.value = preferred.matches ? "dark" : "light";
});
effect(() => {
  document.documentElement.dataset.theme = theme.value;
});

let pending = 0;

function keep(before: State, after: State): void {
  const address = `#${written(after, first)}`;
  clearTimeout(pending);
  if (isStep(before, after)) history.pushState(null, "", address);
  // Each pixel of a zoom would be more than a browser takes.
  else pending = window.setTimeout(() => history.replaceState(null, "", address), 150);
}

/** Looks at something else. */
export function go(change: Partial<State>): void {
  const before = state.value;
  const after = { ...before, ...change };
  if (written(after, first) === written(before, first)) return;
  state.value = after;
  keep(before, after);
}

addEventListener("popstate", () => {
  state.value = read(location.hash, first);
});
addEventListener("hashchange", () => {
  if (location.hash.replace(/^#/, "") !== written(state.value, first)) state.value = read(location.hash, first);
});

export const whole = computed<Range>(() => {
  const overview = loaded.value?.overview;
  return { from: overview?.from_ns ?? 0, until: overview?.until_ns ?? 1 };
});

/** The time that is looked at. */
export const range = computed<Range>(() => {
  const { from, until } = state.value;
  const all = whole.value;
  if (from === null || until === null) return all;
  return { from: Math.max(from, all.from), until: Math.min(Math.max(until, from + 1), all.until) };
});

export const isWhole = computed(() => range.value.from <= whole.value.from && range.value.until >= whole.value.until);

export function goTo(range: Range, change: Partial<State> = {}): void {
  const all = whole.value;
  const isAll = range.from <= all.from && range.until >= all.until;
  go(isAll ? { from: null, until: null, ...change } : { from: Math.floor(range.from), until: Math.ceil(range.until), ...change });
}

/** The threads that views are narrowed down to; null for all. */
export const threads = computed<ReadonlySet<number> | null>(() => {
  const overview = loaded.value?.overview;
  const { thread, process } = state.value;
  if (overview === undefined) return null;
  if (thread !== null) return new Set([thread]);
  const row = process === null ? undefined : overview.processes[process];
  if (row === undefined) return null;
  return new Set(Array.from({ length: row.thread_count }, (_, at) => row.first_thread + at));
});

export const threadName = (overview: Overview, at: number) => {
  const thread = overview.threads[at];
  return thread === undefined ? "a thread that was lost" : `${thread.name}(${thread.tid})`;
};
export const processName = (overview: Overview, at: number | null) => {
  const process = at === null ? undefined : overview.processes[at];
  return process === undefined ? "a process that was lost" : `${process.name}(${process.pid})`;
};
