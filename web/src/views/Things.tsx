// Files, sockets, locks and children, and system calls on them; the page of a single one.

import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { CallRow, Code, Overview, Thing as ThingModel, ThingRow } from "../generated/model";
import { thingRequest, type Recording } from "../data/recording";
import { functionName, stackLines } from "../logic/flame";
import { alike, type Alike, type Sums } from "../logic/alike";
import { added } from "../logic/histogram";
import { within } from "../logic/tiles";
import { bytes, count, moment, time } from "../logic/units";
import { HistogramBars } from "../parts/HistogramBars";
import { Table, type Column } from "../parts/Table";
import { useAnswer } from "../parts/useAnswer";
import { Waiting } from "../parts/Waiting";
import { go, goTo, processName, state, threadName, whole } from "../store";

const KINDS = ["file", "socket", "pipe", "lock", "child", "device", "other"] as const;

const about = (row: { is_estimated: boolean }) => (row.is_estimated ? "~" : "");

export function Things(props: { recording: Recording; overview: Overview; code: Code | null }) {
  const { recording, overview } = props;
  const things = useAnswer(recording.things, [recording]);
  const { thing } = state.value;
  return (
    <div class="scroll">
      <Waiting asked={things} what="Reading files, sockets and locks">
        {(value) =>
          thing === null ? (
            <>
              <ThingTable rows={value.things} leftOut={value.left_out} recording={recording} />
              {overview.has.calls && <CallTable recording={recording} overview={overview} things={value.things} />}
            </>
          ) : (
            <One id={thing} recording={recording} overview={overview} code={props.code} />
          )
        }
      </Waiting>
    </div>
  );
}

function columns<T extends Sums & { name: string; kind: string }>(name: (row: T) => ComponentChildren): Column<T>[] {
  return [
    { head: "name", by: (row) => row.name, cell: name },
    { head: "kind", by: (row) => row.kind, cell: (row) => row.kind },
    { head: "calls", by: (row) => row.calls, cell: (row) => about(row) + count(row.calls) },
    { head: "in calls", by: (row) => row.call_ns, cell: (row) => about(row) + time(row.call_ns) },
    { head: "bytes", by: (row) => row.bytes, cell: (row) => (row.bytes === 0 ? "" : about(row) + bytes(row.bytes)) },
    { head: "failed", by: (row) => row.errors, cell: (row) => (row.errors === 0 ? "" : count(row.errors)) },
    { head: "waits", by: (row) => row.waits, cell: (row) => (row.waits === 0 ? "" : count(row.waits)) },
    { head: "waited", by: (row) => row.wait_ns, cell: (row) => (row.wait_ns === 0 ? "" : time(row.wait_ns)) },
    { head: "on the path", by: (row) => row.on_path_ns, cell: (row) => (row.on_path_ns === 0 ? "" : time(row.on_path_ns)) },
  ];
}

function ThingTable(props: { rows: readonly ThingRow[]; leftOut: number; recording: Recording }) {
  const [kind, setKind] = useState<string>("");
  const { search } = state.value;
  const rows = useMemo(() => {
    const text = search.toLowerCase();
    const shown = props.rows.filter((row) => (kind === "" || row.kind === kind) && (text === "" || row.name.toLowerCase().includes(text)));
    return alike(shown.filter((row) => row.calls > 0 || row.waits > 0));
  }, [props.rows, kind, search]);
  const [open, setOpen] = useState<string | null>(null);
  const isOpen = rows.find((group) => group.name === open && group.rows.length > 1);
  return (
    <>
      <h2>Files, sockets, locks, children</h2>
      <p>
        <label>Kind <select value={kind} onChange={(event) => setKind(event.currentTarget.value)}>
          <option value="">all</option>
          {KINDS.map((one) => <option key={one} value={one}>{one}</option>)}
        </select></label>{" "}
        <span class="faint">{count(rows.reduce((sum, group) => sum + group.rows.length, 0))} of {count(props.rows.length + props.leftOut)}</span>
      </p>
      {isOpen !== undefined && (
        <section class="card" aria-label={`Each of ${isOpen.name}`}>
          <h3>{isOpen.name}: {count(isOpen.rows.length)}</h3>
          <Table label={`Each of ${isOpen.name}`} rows={isOpen.rows} columns={columns<ThingRow>((row) => <button type="button" class="link" disabled={!props.recording.has(thingRequest(row.id))} onClick={() => go({ thing: row.id })}>{row.name}</button>)} />
          <p><button type="button" onClick={() => setOpen(null)}>Close</button></p>
        </section>
      )}
      <Table
        label="Files, sockets, locks and children" rows={rows}
        columns={columns<Alike>((row) => {
          const [one] = row.rows;
          return row.rows.length > 1 || one === undefined ? (
            <button type="button" class="link" onClick={() => setOpen(row.name)}>{row.name} <span class="faint">({count(row.rows.length)})</span></button>
          ) : (
            <button type="button" class="link" disabled={!props.recording.has(thingRequest(one.id))} onClick={() => go({ thing: one.id })}>{row.name}</button>
          );
        })}
      />
    </>
  );
}

