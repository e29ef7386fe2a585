import { expect, test } from "vitest";
import { request } from "../src/views/WhatIf";

test("a prediction is asked in one way: ids ascending, what is whole left out", () => {
  expect(request(new Map([[7, 50], [3, 0], [9, 100]]))).toBe("predict?changes=3:0,7:50");
});
