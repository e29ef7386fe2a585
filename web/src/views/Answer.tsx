// What the one screen of the terminal says.

import type { Answer as AnswerModel, FindingCard, Overview, PlacedFrame } from "../generated/model";
import type { Recording } from "../data/recording";
import { within } from "../logic/tiles";
import { time } from "../logic/units";
import { CopyButton } from "../parts/CopyButton";
import { PathRows } from "../parts/Bars";
import { useAnswer } from "../parts/useAnswer";
import { Waiting } from "../parts/Waiting";
import { go, goTo, state, whole } from "../store";

export function Answer(props: { recording: Recording; overview: Overview }) {
  const answer = useAnswer(props.recording.answer, [props.recording]);
  return (
    <div class="scroll">
      <div class="narrow">
        <Waiting asked={answer} what="Asking the rules">{(value) => <Told answer={value} overview={props.overview} />}</Waiting>
      </div>
    </div>
  );
}

function Told(props: { answer: AnswerModel; overview: Overview }) {
  const { answer, overview } = props;
  return (
    <>
      <p>{answer.head}</p>
      {answer.warnings.map((text) => <p class="warning" key={text}>{text}</p>)}
      <h2>{answer.title}</h2>
      {answer.findings.map((card) => <Card key={card.rank} card={card} wall={overview.wall_ns} />)}
      {answer.notes.map((note) => <p class="faint" key={note}>{note}</p>)}
      {answer.muted.length > 0 && (
        <details>
          <summary>{answer.muted.length} muted</summary>
          <ul>{answer.muted.map((muted) => <li key={muted.title}>{muted.title}: {muted.reason}{muted.until === null ? "" : ` (until ${muted.until})`}</li>)}</ul>
        </details>
      )}
      <h2>WHERE THE TIME WENT <span class="faint">critical path</span></h2>
      <PathRows rows={answer.path} label="The critical path by state" whole={answer.path.reduce((sum, row) => sum + row.ns, 0)} />
      {answer.checks.map((text) => <p key={text} class="faint">{text}</p>)}
      <p class="actions">
        <CopyButton text={() => answer.text}>Copy as text</CopyButton> <CopyButton text={() => answer.markdown}>Copy as Markdown</CopyButton>{" "}
        <CopyButton text={() => location.href}>Copy link</CopyButton>
      </p>
    </>
  );
}

function Card(props: { card: FindingCard; wall: number }) {
  const { card, wall } = props;
  const isOpen = state.value.finding === card.rank;
  const share = (ns: number) => Math.min(Math.max((100 * ns) / Math.max(wall, 1), 0), 100);
  const { gain, about } = card;
  const moment = about.moments[0];
  const first = about.functions[0];
  const thing = about.things[0];
  const shown = card.frames.find((frame) => frame.source.length > 0);
  return (
    <article class="card" aria-label={`Finding ${card.rank}`}>
      <h3>{card.rank}. {card.title}</h3>
      <p><span class="saves">{card.saves}</span> <span class="faint">· {card.on_path}</span></p>
      <div class="gain" role="img" aria-label={`saves ${time(Math.max(gain.lo_ns, 0))} to ${time(Math.max(gain.hi_ns, 0))}, most likely ${time(Math.max(gain.ns, 0))}, of ${time(wall)}`}>
        <div class="span" style={{ left: `${share(card.accuses ? gain.lo_ns : 0)}%`, width: `${Math.max(share(gain.hi_ns) - share(card.accuses ? gain.lo_ns : 0), 0.4)}%` }} />
        {card.accuses && <div class="likely" style={{ left: `${share(gain.ns)}%` }} />}
      </div>
      {card.place !== null && <p class="mono faint">{card.place}</p>}
      {shown !== undefined && <Source frame={shown} />}
      <p>→ {card.advice}</p>
      <div class="actions">
        {moment !== undefined && (
          <button type="button" onClick={() => goTo(within(whole.value, { from: moment.at_ns - moment.ns * 4, until: moment.at_ns + moment.ns * 5 }), { tab: "timeline", thread: moment.thread, at: moment.at_ns })}>Show in the timeline</button>
        )}
        {first !== undefined && <button type="button" onClick={() => go({ tab: "flame", function: first })}>Show the code</button>}
        {thing !== undefined && <button type="button" onClick={() => go({ tab: "things", thing })}>Show the file or socket</button>}
        {card.change !== null && <button type="button" onClick={() => go({ tab: "whatif" })}>What if</button>}
        <button type="button" aria-expanded={isOpen} onClick={() => go({ finding: isOpen ? null : card.rank })}>Evidence</button>
      </div>
      {isOpen && <Evidence card={card} />}
    </article>
  );
}

/** The lines around the place, that one marked. */
function Source(props: { frame: PlacedFrame }) {
  const { frame } = props;
  return (
    <figure class="source">
      <pre tabIndex={0} aria-label={`${frame.file}, line ${frame.line}`}>
        {frame.source.map((line) => (
          <div key={line.number} class={line.number === frame.line ? "here" : ""}>
            <span class="faint">{line.number === frame.line ? "▸" : " "}{String(line.number).padStart(5)}  </span>{line.text}
          </div>
        ))}
      </pre>
      {frame.is_changed && <figcaption class="warning">{frame.file} was changed after the recording.</figcaption>}
    </figure>
  );
}

function Evidence(props: { card: FindingCard }) {
  const { card } = props;
  return (
    <div>
      {card.evidence.map((text) => <p key={text}>{text}</p>)}
      {card.doubts !== null && <p class="faint">{card.doubts}</p>}
      {card.figures.length > 0 && (
        <table aria-label="Figures and limits">
          <thead><tr><th>figure</th><th class="number">value</th><th class="number">limit</th><th>which means</th></tr></thead>
          <tbody>{card.figures.map((figure) => <tr key={figure.what}><td>{figure.what}</td><td class="number">{figure.value}</td><td class="number">{figure.limit ?? ""}</td><td>{figure.means}</td></tr>)}</tbody>
        </table>
      )}
      {card.frames.length > 0 && (
        <>
          <h3>Stack</h3>
          {card.frames.map((frame, at) => (
            <div key={at} class="mono">
              {frame.function_at === null ? frame.function : <button type="button" class="link mono" onClick={() => go({ tab: "flame", function: frame.function_at })}>{frame.function}</button>}
              <span class="faint"> {frame.file}{frame.line === null ? "" : `:${frame.line}`}</span>
              {frame.source.length > 0 && <Source frame={frame} />}
            </div>
          ))}
        </>
      )}
      <p class="faint">{card.rule}: {card.looks_for} {card.why} Wrong if: {card.wrong_if}.</p>
      <p class="faint">Signature, to mute it: <code>{card.signature}</code></p>
    </div>
  );
}
