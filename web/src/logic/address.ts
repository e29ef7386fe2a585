// What is looked at, as the part of the address after `#`: a link to a view, and what back and forward go through.

export const TABS = ["answer", "timeline", "flame", "things", "whatif", "compare", "checks"] as const;
export type Tab = (typeof TABS)[number];

export const TIMES = ["cpu", "waits", "both"] as const;
export type Times = (typeof TIMES)[number];

export interface State {
  tab: Tab;
  /** The time that is looked at; null for all of it. */
  from: number | null;
  until: number | null;
  /** Lanes of the timeline: threads by process, or processors. */
  lanes: "threads" | "processors";
  /** A thread, by its place in the overview, and a moment of it: the piece that is selected. */
  thread: number | null;
  at: number | null;
  /** A process that views are narrowed down to. */
  process: number | null;
  times: Times;
  /** Flames from the innermost functions. */
  up: boolean;
  own: boolean;
  /** A function, by its place in the code. */
  function: number | null;
  /** A thing, by its id. */
  thing: number | null;
  finding: number | null;
  search: string;
}

export const START: State = {
  tab: "answer", from: null, until: null, lanes: "threads", thread: null, at: null, process: null,
  times: "both", up: false, own: false, function: null, thing: null, finding: null, search: "",
};

const NUMBERS = ["from", "until", "thread", "at", "process", "function", "thing", "finding"] as const;

/** Only what differs from the start, which is in the view `first`. */
export function written(state: State, first: Tab = START.tab): string {
  const parts = new URLSearchParams();
  if (state.tab !== first) parts.set("tab", state.tab);
  for (const key of NUMBERS) {
    const value = state[key];
    if (value !== null) parts.set(key, String(Math.round(value)));
  }
  if (state.lanes !== START.lanes) parts.set("lanes", state.lanes);
  if (state.times !== START.times) parts.set("times", state.times);
  if (state.up) parts.set("up", "1");
  if (state.own) parts.set("own", "1");
  if (state.search !== "") parts.set("search", state.search);
  return parts.toString();
}

const isOne = <T extends string>(all: readonly T[], text: string | null): text is T => all.some((one) => one === text);

/** Whatever somebody wrote there: what makes no sense is as if it were not there. */
export function read(text: string, first: Tab = START.tab): State {
  const parts = new URLSearchParams(text.replace(/^#/, ""));
  const state: State = { ...START, tab: first };
  const tab = parts.get("tab");
  if (isOne(TABS, tab)) state.tab = tab;
  const times = parts.get("times");
  if (isOne(TIMES, times)) state.times = times;
  for (const key of NUMBERS) {
    const value = parts.get(key);
    if (value !== null && /^-?\d{1,16}$/.test(value)) state[key] = Number(value);
  }
  if (parts.get("lanes") === "processors") state.lanes = "processors";
  state.up = parts.get("up") === "1";
  state.own = parts.get("own") === "1";
  state.search = (parts.get("search") ?? "").slice(0, 200);
  if (state.from === null || state.until === null || state.from >= state.until) {
    state.from = null;
    state.until = null;
  }
  return state;
}

/** What is a step that back should undo: another view or another selection, but not each pixel of a zoom. */
export function isStep(before: State, after: State): boolean {
  const keys = ["tab", "thing", "function", "finding", "process", "lanes"] as const;
  return keys.some((key) => before[key] !== after[key]);
}
