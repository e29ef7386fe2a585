// What is selected in the timeline: state, thing, stack, and who ended it.

import type { Code, Overview } from "../generated/model";
import type { Recording } from "../data/recording";
import { stackLines } from "../logic/flame";
import { lengthOf, within } from "../logic/tiles";
import { moment, time } from "../logic/units";
import { useAnswer } from "../parts/useAnswer";
import { go, goTo, processName, range, threadName, whole } from "../store";

export interface Chosen {
  thread: number;
  from: number;
  until: number;
  /** -1 where only sums are known. */
  state: number;
  thing: number;
  node: number;
  waker: number;
  source: number;
  sums: { state: number; ns: number; count: number }[];
}

const FRAMES = 14;

/** Who ended a wait, if no recorded thread did. */
const sourceWords = (source: string) => (source === "thread" ? "a thread that was not recorded" : source);

export function Piece(props: { chosen: Chosen; recording: Recording; overview: Overview; code: Code | null }) {
  const { chosen, overview, code, recording } = props;
  const things = useAnswer(recording.things, [recording]);
  const thing = chosen.thing > 0 && things !== null && "value" in things ? things.value.things[chosen.thing - 1] : undefined;
  const word = (state: number) => overview.states[state]?.word ?? "";
  const stack = code === null || chosen.node === 0 ? [] : stackLines(code, chosen.node);
  const shown = lengthOf(range.value);
  const length = chosen.until - chosen.from;
  return (
    <section class="detail" aria-label="Selected">
      <dl>
        <dt>Thread</dt>
        <dd>{threadName(overview, chosen.thread)} of {processName(overview, overview.threads[chosen.thread]?.process ?? null)}</dd>
        {chosen.state >= 0 ? (
          <>
            <dt>State</dt>
            <dd><span class={`mark g-${overview.states[chosen.state]?.group ?? "unknown"}`} aria-hidden="true" />{word(chosen.state)} for {time(length)}, at {moment(chosen.from, shown / 10)}</dd>
          </>
        ) : (
          <>
            <dt>Here</dt>
            <dd>{chosen.sums.map((sum) => `${word(sum.state)} ${time(sum.ns)} (${sum.count})`).join(", ") || "nothing was recorded"}; zoom in for single pieces</dd>
          </>
        )}
        {thing !== undefined && (
          <>
            <dt>For</dt>
            <dd><button type="button" class="link" onClick={() => go({ tab: "things", thing: thing.id })}>{thing.name}</button></dd>
          </>
        )}
        {chosen.waker > 0 && (
          <>
            <dt>Ended by</dt>
            <dd>
              <button type="button" class="link" onClick={() => go({ thread: chosen.waker - 1, at: Math.floor(chosen.until) - 1 })}>{threadName(overview, chosen.waker - 1)}</button>
              {chosen.source > 0 ? ` (${overview.wake_sources[chosen.source - 1] ?? ""})` : ""}
            </dd>
          </>
        )}
        {chosen.waker === 0 && chosen.source > 0 && (
          <>
            <dt>Ended by</dt>
            <dd>{sourceWords(overview.wake_sources[chosen.source - 1] ?? "")}</dd>
          </>
        )}
        {stack.length > 0 && (
          <>
            <dt>Stack</dt>
            <dd class="mono">
              {stack.slice(0, FRAMES).map((line, at) => (
                <div key={at}><button type="button" class="link mono" onClick={() => go({ tab: "flame", function: line.function })}>{line.text}</button></div>
              ))}
              {stack.length > FRAMES && <div class="faint">and {stack.length - FRAMES} more callers</div>}
            </dd>
          </>
        )}
      </dl>
      <p>
        {chosen.state >= 0 && <button type="button" onClick={() => goTo(within(whole.value, { from: chosen.from - length * 0.5, until: chosen.until + length * 0.5 }))}>Zoom to it</button>}{" "}
        <button type="button" onClick={() => go({ thread: null, at: null })}>Close</button>
      </p>
    </section>
  );
}
