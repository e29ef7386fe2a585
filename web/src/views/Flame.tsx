// Functions by time: who called whom, on CPU and waiting.

import { useMemo, useRef, useState } from "preact/hooks";
import type { Code, FlameTile, Overview, StateKind } from "../generated/model";
import { flameRequest, type Recording } from "../data/recording";
import { isFound } from "../draw/flame";
import { palette, type Palette } from "../draw/palette";
import { fold, functionName, functionSums, weigh, type Frame } from "../logic/flame";
import { TIMES, type Times } from "../logic/address";
import { tilesOf } from "../logic/tiles";
import { percent, time } from "../logic/units";
import type { Pictures } from "../parts/Canvas";
import { CopyButton } from "../parts/CopyButton";
import { Icicle } from "../parts/Icicle";
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
          {callers !== null && callers.total > 0 && <Icicle {...shown(callers, code, overview)} label="Callers of the function" keep={() => undefined} part={0.4} />}
          <Icicle {...shown(root, code, overview)} label={up ? "Callers, from the innermost functions" : "Flame graph, from the outermost functions"} keep={(made) => (pictures.current = made)} part={1} />
        </>
      )}
    </>
  );
}

function nameOf(frame: Frame, code: Code, states: readonly StateKind[]): string {
  if (frame.function === -1) return "all";
  if (frame.function === -2) return states[frame.state]?.word ?? "";
  return functionName(code, frame.function);
}

/** How a tree of functions is shown. */
function shown(root: Frame, code: Code, overview: Pick<Overview, "states">) {
  const { states } = overview;
  return {
    root,
    name: (frame: Frame) => nameOf(frame, code, states),
    color: (frame: Frame, colors: Palette) => {
      if (frame.function === -1) return colors.panel;
      if (frame.function === -2) return colors.groups[states[frame.state]?.group ?? "unknown"];
      return colors[code.functions.kind[frame.function] ?? "runtime"];
    },
    about: (frame: Frame) => `${time(frame.total)}, ${percent(frame.total / Math.max(root.total, 1))}; itself ${time(frame.self)}; on CPU ${time(frame.cpu)}`,
    open: (frame: Frame) => (frame.function >= 0 ? frame.function : null),
    onOpen: (fn: number) => go({ function: fn }),
  };
}
