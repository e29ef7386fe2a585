// Functions by time: who called whom, on CPU and waiting.

import { signal } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Code, FlameTile, Overview } from "../generated/model";
import { flameRequest, type Recording } from "../data/recording";
import { drawFlame, isFound, nameOf, ROW, type FlameLook } from "../draw/flame";
import { palette, type Palette } from "../draw/palette";
import type { Pen } from "../draw/pen";
import { fold, functionName, functionSums, layout, weigh, type Frame } from "../logic/flame";
import { TIMES, type Times } from "../logic/address";
import { tilesOf } from "../logic/tiles";
import { percent, time } from "../logic/units";
import { Canvas, type Pictures, type Size } from "../parts/Canvas";
import { CopyButton } from "../parts/CopyButton";
import { Fixed } from "../parts/Fixed";
import { PictureButtons } from "../parts/PictureButtons";
import { Table } from "../parts/Table";
import { useAnswer } from "../parts/useAnswer";
import { Waiting } from "../parts/Waiting";
import { go, goTo, isWhole, processName, range, state, theme, threadName, threads, whole } from "../store";

const KINDS = [["own", "the program"], ["library", "libraries"], ["runtime", "runtime"], ["kernel", "kernel"]] as const;
const WORDS: Record<Times, string> = { cpu: "On CPU", waits: "Waiting", both: "Both" };

/** Tiles that cover a range: as deep as two of them do, or as the file has. */
async function tilesFor(recording: Recording): Promise<FlameTile[]> {
  if (isWhole.value) return [await recording.ask<FlameTile>(flameRequest(0, 0))];
  const [all, shown] = [whole.value, range.value];
  const length = Math.max(shown.until - shown.from, 1);
  let level = Math.max(Math.floor(Math.log2((all.until - all.from) / length)), 0);
  level = Math.min(level, 30);
  for (; level > 0; level--) if (tilesOf(all, shown, level).every((tile) => recording.has(flameRequest(level, tile)))) break;
  return Promise.all(tilesOf(all, shown, level).map((tile) => recording.ask<FlameTile>(flameRequest(level, tile))));
}

export function Flame(props: { recording: Recording; overview: Overview; code: Code | null }) {
  const { recording, overview, code } = props;
  const tiles = useAnswer(() => tilesFor(recording), [recording, range.value.from, range.value.until]);
  if (!overview.has.stacks) return <div class="scroll"><p>This recording has no stacks.</p></div>;
  return (
    <>
      <Choices overview={overview} code={code} />
      {code === null ? <p class="faint" role="status">Reading the code …</p> : (
        <Waiting asked={tiles} what="Reading stacks">{(value) => <Graph tiles={value} code={code} overview={overview} />}</Waiting>
      )}
    </>
  );
}

function Choices(props: { overview: Overview; code: Code | null }) {
  const { times, up, own, function: fn, thread, process } = state.value;
  const { overview, code } = props;
  return (
    <div class="bar">
      <span role="group" aria-label="Which time">
        {TIMES.map((one) => <button key={one} type="button" aria-pressed={times === one} onClick={() => go({ times: one })}>{WORDS[one]}</button>)}
      </span>
      <button type="button" aria-pressed={up} onClick={() => go({ up: !up })} title="From the innermost functions to those that called them">Callers</button>
      <button type="button" aria-pressed={own} onClick={() => go({ own: !own })} title="Without libraries, runtimes and the kernel">Only my code</button>
      <label>Process
        <select value={process ?? ""} onChange={(event) => go({ process: event.currentTarget.value === "" ? null : Number(event.currentTarget.value), thread: null, at: null })}>
          <option value="">all</option>
          {overview.processes.slice(0, 500).map((_, at) => <option key={at} value={at}>{processName(overview, at)}</option>)}
        </select>
      </label>
      {thread !== null && <button type="button" onClick={() => go({ thread: null, at: null })}>{threadName(overview, thread)} ✕</button>}
      {fn !== null && code !== null && <button type="button" onClick={() => go({ function: null })}>{functionName(code, fn)} ✕</button>}
      {!isWhole.value && <button type="button" onClick={() => goTo(whole.value)}>{time(range.value.until - range.value.from)} of the time ✕</button>}
    </div>
  );
}

