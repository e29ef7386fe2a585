import type { Pictures } from "./Canvas";
import { save } from "./save";

/** Keeps what a chart shows as a picture. */
export function PictureButtons(props: { name: string; pictures: { current: Pictures | null } }) {
  const svg = () => {
    const text = props.pictures.current?.svg();
    if (text !== undefined) save(`${props.name}.svg`, new Blob([text], { type: "image/svg+xml" }));
  };
  const png = async () => {
    const blob = await props.pictures.current?.png();
    if (blob) save(`${props.name}.png`, blob);
  };
  return (
    <>
      <button type="button" onClick={svg}>SVG</button>
      <button type="button" onClick={() => void png()}>PNG</button>
    </>
  );
}
