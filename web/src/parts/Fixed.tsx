import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

/** A child as large as the window of what is scrolled, which stays in it. */
export function Fixed(props: { well: { current: HTMLDivElement | null }; children: ComponentChildren }) {
  const stage = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const [inner, outer] = [stage.current, props.well.current];
    if (inner === null || outer === null) return undefined;
    const fit = () => {
      inner.style.width = `${outer.clientWidth}px`;
      inner.style.height = `${outer.clientHeight}px`;
    };
    const observer = new ResizeObserver(fit);
    observer.observe(outer);
    fit();
    return () => observer.disconnect();
  }, []);
  return (
    <div style={{ position: "sticky", top: "0", height: "0" }}>
      <div ref={stage} style={{ position: "absolute", left: "0", top: "0" }}>{props.children}</div>
    </div>
  );
}