function Graph(props: { tiles: readonly FlameTile[]; code: Code; overview: Overview }) {
  const { tiles, code, overview } = props;
  const { times, up, own, function: fn, search } = state.value;
  const meant = threads.value;
  const shownRange = isWhole.value ? null : range.value;
  const weights = useMemo(
    () => weigh(code, overview.states, tiles, { range: shownRange, times, threads: meant }),
    [code, tiles, times, meant, shownRange?.from, shownRange?.until],
  );
  const shape = { own, mergeRecursion: true };
  const root = useMemo(() => fold(code, overview.states, weights, { ...shape, up, function: fn }), [weights, up, own, fn]);
  const callers = useMemo(
    () => (fn === null || up ? null : fold(code, overview.states, weights, { ...shape, up: true, function: fn })),
    [weights, up, own, fn],
  );
  const [isTable, setTable] = useState(false);
  const pictures = useRef<Pictures | null>(null);
  const sums = useMemo(() => functionSums(code, weights), [weights]);
  const found = useMemo(
    () => (search === "" ? 0 : sums.filter((sum) => isFound(functionName(code, sum.function), search)).reduce((most, sum) => most + sum.self, 0)),
    [sums, search],
  );
  const missing = [...weights.missing].filter(([, ns]) => ns > 0);
  return (
    <>
      <div class="bar">
        <span>{time(root.total)} in all threads{search === "" ? "" : `; ${percent(found / Math.max(weights.total, 1))} in functions found themselves`}</span>
        <span class="legend">{KINDS.map(([kind, words]) => <span key={kind}><span class="mark" style={{ background: palette(theme.value)[kind] }} aria-hidden="true" />{words}</span>)}</span>
        <span class="faint">{missing.map(([words, ns]) => `${words} ${time(ns)}`).join(" · ")}</span>
        <span class="space" />
        <button type="button" aria-pressed={isTable} onClick={() => setTable(!isTable)}>Table</button>
        <PictureButtons name="flame" pictures={pictures} />
      </div>
      {isTable ? (
        <div class="scroll">
          <CopyButton text={() => sums.map((sum) => `${Math.round(sum.self)}\t${Math.round(sum.total)}\t${functionName(code, sum.function)}`).join("\n")}>Copy as text</CopyButton>
          <Table
            label="Functions" rows={sums} onSelect={(sum) => go({ function: sum.function })} selected={(sum) => sum.function === fn}
            columns={[
              { head: "itself", by: (sum) => sum.self, cell: (sum) => time(sum.self) },
              { head: "with what it called", by: (sum) => sum.total, cell: (sum) => time(sum.total) },
              { head: "share", by: (sum) => sum.total, cell: (sum) => percent(sum.total / Math.max(weights.total, 1)) },
              { head: "function", by: (sum) => functionName(code, sum.function), cell: (sum) => <button type="button" class="link mono" onClick={() => go({ function: sum.function })}>{functionName(code, sum.function)}</button> },
            ]}
          />
        </div>
      ) : (
        <>
          {callers !== null && callers.total > 0 && <Icicle root={callers} code={code} overview={overview} label="Callers of the function" keep={() => undefined} part={0.4} />}
          <Icicle root={root} code={code} overview={overview} label={up ? "Callers, from the innermost functions" : "Flame graph, from the outermost functions"} keep={(made) => (pictures.current = made)} part={1} />
        </>
      )}
    </>
  );
}

function deepest(root: Frame): number {
  let most = 0;
  const stack = [root];
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    most = Math.max(most, next.depth);
    stack.push(...next.children.values());
  }
  return most;
}

