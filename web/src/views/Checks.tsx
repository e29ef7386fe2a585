// Whether the figures hold: ours beside the kernel's, what recording cost, what was lost.

import type { CheckedTime, Checks as ChecksModel, Overview } from "../generated/model";
import type { Recording } from "../data/recording";
import { percent, time } from "../logic/units";
import { useAnswer } from "../parts/useAnswer";
import { Waiting } from "../parts/Waiting";

export function Checks(props: { recording: Recording; overview: Overview }) {
  const checks = useAnswer(props.recording.checks, [props.recording]);
  return (
    <div class="scroll">
      <div class="narrow"><Waiting asked={checks} what="Reading">{(value) => <Told checks={value} overview={props.overview} />}</Waiting></div>
    </div>
  );
}

function Told(props: { checks: ChecksModel; overview: Overview }) {
  const { checks, overview } = props;
  const row = (name: string, checked: CheckedTime) => (
    <tr>
      <td>{name}</td>
      <td class="number">{time(checked.ours_ns)}</td>
      <td class="number">{checked.kernel_ns === 0 ? "no figure" : time(checked.kernel_ns)}</td>
      <td class="number">{checked.difference_pct === null ? "" : `${checked.difference_pct >= 0 ? "+" : ""}${checked.difference_pct.toFixed(2)} %`}</td>
    </tr>
  );
  const refused = checks.probes.filter((probe) => !probe.attached);
  return (
    <>
      <h2>Checks</h2>
      {checks.warnings.map((text) => <p class="warning" key={text}>{text}</p>)}
      {overview.thinned.map((text) => <p class="warning" key={text}>{text}</p>)}
      {checks.mended !== null && <p class="warning">This recording was cut short and repaired: {checks.mended}</p>}
      {checks.lines.map((text) => <p key={text}>{text}</p>)}
      <table aria-label="Time of all threads, by timesink and by the kernel">
        <thead><tr><th>time of all threads</th><th class="number">timesink</th><th class="number">kernel</th><th class="number">difference</th></tr></thead>
        <tbody>{row("on CPU", checks.cpu)}{row("runnable", checks.runnable)}{row("alive", checks.life)}</tbody>
      </table>
      <h3>Cost</h3>
      <p>
        Recording cost about {checks.cost_pct.toFixed(1)} % of the wall time
        {checks.recorder_cpu_ns === null ? "" : `, and ${time(checks.recorder_cpu_ns)} of CPU time in timesink itself`}. System calls were timed {percent(checks.calls_timed_share)} of the time. Waits
        longer than {time(checks.threshold_ns)} were recorded one by one.
      </p>
      <h3>Lost</h3>
      {checks.losses.length === 0 ? <p>Nothing.</p> : <ul>{checks.losses.map((loss) => <li key={loss.words}>{loss.words} <span class="faint">{loss.note}</span></li>)}</ul>}
      <h3>Probes</h3>
      <p>{checks.probes.length - refused.length} of {checks.probes.length} attached.</p>
      {refused.length > 0 && (
        <table aria-label="Probes that were not attached">
          <thead><tr><th>not attached</th><th>because</th><th>without it</th></tr></thead>
          <tbody>{refused.map((probe) => <tr key={probe.probe}><td><code>{probe.probe}</code></td><td>{probe.reason}</td><td>{probe.without}</td></tr>)}</tbody>
        </table>
      )}
      <h3>Recording</h3>
      <p class="mono">{overview.command.join(" ")}</p>
      <p class="faint">in {overview.directory}, {new Date(overview.started_unix_ns / 1e6).toISOString()}, by timesink {overview.tool_version}</p>
    </>
  );
}