function CallTable(props: { recording: Recording; overview: Overview; things: readonly ThingRow[] }) {
  const calls = useAnswer(props.recording.calls, [props.recording]);
  const [shown, setShown] = useState<CallRow | null>(null);
  const { search } = state.value;
  const { overview, things } = props;
  const thingName = (row: CallRow) => (row.thing === null ? "" : (things[row.thing]?.name ?? ""));
  return (
    <>
      <h2>System calls</h2>
      <Waiting asked={calls} what="Reading system calls">
        {(value) => {
          const text = search.toLowerCase();
          const rows = value.rows.filter((row) => text === "" || row.call.includes(text) || thingName(row).toLowerCase().includes(text));
          return (
            <>
              {shown !== null && (
                <section class="card" aria-label={`${shown.call} in numbers`}>
                  <h3>{shown.call} {thingName(shown)}</h3>
                  <div class="grid">
                    <HistogramBars histogram={shown.durations} label="How long a call took" unit={time} />
                    <HistogramBars histogram={shown.sizes} label="Bytes of a call" unit={bytes} />
                  </div>
                  {shown.errors.map((error) => <p key={error.error}>failed with {error.error} {count(error.count)} times</p>)}
                  <p><button type="button" onClick={() => setShown(null)}>Close</button></p>
                </section>
              )}
              <Table
                label="System calls" rows={rows} selected={(row) => row === shown} onSelect={setShown}
                columns={[
                  { head: "call", by: (row) => row.call, cell: (row) => <button type="button" class="link mono" onClick={() => setShown(row)}>{row.call}</button> },
                  { head: "process", by: (row) => processName(overview, row.process), cell: (row) => processName(overview, row.process) },
                  { head: "on", by: thingName, cell: thingName },
                  { head: "calls", by: (row) => row.count, cell: (row) => about(row) + count(row.count) },
                  { head: "time", by: (row) => row.ns, cell: (row) => about(row) + time(row.ns) },
                  { head: "each", by: (row) => row.ns / Math.max(row.count, 1), cell: (row) => time(row.ns / Math.max(row.count, 1)) },
                  { head: "bytes", by: (row) => row.bytes, cell: (row) => (row.bytes === 0 ? "" : about(row) + bytes(row.bytes)) },
                  { head: "failed", by: (row) => row.errors.reduce((sum, one) => sum + one.count, 0), cell: (row) => row.errors.map((one) => `${one.error} ${count(one.count)}`).join(", ") },
                ]}
              />
              {value.left_out > 0 && <p class="faint">{count(value.left_out)} more kinds of calls, {time(value.left_out_ns)} in all</p>}
            </>
          );
        }}
      </Waiting>
    </>
  );
}

function One(props: { id: number; recording: Recording; overview: Overview; code: Code | null }) {
  const { id, recording } = props;
  const thing = useAnswer(() => recording.thing(id), [recording, id]);
  return (
    <>
      <p><button type="button" onClick={() => go({ thing: null })}>← All files, sockets and locks</button></p>
      <Waiting asked={thing} what="Reading">{(value) => <OneThing thing={value} overview={props.overview} code={props.code} />}</Waiting>
    </>
  );
}

