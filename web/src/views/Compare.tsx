// Two recordings: what differs, by how much of the difference it explains; both paths; both codes; facts and counts.

import { useMemo, useRef, useState } from "preact/hooks";
import type { Code, Compare as CompareModel, DifferenceRow, FlameTile, Overview, StateSums } from "../generated/model";
import { flameRequest } from "../data/recording";
import { mixed, type Palette } from "../draw/palette";
import type { Pen } from "../draw/pen";
import { drawStripe, type Scale } from "../draw/strip";
import { AXIS, drawAxis } from "../draw/axis";
import { fold, functionName, weigh, type Frame } from "../logic/flame";
import { differences, merge, type Both, type Difference } from "../logic/beside";
import { bytes, count, signedTime, time } from "../logic/units";
import { Canvas, type Pictures, type Size } from "../parts/Canvas";
import { CopyButton } from "../parts/CopyButton";
import { Icicle } from "../parts/Icicle";
import { PictureButtons } from "../parts/PictureButtons";
import { Table } from "../parts/Table";
import { useAnswer } from "../parts/useAnswer";
import { Waiting } from "../parts/Waiting";
import { go, state, type Loaded } from "../store";
import { eachTile, tilesOfRecording } from "./Timeline";

export function Compare(props: { loaded: Loaded & { b: NonNullable<Loaded["b"]> }; code: Code | null }) {
  const { loaded } = props;
  const compare = useAnswer(loaded.a.compare, [loaded.a]);
  return (
    <div class="scroll">
      <Waiting asked={compare} what="Comparing both">
        {(value) => (
          <>
            {value.head.map((text, at) => (at === 0 ? <h2 key={text}>{text}</h2> : <p key={text} class="faint">{text}</p>))}
            <Waterfall compare={value} />
            {value.prediction !== null && <p>{value.prediction}</p>}
            <BothPaths loaded={loaded} />
            <Functions loaded={loaded} code={props.code} />
            <Rest compare={value} />
            <p><CopyButton text={() => value.text}>Copy as text</CopyButton></p>
          </>
        )}
      </Waiting>
    </div>
  );
}

/** Rows from A to B: each begins where the one before ends, so that they are seen to add up. */
function Waterfall(props: { compare: CompareModel }) {
  const { compare } = props;
  const [isAll, setAll] = useState(false);
  const least = Math.max(Math.abs(compare.difference_ns) * 0.01, Math.max(compare.a.wall_ns, compare.b.wall_ns) * 0.003);
  const large = compare.rows.filter((row) => isAll || Math.abs(row.difference_ns) >= least);
  const small = compare.rows.filter((row) => !large.includes(row)).reduce((sum, row) => sum + row.difference_ns, 0);
  let at = compare.a.wall_ns;
  const steps: { row: DifferenceRow | null; title: string; from: number; until: number }[] = large.map((row) => {
    const from = at;
    at += row.difference_ns;
    return { row, title: row.title, from, until: at };
  });
  const more = (title: string, ns: number) => {
    if (ns === 0) return;
    steps.push({ row: null, title, from: at, until: at + ns });
    at += ns;
  };
  more(`${compare.rows.length - large.length} smaller differences`, small);
  more("not attributed", compare.not_attributed_ns);
  const most = Math.max(compare.a.wall_ns, compare.b.wall_ns, ...steps.map((step) => Math.max(step.from, step.until)), 1);
  const bar = (from: number, until: number) => ({ left: `${(100 * Math.min(from, until)) / most}%`, width: `${Math.max((100 * Math.abs(until - from)) / most, 0.3)}%` });
  return (
    <>
      <table class="waterfall" aria-label="What differs along the critical paths, B minus A">
        <thead><tr><th>what differs</th><th class="number">B minus A</th><th aria-hidden="true" /></tr></thead>
        <tbody>
          <tr><td><strong>A</strong> {compare.a.recordings.join(", ")}</td><td class="number">{time(compare.a.wall_ns)}</td><td class="bar-cell" aria-hidden="true"><span class="less" style={{ ...bar(0, compare.a.wall_ns), background: "var(--blocked)" }} /></td></tr>
          {steps.map((step, index) => (
            <tr key={index}>
              <td class="name">
                {step.row === null ? step.title : <><strong>{step.row.change}</strong>: {step.title}{step.row.is_within_spread ? " (within the spread of one side)" : ""}<div class="faint">{step.row.evidence}</div></>}
              </td>
              <td class="number">{signedTime(step.until - step.from)}</td>
              <td class="bar-cell" aria-hidden="true"><span class={step.until > step.from ? "more" : "less"} style={bar(step.from, step.until)} /></td>
            </tr>
          ))}
          <tr><td><strong>B</strong> {compare.b.recordings.join(", ")}</td><td class="number">{time(compare.b.wall_ns)}</td><td class="bar-cell" aria-hidden="true"><span class="less" style={{ ...bar(0, compare.b.wall_ns), background: "var(--blocked)" }} /></td></tr>
        </tbody>
      </table>
      {!isAll && large.length < compare.rows.length && <p><button type="button" onClick={() => setAll(true)}>All {count(compare.rows.length)} differences</button></p>}
    </>
  );
}

