import type { ComponentChildren } from "preact";
import type { Asked } from "./useAnswer";

/** What is shown until an answer is there, or why there is none. */
export function Waiting<T>(props: { asked: Asked<T>; what: string; children: (value: T) => ComponentChildren }) {
  const { asked } = props;
  if (asked === null) return <p class="faint" role="status">{props.what} …</p>;
  if ("error" in asked) return <p class="warning" role="alert">{asked.error}</p>;
  return <>{props.children(asked.value)}</>;
}