/** One flame graph. */
export function Icicle(props: { root: Frame; code: Code; overview: Pick<Overview, "states">; label: string; keep: (made: Pictures) => void; part: number; colorOf?: (frame: Frame, colors: Palette) => string }) {
  const { root, code, overview } = props;
  const focus = useMemo(() => signal<Frame>(root), [root]);
  const selected = useMemo(() => signal<Frame | null>(null), [root]);
  const hover = useMemo(() => signal<{ x: number; y: number; frame: Frame } | null>(null), [root]);
  const scroll = useMemo(() => signal(0), [root]);
  const size = useRef<Size>({ width: 1, height: 1 });
  const well = useRef<HTMLDivElement>(null);
  const boxes = useMemo(() => layout(root, focus.value, 0.0004), [root, focus.value]);
  const look = (colors: Palette): FlameLook => ({ code, states: overview.states, palette: colors, search: state.value.search, selected: selected.value });
  const draw = (pen: Pen, now: Size, colors: Palette) => {
    size.current = now;
    const own = props.colorOf;
    drawFlame(pen, boxes, look(colors), now.width, scroll.value, now.height);
    if (own !== undefined) {
      for (const box of boxes) {
        const y = box.depth * ROW - scroll.value;
        if (y + ROW < 0 || y > now.height || box.frame.function === -1) continue;
        pen.rect(box.x * now.width, y, Math.max(box.width * now.width - 0.5, 0.5), 3, own(box.frame, colors));
      }
    }
  };
  const under = (event: MouseEvent): Frame | null => {
    const place = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const [x, y] = [(event.clientX - place.left) / size.current.width, event.clientY - place.top + scroll.value];
    const depth = Math.floor(y / ROW);
    return boxes.find((box) => box.depth === depth && box.x <= x && x < box.x + box.width)?.frame ?? null;
  };
  const tall = useMemo(() => (deepest(root) + 2) * ROW, [root]);
  useEffect(() => {
    focus.value = root;
  }, [root]);
  const frame = hover.value?.frame ?? selected.value;
  const share = (one: Frame) => percent(one.total / Math.max(root.total, 1));
  void theme.value;
  return (
    <>
      <div class="chart" style={{ flex: props.part }}>
        <div class="well" ref={well} tabIndex={0} aria-label={props.label} onScroll={(event) => (scroll.value = (event.currentTarget as HTMLElement).scrollTop)}>
          <div style={{ height: `${tall}px` }}>
            <Fixed well={well}>
              <Canvas
                draw={draw} label={`${props.label}; the table has the same as text`} picture={props.keep}
                onPointerDown={(event) => {
                  const at = under(event);
                  if (at === null) return;
                  selected.value = at;
                  focus.value = at;
                }}
                onDblClick={(event) => {
                  const at = under(event);
                  if (at !== null && at.function >= 0) go({ function: at.function });
                }}
                onPointerMove={(event) => {
                  const at = under(event);
                  hover.value = at === null ? null : { x: event.clientX, y: event.clientY, frame: at };
                }}
                onPointerLeave={() => (hover.value = null)}
              />
            </Fixed>
          </div>
        </div>
        {hover.value !== null && (
          <div class="tip" style={{ left: `${Math.min(hover.value.x + 14, innerWidth - 320)}px`, top: `${hover.value.y + 16}px` }}>
            {nameOf(hover.value.frame, look(palette(theme.value)))}<br />{time(hover.value.frame.total)}, {share(hover.value.frame)}; itself {time(hover.value.frame.self)}
          </div>
        )}
      </div>
      <div class="bar" aria-live="polite">
        {focus.value !== root && <button type="button" onClick={() => (focus.value = root)}>Whole graph</button>}
        {frame === null || frame === undefined ? <span class="faint">Click to zoom in, double-click for one function with its callers.</span> : (
          <span>{nameOf(frame, look(palette(theme.value)))}: {time(frame.total)}, {share(frame)}; on CPU {time(frame.cpu)}</span>
        )}
        {selected.value !== null && selected.value.function >= 0 && <button type="button" onClick={() => go({ function: selected.value?.function ?? null })}>Only this function</button>}
      </div>
    </>
  );
}