function BothPaths(props: { loaded: Loaded & { b: NonNullable<Loaded["b"]> } }) {
  const { a, overview, b } = props.loaded;
  const sides = [
    { name: "A", overview, tiles: tilesOfRecording(a) },
    { name: "B", overview: b.overview, tiles: tilesOfRecording(b.recording) },
  ];
  const longest = Math.max(...sides.map((side) => side.overview.until_ns - side.overview.from_ns), 1);
  const draw = (pen: Pen, size: Size, colors: Palette) => {
    const scale: Scale = { range: { from: 0, until: longest }, x: 24, width: Math.max(size.width - 24, 10) };
    drawAxis(pen, scale, 0, size.height, colors);
    sides.forEach((side, at) => {
      void side.tiles.changed.value;
      const y = AXIS + 4 + at * 40;
      pen.text(4, y + 16, side.name, colors.text, 20);
      const all = { from: side.overview.from_ns, until: side.overview.until_ns };
      // Both begin at the left, whenever that was.
      const own: Scale = { ...scale, range: { from: all.from, until: all.from + longest } };
      const shown: Scale = { ...own, width: (own.width * (all.until - all.from)) / longest, range: all };
      const names: (() => void)[] = [];
      eachTile(side.tiles.path, all, shown, (tile, part) => names.push(...drawStripe(pen, tile, tile.time, part, shown, y, 32, side.overview.states, colors, 1, true)));
      for (const name of names) name();
    });
  };
  return (
    <>
      <h3>Both critical paths</h3>
      <div class="chart" style={{ height: "112px", flex: "none" }}><Canvas draw={draw} label={`The critical path of A, ${time(overview.wall_ns)}, and of B, ${time(b.overview.wall_ns)}`} /></div>
    </>
  );
}

function Functions(props: { loaded: Loaded & { b: NonNullable<Loaded["b"]> }; code: Code | null }) {
  const { a, overview, b } = props.loaded;
  const other = useAnswer(
    () => Promise.all([a.code(), b.recording.code(), a.ask<FlameTile>(flameRequest(0, 0)), b.recording.ask<FlameTile>(flameRequest(0, 0))]),
    [a, b],
  );
  if (!overview.has.stacks || !b.overview.has.stacks) return null;
  return (
    <>
      <h3>Functions</h3>
      <p>
        {(["cpu", "waits", "both"] as const).map((times) => <button key={times} type="button" aria-pressed={state.value.times === times} onClick={() => go({ times })}>{times === "cpu" ? "On CPU" : times === "waits" ? "Waiting" : "Both"}</button>)}
      </p>
      <Waiting asked={other} what="Reading stacks of both">
        {([codeA, codeB, tileA, tileB]) => <Differences sides={[{ code: codeA, overview, tile: tileA }, { code: codeB, overview: b.overview, tile: tileB }]} />}
      </Waiting>
    </>
  );
}

interface FlameSide {
  code: Code;
  overview: Overview;
  tile: FlameTile;
}

function Differences(props: { sides: readonly [FlameSide, FlameSide] }) {
  const { times } = state.value;
  const both = useMemo(() => {
    const [a, b] = props.sides;
    const root = (side: FlameSide) => {
      const weights = weigh(side.code, side.overview.states, [side.tile], { range: null, times, threads: null });
      return fold(side.code, side.overview.states, weights, { up: false, own: false, mergeRecursion: true, function: null });
    };
    const name = (side: FlameSide) => (frame: Frame) =>
      frame.function === -2 ? (side.overview.states[frame.state]?.word ?? "") : functionName(side.code, frame.function);
    return merge(root(a), name(a), root(b), name(b));
  }, [props.sides[0].tile, props.sides[1].tile, times]);
  const rows = useMemo(() => differences(both), [both]);
  const pictures = useRef<Pictures | null>(null);
  return (
    <>
      <p>
        <span class="legend"><span><span class="mark" style={{ background: "var(--more)" }} aria-hidden="true" />+ more in B</span><span><span class="mark" style={{ background: "var(--less)" }} aria-hidden="true" />− less in B</span></span>{" "}
        <span class="faint">As wide as the time in A and B together.</span> <PictureButtons name="difference" pictures={pictures} />
      </p>
      <div class="both-flames">
        <Icicle<Both>
          root={both} label="Who called whom in both, by the difference of time in all threads"
          name={(node) => (node.depth === 0 ? node.name : `${signed(node.b - node.a)} ${node.name}`)}
          color={(node, colors) => {
            if (node.depth === 0) return colors.panel;
            const share = (node.b - node.a) / Math.max(node.total, 1);
            return mixed(colors.runtime, share > 0 ? colors.more : colors.less, Math.abs(share));
          }}
          about={(node) => `A ${time(node.a)}, B ${time(node.b)}`}
          open={() => null} onOpen={null} keep={(made) => (pictures.current = made)} part={1}
        />
      </div>
      <CopyButton text={() => rows.map((row) => `${Math.round(row.b - row.a)}\t${Math.round(row.a)}\t${Math.round(row.b)}\t${row.path.join(";")}`).join("\n")}>Copy as text</CopyButton>
      <Table<Difference>
        label="Who called whom, by the difference of time in all threads" rows={rows.slice(0, 400)}
        columns={[
          { head: "B minus A", by: (row) => Math.abs(row.b - row.a), cell: (row) => signedTime(row.b - row.a) },
          { head: "A", by: (row) => row.a, cell: (row) => time(row.a) },
          { head: "B", by: (row) => row.b, cell: (row) => time(row.b) },
          { head: "stack", by: (row) => row.path.join(" "), cell: (row) => <span class="mono" title={row.path.join(" › ")}>{row.path.slice(-3).join(" › ")}</span> },
        ]}
      />
    </>
  );
}

