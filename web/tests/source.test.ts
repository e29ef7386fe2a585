import { afterEach, expect, test, vi } from "vitest";
import { Recording } from "../src/data/recording";
import { FileSource, Refusal, ServedSource } from "../src/data/source";

/** A page with these answers in it, as far as a source looks at it. */
async function file(answers: Record<string, unknown>): Promise<ParentNode> {
  const packed = async (answer: unknown) => {
    const stream = new Blob([JSON.stringify(answer)]).stream().pipeThrough(new CompressionStream("gzip"));
    return btoa(String.fromCharCode(...new Uint8Array(await new Response(stream).arrayBuffer())));
  };
  const elements = await Promise.all(
    Object.entries(answers).map(async ([request, answer]) => ({ getAttribute: () => request, textContent: `\n${await packed(answer)}\n` })),
  );
  return { querySelectorAll: () => elements } as unknown as ParentNode;
}

afterEach(() => vi.unstubAllGlobals());

test("a file answers what it holds, and says where the rest is", async () => {
  const source = new FileSource(await file({ overview: { name: "µ" }, "path?level=0&tile=0": [1] }));
  expect(await source.ask("overview")).toEqual({ name: "µ" });
  expect(source.has("path?level=0&tile=0")).toBe(true);
  expect(source.has("path?level=1&tile=0")).toBe(false);
  await expect(source.ask("path?level=1&tile=0")).rejects.toThrow("timesink open");
});

test("the other recording is asked by its own name, and nothing is asked twice", async () => {
  const asked: string[] = [];
  vi.stubGlobal("fetch", async (url: string, how: RequestInit) => {
    asked.push(url);
    expect(new Headers(how.headers).get("timesink-token")).toBe("a-token");
    return new Response(JSON.stringify({ url }));
  });
  const b = new Recording(new ServedSource("a-token"), "b");
  await Promise.all([b.overview(), b.overview()]);
  await b.predict("predict?changes=1:0");
  expect(asked).toEqual(["/api/b/overview", "/api/b/predict?changes=1:0"]);
});

test("a refusal is a sentence, and may be asked again", async () => {
  let count = 0;
  vi.stubGlobal("fetch", async () => {
    count += 1;
    return new Response(JSON.stringify({ error: "this recording has no main thread" }), { status: 500 });
  });
  const recording = new Recording(new ServedSource("a-token"), "a");
  await expect(recording.answer()).rejects.toThrow("no main thread");
  await expect(recording.answer()).rejects.toBeInstanceOf(Refusal);
  expect(count).toBe(2);
});

test("a server that is gone is said to be gone", async () => {
  vi.stubGlobal("fetch", async () => {
    throw new TypeError("Failed to fetch");
  });
  await expect(new ServedSource("a-token").ask("overview")).rejects.toThrow("no longer answers");
});
