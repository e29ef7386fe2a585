import { expect, test } from "vitest";
import { isStep, read, START, written, type State } from "../src/logic/address";

test("what is looked at is read back from its address", () => {
  const state: State = {
    ...START, tab: "flame", from: -20, until: 4_000, lanes: "processors", thread: 3, at: 77, process: 1, times: "waits",
    up: true, own: true, function: 12, thing: 5, finding: 2, search: "a&b=#<c>",
  };
  expect(read(`#${written(state)}`)).toEqual(state);
  expect(read("")).toEqual(START);
  expect(written(START)).toBe("");
});

test("what makes no sense is as if it were not there", () => {
  for (const text of ["#tab=nowhere", "#from=5", "#from=9&until=3", "#thread=one", "#thread=1e9", "#times=never", "#%%%", "#lanes=7", "#thing=99999999999999999999"]) {
    expect(read(text), text).toEqual(START);
  }
});

test("back undoes steps, not pixels", () => {
  expect(isStep(START, { ...START, tab: "flame" })).toBe(true);
  expect(isStep(START, { ...START, thing: 4 })).toBe(true);
  expect(isStep(START, { ...START, from: 1, until: 2 })).toBe(false);
  expect(isStep(START, { ...START, search: "x" })).toBe(false);
});
