import { expect, test } from "vitest";
import { axisStep, bytes, count, moment, percent, signedTime, time } from "../src/logic/units";

// The same figures as in the terminal: these are the examples of its own test.
test("figures are those of the terminal", () => {
  expect(count(1_204_332)).toBe("1,204,332");
  expect(count(12)).toBe("12");
  expect(time(999)).toBe("999 ns");
  expect(time(10_900)).toBe("10.9 us");
  expect(time(999_600)).toBe("1.00 ms");
  expect(time(14_210_000_000)).toBe("14.21 s");
  expect(time(252_000_000_000)).toBe("4 min 12 s");
  expect(time(10_920_000_000_000)).toBe("3 h 02 min");
  expect(bytes(712)).toBe("712 B");
  expect(bytes(1_800_000)).toBe("1.8 MB");
  expect(bytes(999_999)).toBe("1.0 MB");
  expect(percent(0.416)).toBe("42 %");
  expect(percent(0.004)).toBe("<1 %");
  expect(percent(0)).toBe("0 %");
  expect(signedTime(-5_000_000)).toBe("-5.00 ms");
  expect(signedTime(0)).toBe("0");
});

test("moments have as many digits as can be told apart", () => {
  expect(moment(1_234_567_890, 10_000_000_000)).toBe("1.23 s");
  expect(moment(1_234_567_890, 1_000_000)).toBe("1.234568 s");
});

test("an axis has round steps that are far enough apart", () => {
  for (const nsPerPixel of [0.7, 13, 999, 123_456, 7e9]) {
    const step = axisStep(nsPerPixel, 90);
    expect(step / nsPerPixel).toBeGreaterThanOrEqual(90);
    expect(step / nsPerPixel).toBeLessThan(90 * 3);
    expect(["1", "2", "5"]).toContain(step.toExponential(0)[0]);
  }
});
