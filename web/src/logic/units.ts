// Figures as the terminal writes them.

export function count(n: number): string {
  return Math.round(n).toString().replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

function decimal(value: number, decimals: number): string {
  const [whole, rest] = value.toFixed(decimals).split(".");
  const text = (whole ?? "").replace(/\B(?=(\d{3})+(?!\d))/g, ",");
  return rest === undefined ? text : `${text}.${rest}`;
}

function threeDigits(value: number): string {
  return decimal(value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0);
}

/** `10.9 us`, `1.21 ms`, `14.21 s`, `4 min 12 s`, `3 h 02 min`. */
export function time(ns: number): string {
  if (ns < 0) return `-${time(-ns)}`;
  if (ns < 1_000) return `${Math.round(ns)} ns`;
  if (ns < 999_500) return `${threeDigits(ns / 1e3)} us`;
  if (ns < 999_500_000) return `${threeDigits(ns / 1e6)} ms`;
  if (ns < 120_000_000_000) return `${decimal(ns / 1e9, 2)} s`;
  const seconds = Math.floor(ns / 1e9);
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const two = (n: number) => n.toString().padStart(2, "0");
  return hours === 0 ? `${minutes} min ${two(seconds % 60)} s` : `${count(hours)} h ${two(minutes)} min`;
}

/** A time with its sign. */
export function signedTime(ns: number): string {
  return ns === 0 ? "0" : `${ns > 0 ? "+" : "-"}${time(Math.abs(ns))}`;
}

/** `712 B`, `1.8 MB`. */
export function bytes(n: number): string {
  if (n < 1000) return `${n} B`;
  const units = ["kB", "MB", "GB", "TB", "PB"];
  let value = n / 1e3;
  let unit = 0;
  while (value >= 999.95 && unit + 1 < units.length) {
    value /= 1e3;
    unit += 1;
  }
  return `${decimal(value, value < 99.95 ? 1 : 0)} ${units[unit]}`;
}

/** A share from 0 to 1: `42 %`, `<1 %`. */
export function percent(share: number): string {
  const value = share * 100;
  return value > 0 && value < 0.95 ? "<1 %" : `${value.toFixed(0)} %`;
}

/** A moment of a recording, with digits enough for what is on the screen: `+1.234567 s`. */
export function moment(ns: number, shownNs: number): string {
  const decimals = Math.min(Math.max(Math.ceil(-Math.log10(Math.max(shownNs, 1) / 1e9 / 1000)), 0), 9);
  return `${decimal(ns / 1e9, decimals)} s`;
}

/** Round distances for an axis: so many pixels apart at least. */
export function axisStep(nsPerPixel: number, pixels = 90): number {
  const least = nsPerPixel * pixels;
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  for (const step of [1, 2, 5, 10]) if (step * power >= least) return step * power;
  return 10 * power;
}

export const plural = (n: number, one: string, many: string) => `${count(n)} ${n === 1 ? one : many}`;