function OneThing(props: { thing: ThingModel; overview: Overview; code: Code | null }) {
  const { thing, overview, code } = props;
  const { row } = thing;
  const facts: [string, string | null][] = [
    ["kind", row.kind],
    ["path", row.path],
    ["file system", row.filesystem],
    ["size", row.size === null ? null : bytes(row.size)],
    ["this end", row.local],
    ["other end", row.remote],
    ["calls", `${about(row)}${count(row.calls)}, ${about(row)}${time(row.call_ns)}, ${bytes(row.bytes)}`],
    ["waits", `${count(row.waits)}, ${time(row.wait_ns)}, of which ${time(row.on_path_ns)} on the critical path`],
  ];
  const durations = added(thing.calls.map((call) => call.durations));
  const sizes = added(thing.calls.map((call) => call.sizes));
  return (
    <>
      <h2>{row.name}</h2>
      <div class="detail"><dl>{facts.filter(([, value]) => value !== null && value !== "").map(([name, value]) => <><dt>{name}</dt><dd>{value}</dd></>)}</dl></div>
      <div class="grid">
        <HistogramBars histogram={durations} label="How long a call took" unit={time} />
        <HistogramBars histogram={sizes} label="Bytes of a call" unit={bytes} />
      </div>
      {thing.calls.length > 0 && (
        <>
          <h3>Who, and with which calls</h3>
          <Table
            label="Calls by thread" rows={thing.calls}
            columns={[
              { head: "call", by: (call) => call.call, cell: (call) => <code>{call.call}</code> },
              { head: "thread", by: (call) => threadName(overview, call.thread ?? -1), cell: (call) => threadName(overview, call.thread ?? -1) },
              { head: "calls", by: (call) => call.count, cell: (call) => about(call) + count(call.count) },
              { head: "time", by: (call) => call.ns, cell: (call) => about(call) + time(call.ns) },
              { head: "bytes", by: (call) => call.bytes, cell: (call) => (call.bytes === 0 ? "" : bytes(call.bytes)) },
              { head: "failed", by: (call) => call.errors, cell: (call) => (call.errors === 0 ? "" : count(call.errors)) },
            ]}
          />
        </>
      )}
      {thing.waits.length > 0 && (
        <>
          <h3>Waits</h3>
          <Table
            label="Waits by thread" rows={thing.waits}
            columns={[
              { head: "wait", by: (wait) => overview.states[wait.state]?.word ?? "", cell: (wait) => overview.states[wait.state]?.word ?? "" },
              { head: "thread", by: (wait) => threadName(overview, wait.thread), cell: (wait) => threadName(overview, wait.thread) },
              { head: "waits", by: (wait) => wait.count, cell: (wait) => count(wait.count) },
              { head: "time", by: (wait) => wait.ns, cell: (wait) => time(wait.ns) },
              {
                head: "longest", by: (wait) => wait.longest_ns,
                cell: (wait) => (
                  <button type="button" class="link" onClick={() => goTo(within(whole.value, { from: wait.longest.at_ns - wait.longest_ns * 2, until: wait.longest.at_ns + wait.longest_ns * 3 }), { tab: "timeline", thread: wait.thread, at: wait.longest.at_ns + 1 })}>
                    {time(wait.longest_ns)}
                  </button>
                ),
              },
            ]}
          />
        </>
      )}
      {thing.sites.length > 0 && (
        <>
          <h3>From where in the code</h3>
          {thing.sites.slice(0, 30).map((site, at) => (
            <details key={at}>
              <summary>
                <code>{site.call}</code> {count(site.stands_for)} times {site.error === "" ? "" : `(${site.error}) `}
                {code !== null && site.node !== null ? `in ${functionName(code, code.nodes.function[site.node] ?? 0)}` : ""} <span class="faint">at {moment(site.at_ns, 1e6)}</span>
              </summary>
              {code !== null && site.node !== null && (
                <div class="mono">{stackLines(code, site.node + 1).map((line, index) => <div key={index}>{line.text}</div>)}</div>
              )}
            </details>
          ))}
        </>
      )}
    </>
  );
}
