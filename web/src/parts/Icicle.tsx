// One flame graph: a click zooms in, a double click opens one function.

import { signal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { drawFlame, isFound, ROW } from "../draw/flame";
import type { Palette } from "../draw/palette";
import type { Pen } from "../draw/pen";
import { layout, type Tree } from "../logic/flame";
import { state } from "../store";
import { Canvas, type Pictures, type Size } from "./Canvas";
import { Fixed } from "./Fixed";

export interface IcicleProps<T> {
  root: T;
  label: string;
  name: (frame: T) => string;
  color: (frame: T, colors: Palette) => string;
  /** What is said of a frame, beside its name. */
  about: (frame: T) => string;
  /** Its place in the code, if it is a function. */
  open: (frame: T) => number | null;
  onOpen: ((fn: number) => void) | null;
  keep: (made: Pictures) => void;
  /** How much of the height it takes, beside others. */
  part: number;
}

function deepest<T extends Tree<T>>(root: T): number {
  let most = 0;
  const stack = [root];
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    most = Math.max(most, next.depth);
    stack.push(...next.children.values());
  }
  return most;
}

export function Icicle<T extends Tree<T>>(props: IcicleProps<T>) {
  const { root } = props;
  const focus = useMemo(() => signal<T>(root), [root]);
  const selected = useMemo(() => signal<T | null>(null), [root]);
  const hover = useMemo(() => signal<{ x: number; y: number; frame: T } | null>(null), [root]);
  const scroll = useMemo(() => signal(0), [root]);
  const size = useRef<Size>({ width: 1, height: 1 });
  const well = useRef<HTMLDivElement>(null);
  const boxes = useMemo(() => layout(focus.value, 0.0004), [root, focus.value]);
  const draw = (pen: Pen, now: Size, colors: Palette) => {
    size.current = now;
    const look = {
      name: props.name, color: (frame: T) => props.color(frame, colors), isFound: (frame: T) => isFound(props.name(frame), state.value.search),
      found: colors.accent, selected: selected.value, outline: colors.text,
    };
    drawFlame(pen, boxes, look, now.width, scroll.value, now.height);
  };
  const under = (event: MouseEvent): T | null => {
    const place = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const [x, y] = [(event.clientX - place.left) / size.current.width, event.clientY - place.top + scroll.value];
    const depth = Math.floor(y / ROW);
    return boxes.find((box) => box.depth === depth && box.x <= x && x < box.x + box.width)?.frame ?? null;
  };
  const tall = useMemo(() => (deepest(root) + 2) * ROW, [root]);
  useEffect(() => {
    focus.value = root;
  }, [root]);
  const frame = hover.value?.frame ?? selected.value;
  const { onOpen } = props;
  const opened = selected.value === null ? null : props.open(selected.value);
  return (
    <>
      <div class="chart" style={{ flex: props.part }}>
        <div class="well" ref={well} tabIndex={0} aria-label={props.label} onScroll={(event) => (scroll.value = (event.currentTarget as HTMLElement).scrollTop)}>
          <div style={{ height: `${tall}px` }}>
            <Fixed well={well}>
              <Canvas
                draw={draw} label={`${props.label}; the table has the same as text`} picture={props.keep}
                onPointerDown={(event) => {
                  const at = under(event);
                  if (at === null) return;
                  selected.value = at;
                  focus.value = at;
                }}
                onDblClick={(event) => {
                  const at = under(event);
                  const fn = at === null ? null : props.open(at);
                  if (fn !== null) props.onOpen?.(fn);
                }}
                onPointerMove={(event) => {
                  const at = under(event);
                  hover.value = at === null ? null : { x: event.clientX, y: event.clientY, frame: at };
                }}
                onPointerLeave={() => (hover.value = null)}
              />
            </Fixed>
          </div>
        </div>
        {hover.value !== null && (
          <div class="tip" style={{ left: `${Math.min(hover.value.x + 14, innerWidth - 320)}px`, top: `${hover.value.y + 16}px` }}>
            {props.name(hover.value.frame)}<br />{props.about(hover.value.frame)}
          </div>
        )}
      </div>
      <div class="bar" aria-live="polite">
        {focus.value !== root && <button type="button" onClick={() => (focus.value = root)}>Whole graph</button>}
        {frame === null || frame === undefined ? <span class="faint">Click to zoom in{props.onOpen === null ? "" : ", double-click for one function with its callers"}.</span> : (
          <span>{props.name(frame)}: {props.about(frame)}</span>
        )}
        {opened !== null && onOpen !== null && <button type="button" onClick={() => onOpen(opened)}>Only this function</button>}
      </div>
    </>
  );
}
