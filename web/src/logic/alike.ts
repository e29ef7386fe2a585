// Things that go by one name, such as all connections to one peer, told together.

import type { ThingRow } from "../generated/model";

export type Sums = Pick<ThingRow, "calls" | "call_ns" | "bytes" | "errors" | "is_estimated" | "waits" | "wait_ns" | "on_path_ns">;

export interface Alike extends Sums {
  name: string;
  kind: string;
  rows: ThingRow[];
}

/** By kind and name, those with most time first. */
export function alike(rows: readonly ThingRow[]): Alike[] {
  const groups = new Map<string, Alike>();
  for (const row of rows) {
    const key = `${row.kind}/${row.name}`;
    let group = groups.get(key);
    if (group === undefined) {
      group = { name: row.name, kind: row.kind, rows: [], calls: 0, call_ns: 0, bytes: 0, errors: 0, is_estimated: false, waits: 0, wait_ns: 0, on_path_ns: 0 };
      groups.set(key, group);
    }
    group.rows.push(row);
    for (const sum of ["calls", "call_ns", "bytes", "errors", "waits", "wait_ns", "on_path_ns"] as const) group[sum] += row[sum];
    group.is_estimated ||= row.is_estimated;
  }
  const time = (one: Sums) => one.call_ns + one.wait_ns;
  for (const group of groups.values()) group.rows.sort((a, b) => time(b) - time(a));
  return [...groups.values()].sort((a, b) => time(b) - time(a));
}
