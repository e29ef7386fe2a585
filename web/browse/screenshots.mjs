// Takes the screenshots that docs/page has: each view of the demo, slow beside fixed, light and dark.
//
//     node web/browse/screenshots.mjs FOLDER
import { mkdirSync, writeFileSync } from "node:fs";
import { launch, open, settled, view, VIEWS } from "./browser.mjs";
import { file, make } from "./recordings.mjs";

const [folder] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
make();
const browser = await launch();
const plain = await browser.newPage();

/** A picture as WebP, a quarter as large. */
async function packed(png) {
  const url = await plain.evaluate(async (base64) => {
    const image = new Image();
    image.src = `data:image/png;base64,${base64}`;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [image.width, image.height];
    canvas.getContext("2d").drawImage(image, 0, 0);
    return canvas.toDataURL("image/webp", 0.6);
  }, png.toString("base64"));
  return Buffer.from(url.slice(url.indexOf(",") + 1), "base64");
}

const address = file("nightly-import", "one-flush");
for (const colorScheme of ["light", "dark"]) {
  const { page, context } = await open(browser, address, { colorScheme, viewport: { width: 1000, height: 640 } });
  for (const one of [...VIEWS, "Compare"]) {
    await view(page, one);
    if (one === "Timeline") {
      // Something is selected, as after "Show in the timeline".
      await view(page, "Answer");
      await page.getByRole("button", { name: "Show in the timeline" }).first().click();
      for (let at = 0; at < 12; at++) await page.keyboard.press("s");
      await settled(page);
      await page.waitForTimeout(300);
    }
    const name = one.toLowerCase().replace(/ & /g, "-and-").replaceAll(" ", "-");
    writeFileSync(`${folder}/${name}-${colorScheme}.webp`, await packed(await page.screenshot()));
  }
  await context.close();
}
await browser.close();
