// What every thread did, over time: the critical path on top, then a lane for each thread, or for each processor.

import { signal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { Band, Code, FlameTile, Lane, LaneTile, Overview, PathTile } from "../generated/model";
import { lanesRequest, pathRequest, type LanesBy, type Recording } from "../data/recording";
import { AXIS, drawAxis } from "../draw/axis";
import { inkOn, type Palette } from "../draw/palette";
import type { Pen } from "../draw/pen";
import { drawStripe, nsPerPixel, xOf, type Scale } from "../draw/strip";
import { bandPiece, pieceAt, placed } from "../logic/pieces";
import { heightOf, openAtFirst, rowsOf, visible, type Row } from "../logic/rows";
import { bucketNs, levelFor, moved, tilesOf, TileStore, within, zoomed, type Range } from "../logic/tiles";
import { count, time } from "../logic/units";
import { Canvas, type Pictures, type Size } from "../parts/Canvas";
import { Fixed } from "../parts/Fixed";
import { Legend } from "../parts/Legend";
import { PictureButtons } from "../parts/PictureButtons";
import { useAnswer } from "../parts/useAnswer";
import { go, goTo, isWhole, range, state, theme, whole } from "../store";
import { Piece, type Chosen } from "./Piece";

const BUCKETS = 1024;
const NONE: readonly Band[] = [];

/** Tiles of one recording, whichever view shows them. */
export class Tiles {
  readonly changed = signal(0);
  /** Tiles under way. */
  readonly pending = signal(0);
  private readonly lanes = new Map<string, TileStore<LaneTile>>();
  readonly path: TileStore<PathTile>;

  constructor(private readonly recording: Recording) {
    this.path = this.store(pathRequest, (tile) => tile.is_complete);
  }

  private store<T extends PathTile | LaneTile | FlameTile>(request: (level: number, tile: number) => string, isComplete: (tile: T) => boolean): TileStore<T> {
    return new TileStore<T>(
      (level, tile) => this.recording.ask<T>(request(level, tile)),
      (level, tile) => this.recording.has(request(level, tile)),
      (more) => {
        // Not while something is being drawn, which asks for tiles.
        queueMicrotask(() => {
          this.pending.value += more;
          if (more < 0) this.changed.value += 1;
        });
      },
      isComplete,
    );
  }

  chunk(by: LanesBy, chunk: number): TileStore<LaneTile> {
    const key = `${by}/${chunk}`;
    let found = this.lanes.get(key);
    if (found === undefined) {
      found = this.store(lanesRequest(by, chunk), (tile) => tile.is_complete);
      this.lanes.set(key, found);
    }
    return found;
  }
}

const ofRecording = new WeakMap<Recording, Tiles>();
export function tilesOfRecording(recording: Recording): Tiles {
  let found = ofRecording.get(recording);
  if (found === undefined) {
    found = new Tiles(recording);
    ofRecording.set(recording, found);
  }
  return found;
}

/** Calls back with each tile that shows a part of a range, and that part. */
export function eachTile<T extends PathTile | LaneTile>(store: TileStore<T>, all: Range, scale: Scale, show: (tile: T, part: Range) => void): void {
  const level = levelFor(all, nsPerPixel(scale), BUCKETS);
  let last: T | undefined;
  let part: Range | null = null;
  const flush = () => {
    if (last !== undefined && part !== null && part.until > part.from) show(last, part);
  };
  for (const at of tilesOf(all, scale.range, level)) {
    const tile = store.best(level, at);
    const each = (all.until - all.from) / 2 ** level;
    const here = {
      from: Math.max(all.from + each * at, scale.range.from),
      until: Math.min(all.from + each * (at + 1), scale.range.until),
    };
    // Several tiles that are not there may be covered by one above them.
    if (tile !== undefined && tile === last && part !== null) part = { from: part.from, until: here.until };
    else {
      flush();
      [last, part] = [tile, here];
    }
  }
  flush();
}

/** How many threads a full column of a process stands for. */
const full = (overview: Overview, row: Row) => (row.kind === "process" ? Math.max(overview.processes[row.lane]?.thread_count ?? 1, 1) : 1);

const laneOf = (tile: LaneTile, lane: number): Lane | undefined => tile.lanes[lane - tile.first_lane];

const byOf = (row: Row): LanesBy => (row.kind === "process" ? "process" : row.kind === "processor" ? "processor" : "thread");

export function labelWidth(width: number): number {
  return width < 600 ? 96 : 210;
}

interface Shown {
  top: number;
  size: Size;
  rows: Row[];
}

export function Timeline(props: { recording: Recording; overview: Overview; code: Code | null }) {
  const { recording, overview } = props;
  const tiles = tilesOfRecording(recording);
  const open = useMemo(() => signal(openAtFirst(overview)), [overview]);
  const scroll = useMemo(() => signal(0), []);
  const hover = useMemo(() => signal<{ x: number; y: number; text: string } | null>(null), []);
  const shown = useRef<Shown>({ top: 0, size: { width: 0, height: 0 }, rows: [] });
  const well = useRef<HTMLDivElement>(null);
  const pictures = useRef<Pictures | null>(null);
  const { lanes, search, process } = state.value;
  const told = useAnswer(recording.bands, [recording]);
  const bands: readonly Band[] = told !== null && "value" in told ? told.value.bands : NONE;
  const rows = useMemo(
    () => rowsOf(overview, { lanes, open: open.value, search, process, bands: bands.map((band) => band.title) }),
    [overview, lanes, open.value, search, process, bands],
  );

  const scaleOf = (size: Size): Scale => {
    const label = labelWidth(size.width);
    return { range: range.peek(), x: label, width: Math.max(size.width - label, 10) };
  };

  const draw = (pen: Pen, size: Size, colors: Palette) => {
    void tiles.changed.value;
    const top = scroll.value;
    const label = labelWidth(size.width);
    const scale: Scale = { range: range.value, x: label, width: Math.max(size.width - label, 10) };
    const all = whole.value;
    // The path stays where it is; lanes go by below it.
    const [path, ...rest] = rows;
    const below = AXIS + (path?.height ?? 0) + 3;
    drawAxis(pen, scale, 0, size.height, colors);
    pen.clip(0, below, size.width, size.height - below, () => {
      for (const row of visible(rest, top + (path?.height ?? 0), size.height - below)) {
        const y = row.y - (path?.height ?? 0) - top + below;
        drawRow(pen, row, y, scale, size, colors, all);
      }
    });
    if (path !== undefined) drawRow(pen, path, AXIS, scale, size, colors, all);
    pen.line(0, below - 2, size.width, below - 2, colors.line, 1);
    drawChosen(pen, scale, below, top, path?.height ?? 0, size, colors);
    shown.current = { top, size, rows };
  };

  const drawRow = (pen: Pen, row: Row, y: number, scale: Scale, size: Size, colors: Palette, all: Range) => {
    const isChosen = row.kind === "thread" && state.value.thread === row.lane;
    if (isChosen) pen.rect(0, y, scale.x, row.height, colors.line);
    const mark = row.kind === "process" ? (open.value.has(row.lane) ? "▾ " : "▸ ") : row.kind === "thread" ? "   " : "";
    pen.text(6, y + row.height / 2, mark + row.label, row.kind === "thread" ? colors.faint : colors.text, scale.x - 10);
    pen.clip(scale.x, y, scale.width, row.height, () => {
      const [inner, height] = [y + 2, row.height - 4];
      const names: (() => void)[] = [];
      if (row.kind === "band") drawBand(pen, row, inner, height, scale, colors);
      if (row.kind === "path") {
        eachTile(tiles.path, all, scale, (tile, part) =>
          names.push(...drawStripe(pen, tile, tile.time, part, scale, inner, height, overview.states, colors, 1, true)));
      }
      for (const name of names) name();
      if (row.kind === "band" || row.kind === "path") return;
      const store = tiles.chunk(byOf(row), Math.floor(row.lane / overview.lanes_per_chunk));
      eachTile(store, all, scale, (tile, part) => {
        const lane = laneOf(tile, row.lane);
        if (lane !== undefined) names.push(...drawStripe(pen, lane, tile.time, part, scale, inner, height, overview.states, colors, full(overview, row), row.kind !== "process"));
      });
      for (const name of names) name();
    });
    pen.line(0, y + row.height - 0.5, size.width, y + row.height - 0.5, colors.line, 0.4);
  };

  /** Each operation, or a loop from its first round to its last. */
  const drawBand = (pen: Pen, row: Row, y: number, height: number, scale: Scale, colors: Palette) => {
    const band = bands[row.lane];
    if (band === undefined) return;
    let last = -Infinity;
    band.from_ns.forEach((from, at) => {
      const until = from + (band.ns[at] ?? 0);
      if (until < scale.range.from || from > scale.range.until) return;
      const x = Math.round(xOf(scale, Math.max(from, scale.range.from)));
      const end = Math.round(xOf(scale, Math.min(until, scale.range.until)));
      if (end <= last) return;
      pen.rect(x, y + 2, Math.max(end - x, 1), height - 4, at % 2 === 0 ? colors.own : colors.library);
      const told = band.kind === "loop" ? `${count(band.count)} rounds, ${time(band.median_ns)} each` : time(band.ns[at] ?? 0);
      if (end - x > 46) pen.text(x + 4, y + height / 2, told, inkOn(colors.own), end - x - 8);
      last = end;
    });
  };

  /** The piece that is selected, and the arrow from whoever ended it. */
  const drawChosen = (pen: Pen, scale: Scale, below: number, top: number, pathHeight: number, size: Size, colors: Palette) => {
    const chosen = chosenPiece();
    if (chosen === null) return;
    const yOf = (thread: number) => {
      const row = rows.find((row) => row.kind === "thread" && row.lane === thread);
      return row === undefined ? null : { y: row.y - pathHeight - top + below, height: row.height };
    };
    const place = yOf(chosen.thread);
    if (place === null) return;
    const [x0, x1] = [xOf(scale, chosen.from), xOf(scale, chosen.until)];
    pen.clip(scale.x, below, scale.width, size.height - below, () => {
      pen.outline(x0, place.y + 1, Math.max(x1 - x0, 2), place.height - 2, colors.text, 2);
      const from = chosen.waker === 0 ? null : yOf(chosen.waker - 1);
      if (from === null || chosen.waker - 1 === chosen.thread) return;
      const [y0, y1] = [from.y + from.height / 2, place.y + place.height / 2];
      pen.line(x1, y0, x1, y1, colors.accent, 2);
      const tip = y1 > y0 ? -6 : 6;
      pen.line(x1 - 4, y1 + tip, x1, y1, colors.accent, 2);
      pen.line(x1 + 4, y1 + tip, x1, y1, colors.accent, 2);
    });
  };

  const chosenPiece = (): Chosen | null => {
    const { thread, at } = state.value;
    if (thread === null || at === null) return null;
    void tiles.changed.value;
    return pieceOf(tiles, overview, whole.value, range.value, thread, at);
  };

  /** The row and the moment below a pointer. */
  const under = (event: MouseEvent): { row: Row; at: number; isLabel: boolean } | null => {
    const { size, top } = shown.current;
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const scale = scaleOf(size);
    const path = rows[0];
    const below = AXIS + (path?.height ?? 0) + 3;
    const row = y < AXIS ? undefined : y < below ? path : visible(rows.slice(1), y - below + top + (path?.height ?? 0), 1)[0];
    if (row === undefined) return null;
    const at = scale.range.from + ((x - scale.x) / scale.width) * (scale.range.until - scale.range.from);
    return { row, at, isLabel: x < scale.x };
  };

  const choose = (place: { row: Row; at: number; isLabel: boolean }) => {
    const { row, at, isLabel } = place;
    if (row.kind === "band") {
      // One operation, with its thread: the other views are about it from then on.
      const piece = isLabel ? null : bandPiece(bands[row.lane], at);
      if (piece !== null) goTo(within(whole.value, piece), { thread: piece.thread, at: null });
      return;
    }
    if (row.kind === "process") {
      const next = new Set(open.value);
      if (!next.delete(row.lane)) next.add(row.lane);
      open.value = next;
      return;
    }
    if (isLabel) {
      if (row.kind === "thread") go({ thread: state.value.thread === row.lane ? null : row.lane, at: null });
      return;
    }
    if (row.kind === "thread") go({ thread: row.lane, at: Math.round(at) });
    else {
      const found = threadAt(tiles, overview, whole.value, range.value, row, at);
      if (found !== null) go({ thread: found, at: Math.round(at) });
    }
  };

  const drag = useRef<{ x: number; y: number; range: Range; scroll: number; isMoved: boolean; isRange: boolean } | null>(null);
  const onPointerDown = (event: PointerEvent) => {
    if (event.button !== 0) return;
    drag.current = { x: event.clientX, y: event.clientY, range: range.value, scroll: scroll.value, isMoved: false, isRange: event.shiftKey };
    (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
  };
  const onPointerMove = (event: PointerEvent) => {
    const began = drag.current;
    if (began !== null && event.buttons === 1) {
      const dx = event.clientX - began.x;
      const dy = event.clientY - began.y;
      began.isMoved ||= Math.abs(dx) + Math.abs(dy) > 4;
      if (!began.isMoved) return;
      hover.value = null;
      const { width } = scaleOf(shown.current.size);
      goTo(moved(whole.value, began.range, -dx / width));
      if (well.current !== null) well.current.scrollTop = began.scroll - dy;
      return;
    }
    const place = under(event);
    if (place === null || place.isLabel) {
      hover.value = null;
      return;
    }
    const text = place.row.kind === "band" ? describeBand(bands[place.row.lane], place.row.label, place.at) : describe(tiles, overview, whole.value, range.value, place.row, place.at);
    hover.value = text === null ? null : { x: event.clientX, y: event.clientY, text };
  };
  const onPointerUp = (event: PointerEvent) => {
    const began = drag.current;
    drag.current = null;
    if (began === null || began.isMoved) return;
    const place = under(event);
    if (place !== null) choose(place);
  };
  const onWheel = (event: WheelEvent) => {
    const { size } = shown.current;
    const scale = scaleOf(size);
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
      const at = scale.range.from + ((event.clientX - box.left - scale.x) / scale.width) * (scale.range.until - scale.range.from);
      goTo(zoomed(whole.value, range.value, at, Math.exp(event.deltaY * 0.002)));
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      goTo(moved(whole.value, range.value, (event.deltaX || event.deltaY) / scale.width));
    }
  };
  useEffect(() => {
    const element = well.current;
    if (element === null) return undefined;
    element.addEventListener("wheel", onWheel, { passive: false });
    return () => element.removeEventListener("wheel", onWheel);
  }, []);
  // A thread that was chosen elsewhere is to be seen.
  useEffect(() => {
    const { thread } = state.value;
    const element = well.current;
    if (thread === null || element === null) return;
    const of = overview.threads[thread]?.process ?? null;
    if (of !== null && !open.value.has(of)) open.value = new Set([...open.value, of]);
    const row = rows.find((row) => row.kind === "thread" && row.lane === thread);
    if (row === undefined) return;
    const height = element.clientHeight - AXIS - 40;
    const y = row.y - (rows[0]?.height ?? 0);
    if (y < element.scrollTop || y + row.height > element.scrollTop + height) element.scrollTop = Math.max(y - height / 2, 0);
  }, [state.value.thread, rows]);

  // The piece before the one that is selected, or after it.
  useEffect(() => {
    const step = (event: Event) => {
      const now = chosenPiece();
      if (now === null || !(event instanceof CustomEvent)) return;
      const at = event.detail > 0 ? now.until + 1 : now.from - 1;
      const shown = range.value;
      go({ at: Math.round(at) });
      if (at < shown.from || at > shown.until) goTo(moved(whole.value, shown, (at - (shown.from + shown.until) / 2) / (shown.until - shown.from)));
    };
    addEventListener("timesink-step", step);
    return () => removeEventListener("timesink-step", step);
  }, [overview]);

  const chosen = chosenPiece();
  void theme.value;
  const tall = heightOf(rows) + AXIS + 12;
  return (
    <>
      <div class="bar">
        <span role="group" aria-label="Lanes">
          <button type="button" aria-pressed={lanes === "threads"} onClick={() => go({ lanes: "threads" })}>Threads</button>{" "}
          <button type="button" aria-pressed={lanes === "processors"} onClick={() => go({ lanes: "processors" })}>Processors</button>
        </span>
        <button type="button" disabled={isWhole.value} onClick={() => goTo(whole.value)}>All of the time</button>
        <span class="faint">{time(range.value.until - range.value.from)} shown</span>
        <span class="space" />
        <Legend />
        <PictureButtons name="timeline" pictures={pictures} />
      </div>
      <div class="chart" aria-busy={tiles.pending.value > 0}>
        <div class="well" ref={well} onScroll={(event) => (scroll.value = (event.currentTarget as HTMLElement).scrollTop)} onPointerUp={onPointerUp} tabIndex={0} aria-label="Lanes; arrow keys scroll, W and S zoom, A and D move">
          <div style={{ height: `${tall}px`, position: "relative" }}>
            <Fixed well={well}>
              <Canvas draw={draw} label={`Lanes of ${rows.length} threads, processes or processors over ${time(range.value.until - range.value.from)}`}
                onPointerDown={onPointerDown} onPointerMove={onPointerMove} onPointerLeave={() => (hover.value = null)}
                picture={(made) => (pictures.current = made)} />
            </Fixed>
          </div>
        </div>
        {hover.value !== null && <div class="tip" style={{ left: `${Math.min(hover.value.x + 14, innerWidth - 320)}px`, top: `${hover.value.y + 16}px` }}>{hover.value.text}</div>}
      </div>
      {chosen !== null && <Piece chosen={chosen} recording={recording} overview={overview} code={props.code} />}
    </>
  );
}

const scaleAround = (shown: Range): Scale => ({ range: shown, x: 0, width: 1000 });

/** The piece of a thread at a moment, by what tiles say that are there. */
function pieceOf(tiles: Tiles, overview: Overview, all: Range, shown: Range, thread: number, at: number): Chosen | null {
  const store = tiles.chunk("thread", Math.floor(thread / overview.lanes_per_chunk));
  const level = levelFor(all, nsPerPixel(scaleAround(shown)), BUCKETS);
  const tile = store.best(level, tilesOf(all, { from: at, until: at + 1 }, level)[0] ?? 0);
  const lane = tile === undefined ? undefined : laneOf(tile, thread);
  if (tile === undefined || lane === undefined) return null;
  const there = placed(lane.pieces, tile.time.from_ns);
  const index = pieceAt(there, at);
  if (index < 0) return { thread, from: at, until: at, state: -1, thing: 0, node: 0, waker: 0, source: 0, sums: sumsAt(lane, tile, at) };
  const { pieces } = there;
  return {
    thread,
    from: there.from[index] ?? at,
    until: there.until[index] ?? at,
    state: pieces.state[index] ?? -1,
    thing: pieces.thing[index] ?? 0,
    node: pieces.node[index] ?? 0,
    waker: pieces.waker[index] ?? 0,
    source: pieces.source[index] ?? 0,
    sums: [],
  };
}

/** What is summed up in the bucket of a moment. */
function sumsAt(lane: Lane, tile: LaneTile | PathTile, at: number): { state: number; ns: number; count: number }[] {
  const bucket = Math.floor((at - tile.time.from_ns) / bucketNs(tile.time));
  const sums: { state: number; ns: number; count: number }[] = [];
  lane.sums.bucket.forEach((one, i) => {
    if (one === bucket) sums.push({ state: lane.sums.state[i] ?? 0, ns: lane.sums.ns[i] ?? 0, count: lane.sums.count[i] ?? 0 });
  });
  return sums.sort((a, b) => b.ns - a.ns);
}

interface Found {
  tile: LaneTile | PathTile;
  lane: Lane;
}

function laneAt(tiles: Tiles, overview: Overview, all: Range, shown: Range, row: Row, at: number): Found | null {
  if (row.kind === "band") return null;
  const level = levelFor(all, nsPerPixel(scaleAround(shown)), BUCKETS);
  const number = tilesOf(all, { from: at, until: at + 1 }, level)[0] ?? 0;
  if (row.kind === "path") {
    const tile = tiles.path.best(level, number);
    return tile === undefined ? null : { tile, lane: tile };
  }
  const tile = tiles.chunk(byOf(row), Math.floor(row.lane / overview.lanes_per_chunk)).best(level, number);
  const lane = tile === undefined ? undefined : laneOf(tile, row.lane);
  return tile === undefined || lane === undefined ? null : { tile, lane };
}

/** The thread that a piece of the path, or of a processor, is of. */
function threadAt(tiles: Tiles, overview: Overview, all: Range, shown: Range, row: Row, at: number): number | null {
  const found = laneAt(tiles, overview, all, shown, row, at);
  if (found === null) return null;
  const index = pieceAt(placed(found.lane.pieces, found.tile.time.from_ns), at);
  return index < 0 ? null : (found.lane.pieces.thread[index] ?? null);
}

function describeBand(band: Band | undefined, label: string, at: number): string {
  const piece = bandPiece(band, at);
  return piece === null ? label : `${label}: ${time(piece.until - piece.from)}; click for this one alone`;
}

/** What is below the pointer, in a line. */
function describe(tiles: Tiles, overview: Overview, all: Range, shown: Range, row: Row, at: number): string | null {
  const found = laneAt(tiles, overview, all, shown, row, at);
  if (found === null) return null;
  const lane = placed(found.lane.pieces, found.tile.time.from_ns);
  const index = pieceAt(lane, at);
  const words = (state: number) => overview.states[state]?.word ?? "";
  if (index >= 0) {
    const thread = found.lane.pieces.thread[index];
    const who = thread === undefined ? "" : ` · ${overview.threads[thread]?.name ?? ""}(${overview.threads[thread]?.tid ?? ""})`;
    return `${words(found.lane.pieces.state[index] ?? 0)}, ${time((lane.until[index] ?? 0) - (lane.from[index] ?? 0))}${who}`;
  }
  const sums = sumsAt(found.lane, found.tile, at);
  if (sums.length === 0) return null;
  return `in ${time(bucketNs(found.tile.time))}: ${sums.slice(0, 4).map((sum) => `${words(sum.state)} ${time(sum.ns)} (${sum.count})`).join(", ")}`;
}
