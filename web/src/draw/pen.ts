// What charts are drawn with: a canvas on the screen, or a picture in SVG.

export interface Pen {
  rect(x: number, y: number, width: number, height: number, color: string): void;
  outline(x: number, y: number, width: number, height: number, color: string, line?: number): void;
  text(x: number, y: number, text: string, color: string, room: number): void;
  line(x0: number, y0: number, x1: number, y1: number, color: string, width?: number): void;
  image(image: CanvasImageSource, sx: number, sw: number, x: number, y: number, width: number, height: number): void;
  clip(x: number, y: number, width: number, height: number, draw: () => void): void;
}

export const FONT = '12px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
/** Pixels of a letter, on average: short texts are measured, long ones cut by this first. */
const LETTER = 6.2;

export class CanvasPen implements Pen {
  constructor(private readonly context: CanvasRenderingContext2D) {
    context.font = FONT;
    context.textBaseline = "middle";
  }

  rect(x: number, y: number, width: number, height: number, color: string): void {
    this.context.fillStyle = color;
    this.context.fillRect(x, y, width, height);
  }

  outline(x: number, y: number, width: number, height: number, color: string, line = 2): void {
    this.context.strokeStyle = color;
    this.context.lineWidth = line;
    this.context.strokeRect(x, y, width, height);
  }

  text(x: number, y: number, text: string, color: string, room: number): void {
    const shown = fitted(text, room);
    if (shown === "") return;
    this.context.fillStyle = color;
    this.context.fillText(shown, x, y);
  }

  line(x0: number, y0: number, x1: number, y1: number, color: string, width = 1): void {
    this.context.strokeStyle = color;
    this.context.lineWidth = width;
    this.context.beginPath();
    this.context.moveTo(x0, y0);
    this.context.lineTo(x1, y1);
    this.context.stroke();
  }

  image(image: CanvasImageSource, sx: number, sw: number, x: number, y: number, width: number, height: number): void {
    this.context.imageSmoothingEnabled = false;
    const tall = image instanceof HTMLCanvasElement ? image.height : height;
    this.context.drawImage(image, sx, 0, sw, tall, x, y, width, height);
  }

  clip(x: number, y: number, width: number, height: number, draw: () => void): void {
    this.context.save();
    this.context.beginPath();
    this.context.rect(x, y, width, height);
    this.context.clip();
    draw();
    this.context.restore();
  }
}

/** As much of a text as fits into so many pixels. */
export function fitted(text: string, room: number): string {
  const letters = Math.floor(room / LETTER);
  if (text.length <= letters) return text;
  return letters < 3 ? "" : `${text.slice(0, letters - 1)}…`;
}

const escaped = (text: string) =>
  text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`).replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, "\ufffd");

export class SvgPen implements Pen {
  private readonly parts: string[] = [];
  private clips = 0;

  constructor(private readonly width: number, private readonly height: number, background: string) {
    this.rect(0, 0, width, height, background);
  }

  rect(x: number, y: number, width: number, height: number, color: string): void {
    this.parts.push(`<rect x="${n(x)}" y="${n(y)}" width="${n(width)}" height="${n(height)}" fill="${color}"/>`);
  }

  outline(x: number, y: number, width: number, height: number, color: string, line = 2): void {
    this.parts.push(`<rect x="${n(x)}" y="${n(y)}" width="${n(width)}" height="${n(height)}" fill="none" stroke="${color}" stroke-width="${line}"/>`);
  }

  text(x: number, y: number, text: string, color: string, room: number): void {
    const shown = fitted(text, room);
    if (shown !== "") this.parts.push(`<text x="${n(x)}" y="${n(y)}" fill="${color}" dominant-baseline="central">${escaped(shown)}</text>`);
  }

  line(x0: number, y0: number, x1: number, y1: number, color: string, width = 1): void {
    this.parts.push(`<line x1="${n(x0)}" y1="${n(y0)}" x2="${n(x1)}" y2="${n(y1)}" stroke="${color}" stroke-width="${width}"/>`);
  }

  image(image: CanvasImageSource, sx: number, sw: number, x: number, y: number, width: number, height: number): void {
    if (!(image instanceof HTMLCanvasElement)) return;
    const id = `clip${this.clips++}`;
    const scale = width / sw;
    this.parts.push(
      `<clipPath id="${id}"><rect x="${n(x)}" y="${n(y)}" width="${n(width)}" height="${n(height)}"/></clipPath>` +
        `<image clip-path="url(#${id})" x="${n(x - sx * scale)}" y="${n(y)}" width="${n(image.width * scale)}" height="${n(height)}" ` +
        `preserveAspectRatio="none" image-rendering="pixelated" href="${image.toDataURL()}"/>`,
    );
  }

  clip(x: number, y: number, width: number, height: number, draw: () => void): void {
    const id = `clip${this.clips++}`;
    this.parts.push(`<clipPath id="${id}"><rect x="${n(x)}" y="${n(y)}" width="${n(width)}" height="${n(height)}"/></clipPath><g clip-path="url(#${id})">`);
    draw();
    this.parts.push("</g>");
  }

  finish(): string {
    return (
      `<svg xmlns="http://www.w3.org/2000/svg" width="${this.width}" height="${this.height}" viewBox="0 0 ${this.width} ${this.height}" ` +
      `font-family="system-ui, DejaVu Sans, sans-serif" font-size="12">${this.parts.join("\n")}</svg>\n`
    );
  }
}

const n = (value: number) => Number(value.toFixed(2)).toString();
