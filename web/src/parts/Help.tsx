import { useEffect, useRef } from "preact/hooks";

export const KEYS: readonly [string, string][] = [
  ["1 … 7", "the views, from the left"],
  ["W, S", "zoom in, zoom out (also Ctrl and the wheel)"],
  ["A, D", "go back, go on in time (also Shift and the wheel, or drag)"],
  ["F", "all of the time"],
  ["/", "search"],
  ["[ and ]", "the piece before, the piece after the one selected"],
  ["T", "light or dark"],
  ["Esc", "nothing selected"],
  ["?", "this list"],
];

/** The keys. */
export function Help(props: { isOpen: boolean; close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (props.isOpen) dialog.current?.showModal();
    else dialog.current?.close();
  }, [props.isOpen]);
  return (
    <dialog ref={dialog} onClose={props.close} aria-label="Keys">
      <h2>Keys</h2>
      <table><tbody>{KEYS.map(([key, what]) => <tr key={key}><td><kbd>{key}</kbd></td><td>{what}</td></tr>)}</tbody></table>
      <p><button type="button" onClick={props.close}>Close</button></p>
    </dialog>
  );
}
