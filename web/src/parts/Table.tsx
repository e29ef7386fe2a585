// A table that can be sorted and filtered. Long ones show the first rows, and say how many more there are.

import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { count } from "../logic/units";

export interface Column<T> {
  head: string;
  /** What it is sorted by: numbers from the largest, texts from A. */
  by: (row: T) => number | string;
  cell: (row: T) => ComponentChildren;
  title?: string;
}

const FIRST = 200;

export function Table<T>(props: {
  label: string;
  rows: readonly T[];
  columns: readonly Column<T>[];
  sortedBy?: number;
  selected?: (row: T) => boolean;
  onSelect?: (row: T) => void;
}) {
  const [by, setBy] = useState({ column: props.sortedBy ?? -1, isReversed: false });
  const [most, setMost] = useState(FIRST);
  const rows = useMemo(() => {
    const column = props.columns[by.column];
    if (column === undefined) return props.rows;
    const sorted = [...props.rows].sort((one, other) => {
      const [a, b] = [column.by(one), column.by(other)];
      return typeof a === "string" || typeof b === "string" ? String(a).localeCompare(String(b)) : b - a;
    });
    return by.isReversed ? sorted.reverse() : sorted;
  }, [props.rows, by.column, by.isReversed]);
  const isNumber = (column: Column<T>) => props.rows[0] !== undefined && typeof column.by(props.rows[0]) === "number";
  const more = rows.length - most;
  return (
    <div class="tabled">
      <table aria-label={props.label}>
        <thead>
          <tr>
            {props.columns.map((column, at) => (
              <th
                key={column.head}
                class={isNumber(column) ? "number" : ""}
                title={column.title}
                aria-sort={by.column !== at ? "none" : isNumber(column) !== by.isReversed ? "descending" : "ascending"}
              >
                <button type="button" onClick={() => setBy({ column: at, isReversed: by.column === at && !by.isReversed })}>
                  {column.head}
                  {by.column === at ? (isNumber(column) !== by.isReversed ? " ▾" : " ▴") : ""}
                </button>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, most).map((row, at) => (
            <tr key={at} aria-selected={props.selected?.(row) ?? false} onClick={() => props.onSelect?.(row)}>
              {props.columns.map((column) => (
                <td key={column.head} class={isNumber(column) ? "number" : "name"}>{column.cell(row)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {more > 0 && <p><button type="button" onClick={() => setMost(most * 5)}>{count(more)} more rows</button></p>}
      {rows.length === 0 && <p class="faint">Nothing.</p>}
    </div>
  );
}
