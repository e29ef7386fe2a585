// A canvas as large as its place, drawn again when what it shows changes, at most once a frame.

import { effect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { palette, type Palette } from "../draw/palette";
import { CanvasPen, SvgPen, type Pen } from "../draw/pen";
import { theme } from "../store";

export interface Size {
  width: number;
  height: number;
}

export interface CanvasProps {
  /** Reads signals: it is called again when one of them changes. */
  draw: (pen: Pen, size: Size, palette: Palette) => void;
  label: string;
  onPointerDown?: (event: PointerEvent) => void;
  onPointerMove?: (event: PointerEvent) => void;
  onPointerLeave?: () => void;
  onDblClick?: (event: MouseEvent) => void;
  onSize?: (size: Size) => void;
  /** The picture that this canvas shows now, for who wants to keep it. */
  picture?: (make: Pictures) => void;
}

export interface Pictures {
  svg: () => string;
  png: () => Promise<Blob | null>;
}

export function Canvas(props: CanvasProps) {
  const place = useRef<HTMLCanvasElement>(null);
  const latest = useRef(props);
  latest.current = props;
  const redraw = useRef<() => void>(() => undefined);
  useEffect(() => {
    const canvas = place.current;
    const parent = canvas?.parentElement;
    const context = canvas?.getContext("2d") ?? null;
    if (canvas === null || parent === null || parent === undefined || context === null) return undefined;
    let size: Size = { width: 0, height: 0 };
    let frame = 0;
    let stop = () => undefined as void;
    const paint = () => {
      frame = 0;
      stop();
      // What was read while drawing is what it is drawn again for.
      let isFirst = true;
      stop = effect(() => {
        const colors = palette(theme.value);
        if (!isFirst) {
          ask();
          return;
        }
        isFirst = false;
        const ratio = devicePixelRatio;
        context.setTransform(ratio, 0, 0, ratio, 0, 0);
        const pen = new CanvasPen(context);
        pen.rect(0, 0, size.width, size.height, colors.bg);
        latest.current.draw(pen, size, colors);
      });
    };
    const ask = () => {
      if (frame === 0) frame = requestAnimationFrame(paint);
    };
    const resize = () => {
      size = { width: parent.clientWidth, height: parent.clientHeight };
      const ratio = devicePixelRatio;
      canvas.width = Math.max(Math.round(size.width * ratio), 1);
      canvas.height = Math.max(Math.round(size.height * ratio), 1);
      canvas.style.width = `${size.width}px`;
      canvas.style.height = `${size.height}px`;
      latest.current.onSize?.(size);
      ask();
    };
    redraw.current = ask;
    const observer = new ResizeObserver(resize);
    observer.observe(parent);
    resize();
    latest.current.picture?.({
      svg: () => {
        const colors = palette(theme.peek());
        const pen = new SvgPen(size.width, size.height, colors.bg);
        latest.current.draw(pen, size, colors);
        return pen.finish();
      },
      png: () => new Promise((done) => canvas.toBlob(done, "image/png")),
    });
    return () => {
      observer.disconnect();
      stop();
      cancelAnimationFrame(frame);
    };
  }, []);
  useEffect(() => redraw.current());
  return (
    <canvas
      ref={place}
      role="img"
      aria-label={props.label}
      onPointerDown={props.onPointerDown}
      onPointerMove={props.onPointerMove}
      onPointerLeave={props.onPointerLeave}
      onDblClick={props.onDblClick}
    />
  );
}
