// Counts by powers of two, as bars from the smallest to the largest.

import type { Histogram } from "../generated/model";

export interface Bar {
  /** From this on, less than that. */
  from: number;
  until: number;
  count: number;
}

/** All buckets between the first and the last, also those with nothing in them. */
export function bars(histogram: Histogram): Bar[] {
  const counts = new Map<number, number>();
  histogram.bucket.forEach((bucket, at) => counts.set(bucket, (counts.get(bucket) ?? 0) + (histogram.count[at] ?? 0)));
  if (counts.size === 0) return [];
  const [first, last] = [Math.min(...counts.keys()), Math.max(...counts.keys())];
  const all: Bar[] = [];
  for (let bucket = first; bucket <= last; bucket++) {
    all.push({ from: bucket === 0 ? 0 : 2 ** bucket, until: 2 ** (bucket + 1), count: counts.get(bucket) ?? 0 });
  }
  return all;
}

/** Several of them as one. */
export function added(histograms: readonly Histogram[]): Histogram {
  const counts = new Map<number, number>();
  for (const one of histograms) one.bucket.forEach((bucket, at) => counts.set(bucket, (counts.get(bucket) ?? 0) + (one.count[at] ?? 0)));
  const buckets = [...counts.keys()].sort((a, b) => a - b);
  return { bucket: buckets, count: buckets.map((bucket) => counts.get(bucket) ?? 0) };
}