/** The sign is there without a colour, too. */
const signed = (ns: number) => (Math.abs(ns) < 1000 ? "=" : signedTime(ns));

function Rest(props: { compare: CompareModel }) {
  const { compare } = props;
  const sums = (one: StateSums) => `on CPU ${time(one.cpu_ns)}, runnable ${time(one.runnable_ns)}, waiting ${time(one.blocked_ns)}`;
  const sides = { a: "only in A", b: "only in B", both: "in both" } as Record<string, string>;
  return (
    <>
      <h3>Findings</h3>
      <Table label="Findings of both" rows={compare.findings} columns={[
        { head: "side", by: (row) => row.side, cell: (row) => sides[row.side] ?? row.side },
        { head: "rule", by: (row) => row.rule, cell: (row) => row.rule },
        { head: "predicted to save", by: (row) => row.gain_ns, cell: (row) => time(Math.max(row.gain_ns, 0)) },
        { head: "where", by: (row) => row.signature, cell: (row) => <code>{row.signature}</code> },
      ]} />
      <h3>Facts that differ</h3>
      <Table label="Facts about where both ran that differ" rows={compare.facts} columns={[
        { head: "kind", by: (row) => row.kind, cell: (row) => row.kind },
        { head: "what", by: (row) => row.what, cell: (row) => <>{row.what}{row.explains ? <span class="faint"> (the run used it)</span> : ""}</> },
        { head: "A", by: (row) => row.a, cell: (row) => (row.lines.length > 0 ? row.lines.map(([a], at) => <div key={at} class="mono">{a}</div>) : row.a) },
        { head: "B", by: (row) => row.b, cell: (row) => (row.lines.length > 0 ? row.lines.map(([, b], at) => <div key={at} class="mono">{b}</div>) : row.b) },
      ]} />
      <h3>System calls that differ</h3>
      <Table label="System calls that differ" rows={compare.calls} columns={[
        { head: "call", by: (row) => row.title, cell: (row) => row.title },
        { head: "calls in A", by: (row) => row.a_count, cell: (row) => count(row.a_count) },
        { head: "in B", by: (row) => row.b_count, cell: (row) => count(row.b_count) },
        { head: "time in A", by: (row) => row.a_ns, cell: (row) => time(row.a_ns) },
        { head: "in B ", by: (row) => row.b_ns, cell: (row) => time(row.b_ns) },
        { head: "bytes in A", by: (row) => row.a_bytes, cell: (row) => bytes(row.a_bytes) },
        { head: "in B  ", by: (row) => row.b_bytes, cell: (row) => bytes(row.b_bytes) },
      ]} />
      <h3>Threads by what they are for</h3>
      <Table label="Threads by what they are for" rows={compare.threads} columns={[
        { head: "threads", by: (row) => row.title, cell: (row) => row.title },
        { head: "A", by: (row) => row.a_threads, cell: (row) => count(row.a_threads) },
        { head: "B", by: (row) => row.b_threads, cell: (row) => count(row.b_threads) },
        { head: "time in A", by: (row) => row.a.cpu_ns, cell: (row) => sums(row.a) },
        { head: "time in B", by: (row) => row.b.cpu_ns, cell: (row) => sums(row.b) },
        { head: "on the path", by: (row) => Math.abs(row.b_path_ns - row.a_path_ns), cell: (row) => signedTime(row.b_path_ns - row.a_path_ns) },
      ]} />
      {compare.recurrences.length > 0 && (
        <>
          <h3>Operations and loops</h3>
          <Table label="Operations and loops" rows={compare.recurrences} columns={[
            { head: "what", by: (row) => row.title, cell: (row) => row.title },
            { head: "A", by: (row) => row.a?.count ?? 0, cell: (row) => (row.a === null ? "" : `${count(row.a.count)}, p50 ${time(row.a.p50_ns)}`) },
            { head: "B", by: (row) => row.b?.count ?? 0, cell: (row) => (row.b === null ? "" : `${count(row.b.count)}, p50 ${time(row.b.p50_ns)}`) },
          ]} />
        </>
      )}
    </>
  );
}
