import { useState } from "preact/hooks";
import { copy } from "./save";

/** Copies a text, and says so. */
export function CopyButton(props: { text: () => string; children: string }) {
  const [said, setSaid] = useState("");
  const run = async () => {
    setSaid((await copy(props.text())) ? "Copied" : "This browser does not let it be copied");
    setTimeout(() => setSaid(""), 2000);
  };
  return <button type="button" onClick={() => void run()} aria-live="polite">{said === "" ? props.children : said}</button>;
}
