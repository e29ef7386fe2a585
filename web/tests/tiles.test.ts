import { expect, test } from "vitest";
import { levelFor, moved, tilesOf, TileStore, within, zoomed } from "../src/logic/tiles";

const all = { from: -50, until: 999_950 };

test("a bucket is no longer than a pixel", () => {
  for (const nsPerPixel of [1000, 500, 100, 3.7, 0.01]) {
    const level = levelFor(all, nsPerPixel, 1024);
    expect((all.until - all.from) / 1024 / 2 ** level).toBeLessThanOrEqual(nsPerPixel * 1.0001);
    if (level > 0) expect((all.until - all.from) / 1024 / 2 ** (level - 1)).toBeGreaterThan(nsPerPixel);
  }
  expect(levelFor(all, 1e9, 1024)).toBe(0);
  expect(levelFor(all, 0, 1024)).toBeLessThanOrEqual(40);
});

test("tiles cover a range and no more", () => {
  expect(tilesOf(all, all, 0)).toEqual([0]);
  expect(tilesOf(all, all, 2)).toEqual([0, 1, 2, 3]);
  expect(tilesOf(all, { from: 0, until: 10 }, 3)).toEqual([0]);
  expect(tilesOf(all, { from: 499_949, until: 499_951 }, 1)).toEqual([0, 1]);
  expect(tilesOf(all, { from: -1e9, until: -1e8 }, 1)).toEqual([0]);
  expect(tilesOf({ from: 5, until: 5 }, { from: 5, until: 5 }, 0)).toEqual([0]);
});

test("zooming and moving stay within what was recorded", () => {
  expect(zoomed(all, all, 0, 10)).toEqual(all);
  const near = zoomed(all, all, 400_000, 0.1);
  expect(near.until - near.from).toBeCloseTo(100_000);
  expect((400_000 - near.from) / (near.until - near.from)).toBeCloseTo((400_000 - all.from) / 1_000_000);
  expect(moved(all, near, -100).from).toBe(all.from);
  expect(moved(all, near, 100).until).toBe(all.until);
  expect(within(all, { from: 10, until: 10 }).until - within(all, { from: 10, until: 10 }).from).toBe(1000);
});

interface Fake {
  name: string;
  isComplete: boolean;
}

function fake(there: Record<string, Fake>, fails = false) {
  const asked: string[] = [];
  let changes = 0;
  let pending = 0;
  const store = new TileStore<Fake>(
    async (level, tile) => {
      asked.push(`${level}/${tile}`);
      const answer = there[`${level}/${tile}`];
      if (answer === undefined || fails) throw new Error("refused");
      return answer;
    },
    (level, tile) => `${level}/${tile}` in there,
    (more) => {
      pending += more;
      if (more < 0) changes += 1;
    },
    (tile) => tile.isComplete,
  );
  return { asked, store, changes: () => changes, pending: () => pending };
}

test("where a tile is not there yet, the one above it is shown, and each is asked once", async () => {
  const { asked, store, changes, pending } = fake({ "0/0": { name: "whole", isComplete: false }, "2/3": { name: "part", isComplete: false } });
  expect(store.best(0, 0)).toBeUndefined();
  expect(store.best(0, 0)).toBeUndefined();
  await Promise.resolve();
  expect(store.best(0, 0)?.name).toBe("whole");
  expect(store.best(2, 3)?.name).toBe("whole");
  await Promise.resolve();
  expect(store.best(2, 3)?.name).toBe("part");
  expect(asked).toEqual(["0/0", "2/3"]);
  expect(changes()).toBe(2);
  expect(pending()).toBe(0);
});

test("below a tile that is complete nothing is asked", async () => {
  const { asked, store } = fake({ "0/0": { name: "whole", isComplete: true }, "1/0": { name: "half", isComplete: true } });
  store.best(0, 0);
  await Promise.resolve();
  expect(store.best(5, 2)?.name).toBe("whole");
  expect(asked).toEqual(["0/0"]);
});

test("a file that lacks a tile is asked for the nearest above", async () => {
  const { asked, store } = fake({ "0/0": { name: "whole", isComplete: false }, "1/1": { name: "half", isComplete: false } });
  store.best(4, 15);
  await Promise.resolve();
  expect(asked).toEqual(["1/1"]);
  expect(store.best(4, 15)?.name).toBe("half");
});

test("what was refused may be asked again", async () => {
  const { asked, store } = fake({ "0/0": { name: "whole", isComplete: false } }, true);
  store.best(0, 0);
  await new Promise((done) => setTimeout(done, 0));
  store.best(0, 0);
  expect(asked).toEqual(["0/0", "0/0"]);
});
