// Slow functions of packages of npm and what replaces them, measured as bench/faster.py does: `node forms.mjs`, or `node forms.mjs run NAME`.
import { createRequire } from "node:module";

// The packages are those of the folder that this is started in.
const require = createRequire(`${process.cwd()}/`);
const rows = Array.from({ length: 500 }, (_, n) => ({ id: n, name: `name-${(n * 37) % 500}`, tags: ["red", `${n}`], at: { x: n * 1.37, on: true } }));
const xml = `<a>${rows.map((r) => `<b c="${r.id}"><d>${r.name}</d></b>`).join("")}</a>`;
const template = "{{#each rows}}<li>{{name}} {{#if at.on}}on{{/if}}</li>{{/each}}";
const schema = {
  type: "array",
  items: { type: "object", required: ["id"], properties: { id: { type: "integer" }, name: { type: "string" }, tags: { type: "array", items: { type: "string" } } } },
};

const forms = {
  moment_parse() {
    const [moment, dayjs] = [require("moment"), require("dayjs")];
    const texts = rows.map((r) => `2026-11-${String((r.id % 28) + 1).padStart(2, "0")}T10:11:${String(r.id % 60).padStart(2, "0")}`);
    return [() => texts.map((t) => moment(t)), () => texts.map((t) => dayjs(t)), () => texts.map((t) => new Date(t))];
  },
  jsdom() {
    const { JSDOM } = require("jsdom");
    const cheerio = require("cheerio");
    return [() => new JSDOM(xml).window.document.querySelectorAll("b").length, () => cheerio.load(xml)("b").length];
  },
  ajv_once() {
    const Ajv = require("ajv");
    return [() => new Ajv().compile(schema)];
  },
  handlebars_once() {
    const handlebars = require("handlebars");
    return [() => handlebars.compile(template)({ rows: [] })];
  },
  pug_once() {
    const pug = require("pug");
    return [() => pug.compile("ul\n  each row in rows\n    li= row.name")];
  },
};

const ms = (form) => {
  const start = performance.now();
  form();
  return performance.now() - start;
};
const median = (all) => all.sort((a, b) => a - b)[all.length >> 1];

if (process.argv[2] === "run") {
  const [slow] = forms[process.argv[3]]();
  for (const until = performance.now() + 2000; performance.now() < until; ) slow();
} else {
  for (const [name, make] of Object.entries(forms)) {
    const [slow, ...others] = make();
    for (let n = 0; n < 50; n++) slow();
    if (!others.length) console.log(`${name.padEnd(28)} one takes ${median(Array.from({ length: 51 }, () => ms(slow))).toFixed(3)} ms`);
    for (const other of others) {
      for (let n = 0; n < 50; n++) other();
      console.log(`${name.padEnd(28)} ${median(Array.from({ length: 21 }, () => ms(slow) / ms(other))).toFixed(2)}`);
    }
  }
}
