import type { PathRow } from "../generated/model";
import { percent } from "../logic/units";

/** The path by state: a strip, and a row for each. */
export function PathRows(props: { rows: readonly PathRow[]; label: string; whole: number }) {
  return (
    <>
      <div class="strip" aria-hidden="true">
        {props.rows.map((row) => (
          <span key={row.label} class={`g-${row.group}`} style={{ width: `${(100 * row.ns) / Math.max(props.whole, 1)}%` }} title={`${row.label} ${row.time}`} />
        ))}
      </div>
      <div class="tabled">
        <table aria-label={props.label}>
          <thead><tr><th>state</th><th class="number">time</th><th class="number">share</th><th>about</th></tr></thead>
          <tbody>
            {props.rows.map((row) => (
              <tr key={row.label}>
                <td><span class={`mark g-${row.group}`} aria-hidden="true" />{row.label}</td>
                <td class="number">{row.time}</td>
                <td class="number">{percent(row.share)}</td>
                <td class="name">{row.about.join(" · ")}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
