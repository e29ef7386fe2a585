// An answer in a component: there, under way, or refused.

import { useEffect, useState } from "preact/hooks";
import { Refusal } from "../data/source";

export type Asked<T> = { value: T } | { error: string } | null;

export function useAnswer<T>(ask: () => Promise<T>, keys: readonly unknown[]): Asked<T> {
  const [answer, setAnswer] = useState<Asked<T>>(null);
  useEffect(() => {
    let isGone = false;
    setAnswer(null);
    ask().then(
      (value) => isGone || setAnswer({ value }),
      (fault: unknown) => isGone || setAnswer({ error: fault instanceof Refusal ? fault.message : String(fault) }),
    );
    return () => {
      isGone = true;
    };
  }, keys);
  return answer;
}
