import type { Histogram } from "../generated/model";
import { bars } from "../logic/histogram";
import { count } from "../logic/units";

/** Counts by powers of two. A constant shows as one tall bar. */
export function HistogramBars(props: { histogram: Histogram; label: string; unit: (value: number) => string }) {
  const all = bars(props.histogram);
  if (all.length === 0) return null;
  const most = Math.max(...all.map((bar) => bar.count), 1);
  const told = (bar: { from: number; until: number; count: number }) => `${props.unit(bar.from)} to ${props.unit(bar.until)}: ${count(bar.count)}`;
  return (
    <figure>
      <figcaption>{props.label}</figcaption>
      <div class="histogram" role="img" aria-label={`${props.label}: ${all.filter((bar) => bar.count > 0).map(told).join("; ")}`}>
        {all.map((bar) => <div key={bar.from} style={{ height: `${(100 * bar.count) / most}%` }} title={told(bar)} />)}
      </div>
      <div class="ticks" aria-hidden="true"><span>{props.unit(all[0]?.from ?? 0)}</span><span>{props.unit(all[all.length - 1]?.until ?? 0)}</span></div>
    </figure>
  );
}
