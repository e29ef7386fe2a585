// The rows of the timeline: the path, then processes with their threads, or processors.

import type { Overview } from "../generated/model";

export type RowKind = "path" | "band" | "process" | "thread" | "processor";

export interface Row {
  kind: RowKind;
  /** Its place among those of its kind. */
  lane: number;
  label: string;
  y: number;
  height: number;
}

const HEIGHT: Record<RowKind, number> = { path: 30, band: 22, process: 26, thread: 22, processor: 26 };
/** Processes with no more threads than this are open at first, while there are no more rows than that. */
const FEW_THREADS = 12;
const MANY_ROWS = 80;

/** Processes that are open at first: small ones, those with most of the path first. */
export function openAtFirst(overview: Overview): Set<number> {
  const onPath = (process: number) => {
    const { first_thread, thread_count } = overview.processes[process] ?? { first_thread: 0, thread_count: 0 };
    let sum = 0;
    for (let at = first_thread; at < first_thread + thread_count; at++) sum += overview.threads[at]?.on_path_ns ?? 0;
    return sum;
  };
  const order = overview.processes.map((_, at) => at).sort((a, b) => onPath(b) - onPath(a));
  const open = new Set<number>();
  let rows = overview.processes.length;
  for (const at of order) {
    const threads = overview.processes[at]?.thread_count ?? 0;
    if (threads > FEW_THREADS && open.size > 0) continue;
    if (rows + threads > MANY_ROWS && open.size > 0) continue;
    open.add(at);
    rows += threads;
  }
  return open;
}

export interface RowChoice {
  lanes: "threads" | "processors";
  open: ReadonlySet<number>;
  search: string;
  process: number | null;
  /** What happened again and again. */
  bands: readonly string[];
}

/** More of them would take the room of the lanes. */
const BANDS = 5;

export function rowsOf(overview: Overview, choice: RowChoice): Row[] {
  const rows: Row[] = [];
  let y = 0;
  const push = (kind: RowKind, lane: number, label: string) => {
    rows.push({ kind, lane, label, y, height: HEIGHT[kind] });
    y += HEIGHT[kind];
  };
  push("path", 0, "critical path");
  choice.bands.slice(0, BANDS).forEach((title, at) => push("band", at, title));
  if (choice.lanes === "processors") {
    overview.processors.forEach((number, lane) => push("processor", lane, `CPU ${number}`));
    return rows;
  }
  const wanted = choice.search.toLowerCase();
  const isMeant = (text: string) => wanted === "" || text.toLowerCase().includes(wanted);
  overview.processes.forEach((process, at) => {
    if (choice.process !== null && choice.process !== at) return;
    const name = `${process.name}(${process.pid})`;
    const threads: number[] = [];
    for (let thread = process.first_thread; thread < process.first_thread + process.thread_count; thread++) threads.push(thread);
    const threadName = (thread: number) => `${overview.threads[thread]?.name ?? ""}(${overview.threads[thread]?.tid ?? 0})`;
    const matching = isMeant(name) ? threads : threads.filter((thread) => isMeant(threadName(thread)));
    if (matching.length === 0 && !isMeant(name)) return;
    const only = threads.length === 1 ? threads[0] : undefined;
    if (only !== undefined) {
      push("thread", only, name);
      return;
    }
    push("process", at, name);
    if (choice.open.has(at) || (wanted !== "" && !isMeant(name))) for (const thread of matching) push("thread", thread, threadName(thread));
  });
  // Threads whose process was lost.
  overview.threads.forEach((thread, at) => {
    if (thread.process === null && choice.process === null && isMeant(thread.name)) push("thread", at, `${thread.name}(${thread.tid})`);
  });
  return rows;
}

export function heightOf(rows: readonly Row[]): number {
  const last = rows[rows.length - 1];
  return last === undefined ? 0 : last.y + last.height;
}

/** The rows that a window of so many pixels shows. */
export function visible(rows: readonly Row[], top: number, height: number): Row[] {
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const row = rows[middle];
    if (row !== undefined && row.y + row.height <= top) low = middle + 1;
    else high = middle;
  }
  const shown: Row[] = [];
  for (let at = low; at < rows.length; at++) {
    const row = rows[at];
    if (row === undefined || row.y >= top + height) break;
    shown.push(row);
  }
  return shown;
}
