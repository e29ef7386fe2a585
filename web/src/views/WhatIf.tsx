// What would be saved: causes ticked, the rest replayed.

import { useEffect, useState } from "preact/hooks";
import type { ChangeRow, Overview, Predicted, WhatIf as WhatIfModel } from "../generated/model";
import type { Recording } from "../data/recording";
import { signedTime, time } from "../logic/units";
import { PathRows } from "../parts/Bars";
import { useAnswer, type Asked } from "../parts/useAnswer";
import { Waiting } from "../parts/Waiting";

const KIND_WORDS = { finding: "Fix a finding", state: "Take time off the critical path", function: "A function and all that it calls" } as const;

/** The request for these, so much of each being left. */
export function request(left: ReadonlyMap<number, number>): string {
  const parts = [...left].filter(([, percent]) => percent < 100).sort(([a], [b]) => a - b);
  return `predict?changes=${parts.map(([id, percent]) => `${id}:${percent}`).join(",")}`;
}

export function WhatIf(props: { recording: Recording; overview: Overview }) {
  const whatif = useAnswer(props.recording.whatif, [props.recording]);
  return (
    <div class="scroll">
      <div class="narrow">
        <Waiting asked={whatif} what="Replaying the recording">{(value) => <Choices whatif={value} {...props} />}</Waiting>
      </div>
    </div>
  );
}

function Choices(props: { whatif: WhatIfModel; recording: Recording; overview: Overview }) {
  const { whatif, recording, overview } = props;
  const [left, setLeft] = useState<ReadonlyMap<number, number>>(new Map());
  const any = overview.has.any_prediction;
  const asked = request(left);
  const isAsked = [...left.values()].some((percent) => percent < 100);
  const set = (id: number, percent: number) => {
    // A file knows each change alone, and all findings together.
    const next = new Map(any ? left : []);
    if (percent >= 100) next.delete(id);
    else next.set(id, percent);
    setLeft(next);
  };
  if (whatif.why_not !== null) return <p class="warning">{whatif.why_not}</p>;
  const { all } = whatif;
  const setAll = () => {
    const parts = (all ?? "").replace(/^.*changes=/, "").split(",").filter((part) => part !== "");
    setLeft(new Map(parts.map((part) => part.split(":").map(Number) as [number, number])));
  };
  return (
    <>
      <h2>What if</h2>
      {whatif.is_useless && <p class="warning">The replay misses the recorded time by {whatif.replay_error_pct.toFixed(1)} %: predictions of this recording are not to be relied on.</p>}
      {!any && <p class="faint">This file holds the prediction of each change alone, and of all findings together. `timesink open` answers any combination.</p>}
      <Prediction recording={recording} asked={isAsked ? asked : null} wall={whatif.wall_ns} />
      <p class="actions">
        {all !== null && <button type="button" onClick={setAll}>All findings</button>} <button type="button" disabled={!isAsked} onClick={() => setLeft(new Map())}>None</button>
      </p>
      {(["finding", "state", "function"] as const).map((kind) => {
        const rows = whatif.changes.filter((change) => change.kind === kind);
        return rows.length === 0 ? null : (
          <fieldset key={kind} class="card">
            <legend>{KIND_WORDS[kind]}</legend>
            {rows.map((row) => <Tick key={row.id} row={row} left={left.get(row.id) ?? 100} canScale={any && row.is_scalable} set={(percent) => set(row.id, percent)} />)}
          </fieldset>
        );
      })}
      <p class="faint">Replay error {whatif.replay_error_pct >= 0 ? "+" : ""}{whatif.replay_error_pct.toFixed(2)} %.</p>
    </>
  );
}

function Tick(props: { row: ChangeRow; left: number; canScale: boolean; set: (percent: number) => void }) {
  const { row, left, set } = props;
  const { saves } = row;
  return (
    <div style={{ display: "flex", gap: "8px", alignItems: "baseline", flexWrap: "wrap", padding: "2px 0" }}>
      <label style={{ flex: "1 1 30ch" }}>
        <input type="checkbox" checked={left < 100} onChange={(event) => set(event.currentTarget.checked ? 0 : 100)} />{" "}
        {row.group !== null && <span class={`mark g-${row.group}`} aria-hidden="true" />}
        {row.finding === null ? "" : `${row.finding}. `}{row.label} <span class="faint">{time(row.on_path_ns)} on the path{saves === "" ? "" : ` · ${saves}`}</span>
      </label>
      {props.canScale && (
        <label>
          <input type="range" min={0} max={200} step={5} value={left} onInput={(event) => set(Number(event.currentTarget.value))} aria-label={`How much is left of ${row.label}, in percent`} /> {left} %
        </label>
      )}
    </div>
  );
}

/** The prediction; the one before stays until the next is there. */
function Prediction(props: { recording: Recording; asked: string | null; wall: number }) {
  const { recording, asked, wall } = props;
  const [told, setTold] = useState<Asked<Predicted>>(null);
  useEffect(() => {
    let isGone = false;
    if (asked === null) {
      setTold(null);
      return undefined;
    }
    // While a slider moves, not each step of it is asked.
    const timer = setTimeout(() => {
      recording.predict(asked).then(
        (value) => isGone || setTold({ value }),
        (fault: unknown) => isGone || setTold({ error: String(fault instanceof Error ? fault.message : fault) }),
      );
    }, 120);
    return () => {
      isGone = true;
      clearTimeout(timer);
    };
  }, [asked, recording]);
  if (asked === null) return <p>Recorded: <strong>{time(wall)}</strong>. Tick what a fix would take away.</p>;
  return (
    <Waiting asked={told} what="Replaying">
      {(value) => (
        <section aria-live="polite" aria-label="Prediction">
          <p>
            <strong>{time(value.gain.wall_ns)}</strong> instead of {time(wall)} ({signedTime(-value.gain.ns)}), between {time(value.gain.wall_lo_ns)} and {time(value.gain.wall_hi_ns)}
          </p>
          <p class="faint">{value.words}</p>
          <h3>Then the time would go</h3>
          <PathRows rows={value.path} label="The critical path that is left" whole={value.gain.wall_ns} />
        </section>
      )}
    </Waiting>
  );
}
