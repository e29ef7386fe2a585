#!/usr/bin/env python3
"""How many times as fast is what replaces a slow function of a library?

Prints the factors that crates/findings/src/rules/known_slow_function/table goes by: for each function and what can stand
in its place, the ratio of their times on the same input, the least and the most over the inputs and replacements that are
named; for Go, Java and npm see bench/faster. It needs, from PyPI, what CONTRIBUTING.md lists; and for some rows g++, sort
and the file of a locale, made by `localedef -i en_US -f UTF-8 FOLDER/en_US.UTF-8` and named by LOCPATH=FOLDER.

What is compared is the function alone, on inputs that are in the caches or in memory: neither starts nor files count. Every
round runs all forms, and what counts is the median of the rounds' ratios.
"""

import bz2, copy, datetime, hashlib, io, json, os, pickle, random, statistics, subprocess, sys, tempfile, time
import xml.dom.minidom, xml.etree.ElementTree, zlib

import blake3, isal.isal_zlib, orjson, xxhash, yaml, zlib_ng.zlib_ng, zstandard

ROUNDS = int(os.environ.get("ROUNDS", "5"))

random.seed(1)
WORDS = ["".join(random.choice("abcdefghijklmnopqrstuvwxyz_ABCDEF") for _ in range(random.randint(3, 12))) for _ in range(20000)]
ROWS = [{"id": i, "name": random.choice(WORDS), "tags": [random.choice(WORDS), str(i)], "at": {"x": i * 1.37, "y": None, "on": True}} for i in range(4000)]
TEXT = "\n".join(" ".join(random.choice(WORDS) for _ in range(6)) for _ in range(60000)).encode()
JSON = json.dumps(ROWS).encode()
LOGS = "\n".join(f"2026-11-21T10:{i % 60:02}:{i % 59:02} host{i % 7} GET /items/{i % 1000} 200 {i % 4096}" for i in range(50000)).encode()
INPUTS = (TEXT, JSON, LOGS)


def seconds(form):
    start = time.perf_counter()
    form()
    return time.perf_counter() - start


def factor(slow, fast):
    """The median over rounds of how many times as long the slow form takes."""
    fast()
    return statistics.median(seconds(slow) / seconds(fast) for _ in range(ROUNDS))


def tell(name, factors):
    factors = sorted(factors)
    print(f"{name:<28} {factors[0]:8.2f} .. {factors[-1]:8.2f}   {' '.join(f'{f:.2f}' for f in factors)}", flush=True)


def times(many, form):
    return lambda: [form() for _ in range(many)]


def compression():
    zstd = zstandard.ZstdCompressor(level=3)
    for name, other, top in (("zlib-ng", zlib_ng.zlib_ng.compress, 9), ("isal", isal.isal_zlib.compress, 2)):
        tell(f"deflate: {name}", [factor(lambda d=d, l=l: zlib.compress(d, l), lambda d=d, l=l: other(d, min(l, top))) for d in INPUTS for l in (1, 6, 9)])
    tell("deflate: zstd -3", [factor(lambda d=d, l=l: zlib.compress(d, l), lambda d=d: zstd.compress(d)) for d in INPUTS for l in (6, 9)])
    packed = [zlib.compress(d, 6) for d in INPUTS]
    tell("inflate: same format", [factor(times(5, lambda p=p: zlib.decompress(p)), times(5, lambda p=p: other(p)))
         for p in packed for other in (zlib_ng.zlib_ng.decompress, isal.isal_zlib.decompress)])
    unzstd = zstandard.ZstdDecompressor()
    tell("bunzip2: zstd", [factor(lambda p=bz2.compress(d): bz2.decompress(p), lambda p=zstandard.ZstdCompressor(level=12).compress(d): unzstd.decompress(p)) for d in INPUTS])


def checksums():
    big = TEXT * 4
    tell("crc32: isal", [factor(times(20, lambda d=d: zlib.crc32(d)), times(20, lambda d=d: isal.isal_zlib.crc32(d))) for d in (big, TEXT[:65536])])
    tell("adler32: zlib-ng", [factor(times(20, lambda d=d: zlib.adler32(d)), times(20, lambda d=d: zlib_ng.zlib_ng.adler32(d))) for d in (big, TEXT[:65536])])
    for name, other in (("blake3", lambda d: blake3.blake3(d).digest()), ("xxh3", lambda d: xxhash.xxh3_128(d).digest())):
        for slow in ("md5", "sha1", "sha256", "sha512"):
            tell(f"{slow}: {name}", [factor(times(3, lambda d=d: hashlib.new(slow, d).digest()), times(3, lambda d=d: other(d))) for d in (big, TEXT[:65536], TEXT[:8192])])


def python_forms():
    null = open(os.devnull, "w")
    tell("json.dump: dumps and write", [factor(lambda: json.dump(ROWS, null), lambda: null.write(json.dumps(ROWS)))])
    tell("json indent: orjson", [factor(lambda: json.dumps(ROWS, indent=2), lambda: orjson.dumps(ROWS, option=orjson.OPT_INDENT_2))])
    tell("json.dump: orjson", [factor(lambda: json.dump(ROWS, null), lambda: null.write(orjson.dumps(ROWS).decode()))])
    tell("json.dumps: orjson", [factor(times(3, lambda o=o: json.dumps(o)), times(3, lambda o=o: orjson.dumps(o))) for o in (ROWS, WORDS, [r["at"]["x"] for r in ROWS])])
    texts = [json.dumps(o) for o in (ROWS, WORDS, [r["at"]["x"] for r in ROWS])]
    tell("json.loads: orjson", [factor(times(3, lambda t=t: json.loads(t)), times(3, lambda t=t: orjson.loads(t))) for t in texts])
    tell("deepcopy: pickle", [factor(lambda o=o: copy.deepcopy(o), lambda o=o: pickle.loads(pickle.dumps(o, -1))) for o in (ROWS, [[1, 2, 3] for _ in range(20000)], {w: [w] for w in WORDS})])
    moment = "2026-11-21T10:11:12"
    tell("strptime: fromisoformat", [factor(times(5000, lambda: datetime.datetime.strptime(moment, "%Y-%m-%dT%H:%M:%S")), times(5000, lambda: datetime.datetime.fromisoformat(moment)))])
    tell("strptime: slices", [factor(times(5000, lambda m=moment: datetime.datetime.strptime(m, "%Y-%m-%dT%H:%M:%S")), times(5000, lambda m=moment: datetime.datetime(int(m[:4]), int(m[5:7]), int(m[8:10]), int(m[11:13]), int(m[14:16]), int(m[17:]))))])
    tell("pure pickle: C", [factor(lambda o=o: pickle._loads(pickle._dumps(o)), lambda o=o: pickle.loads(pickle.dumps(o))) for o in (ROWS, WORDS)])
    document = "<a>" + "".join(f'<b c="{r["id"]}"><d>{r["name"]}</d></b>' for r in ROWS) + "</a>"
    tell("minidom: ElementTree", [factor(lambda: xml.dom.minidom.parseString(document), lambda: xml.etree.ElementTree.fromstring(document))])
    tell("yaml load: CSafeLoader", [factor(lambda t=t: yaml.load(t, yaml.SafeLoader), lambda t=t: yaml.load(t, yaml.CSafeLoader)) for t in (yaml.safe_dump(ROWS[:100]), yaml.safe_dump(WORDS[:1000]), json.dumps(ROWS[:100]))])
    tell("yaml dump: CSafeDumper", [factor(lambda o=o: yaml.dump(o, Dumper=yaml.SafeDumper), lambda o=o: yaml.dump(o, Dumper=yaml.CSafeDumper)) for o in (ROWS[:100], WORDS[:1000])])


REGEX = r"""
#include <chrono>
#include <cstdio>
#include <regex>
#include <string>
#include <charconv>
#include <cstring>
#include <cstdlib>
#include <vector>
extern "C" {
void *pcre2_compile_8(const unsigned char *, size_t, unsigned, int *, size_t *, void *);
int pcre2_jit_compile_8(void *, unsigned);
void *pcre2_match_data_create_from_pattern_8(void *, void *);
int pcre2_match_8(void *, const unsigned char *, size_t, size_t, unsigned, void *, void *);
}
static double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
volatile long sink;
int main() {
	std::vector<std::string> lines;
	for (int i = 0; i < 3000; i++)
		lines.push_back("2026-11-21T10:11:" + std::to_string(i % 60) + " host" + std::to_string(i % 7) + " GET /items/" + std::to_string(i) + " 200 4096");
	for (const char *pattern : {"GET /items/([0-9]+) ([0-9]+)", "host[0-6] (GET|POST) .*99 200", "([a-z]+)([0-9]) +[A-Z]+"})
		for (int jit = 0; jit < 2; jit++) {
			std::regex regex(pattern, std::regex::optimize);
			int code; size_t at;
			void *other = pcre2_compile_8((const unsigned char *)pattern, strlen(pattern), 0, &code, &at, nullptr);
			if (jit) pcre2_jit_compile_8(other, 1);
			void *data = pcre2_match_data_create_from_pattern_8(other, nullptr);
			double t0 = now();
			for (auto &line : lines) { std::smatch match; sink += std::regex_search(line, match, regex); }
			double t1 = now();
			for (auto &line : lines) sink += pcre2_match_8(other, (const unsigned char *)line.data(), line.size(), 0, 0, data, nullptr) > 0;
			double t2 = now();
			printf("std::regex %g\n", (t1 - t0) / (t2 - t1));
		}
	for (int kind = 0; kind < 3; kind++) {
		char text[64];
		double t0 = now();
		for (int i = 0; i < 300000; i++) sink += snprintf(text, sizeof text, kind == 0 ? "%.17g" : kind == 1 ? "%.2f" : "%g", i * 1.37e-3);
		double t1 = now();
		for (int i = 0; i < 300000; i++) {
			double v = i * 1.37e-3;
			auto end = kind == 0 ? std::to_chars(text, text + 64, v) : kind == 1 ? std::to_chars(text, text + 64, v, std::chars_format::fixed, 2) : std::to_chars(text, text + 64, v, std::chars_format::general, 6);
			sink += end.ptr - text;
		}
		double t2 = now();
		printf("printf %g\n", (t1 - t0) / (t2 - t1));
	}
	for (const char *text : {"3.14159265358979", "12.5", "1.7976931348623157e108"}) {
		double t0 = now();
		for (int i = 0; i < 1000000; i++) sink += strtod(text, nullptr);
		double t1 = now();
		for (int i = 0; i < 1000000; i++) { double v; std::from_chars(text, text + strlen(text), v); sink += v; }
		double t2 = now();
		printf("strtod %g\n", (t1 - t0) / (t2 - t1));
	}
}
"""


def native():
    with tempfile.TemporaryDirectory() as folder:
        source, program = f"{folder}/forms.cc", f"{folder}/forms"
        open(source, "w").write(REGEX)
        libraries = [f"/usr/lib/x86_64-linux-gnu/libpcre2-8.so.0"]
        subprocess.run(["g++", "-O2", "-std=c++17", "-o", program, source, *libraries], check=True)
        found = {}
        for _ in range(ROUNDS):
            for number, line in enumerate(subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()):
                name, value = line.rsplit(" ", 1)
                found.setdefault((name, number), []).append(float(value))
        for kind in ("std::regex", "printf", "strtod"):
            tell(kind, [statistics.median(values) for (name, _), values in found.items() if name == kind])


def sorting():
    factors = []
    with tempfile.TemporaryDirectory() as folder:
        for number, data in enumerate((TEXT * 4, LOGS * 4)):
            path = f"{folder}/{number}"
            open(path, "wb").write(data)
            run = lambda locale: subprocess.run(["sort", "--parallel=1", "-o", os.devnull, path], check=True, env={**os.environ, "LC_ALL": locale})
            factors.append(factor(lambda: run("en_US.UTF-8"), lambda: run("C")))
    tell("sort: LC_ALL=C", factors)


def pandas_rows():
    import pandas
    frame = pandas.DataFrame(ROWS)[["id", "name"]]
    slow = lambda: sum(row["id"] for _, row in frame.iterrows())
    return slow, [lambda: sum(row.id for row in frame.itertuples()), lambda: sum(i for i, _ in zip(frame["id"], frame["name"]))]


def pandas_apply():
    import pandas
    frame = pandas.DataFrame({"a": range(4000), "b": range(4000)})
    return lambda: frame.apply(lambda row: row["a"] + row["b"], axis=1), [lambda: [a + b for a, b in zip(frame["a"], frame["b"])], lambda: frame["a"] + frame["b"]]


def dateutil_parse():
    import dateutil.parser
    texts = [f"2026-11-{day:02}T10:11:{second:02}" for day in range(1, 29) for second in range(60)]
    return lambda: [dateutil.parser.parse(t) for t in texts], [lambda: [datetime.datetime.fromisoformat(t) for t in texts], lambda: [dateutil.parser.isoparse(t) for t in texts]]


def similarity():
    import difflib, rapidfuzz.fuzz
    pairs = [(" ".join(WORDS[n : n + k]), " ".join(WORDS[n + 1 : n + k + 1])) for k in (2, 8) for n in range(40)]
    return lambda: [difflib.SequenceMatcher(None, a, b).ratio() for a, b in pairs], [lambda: [rapidfuzz.fuzz.ratio(a, b) for a, b in pairs]]


PAGE = "<html><body>" + "".join(f'<div class="row"><a href="/items/{r["id"]}">{r["name"]}</a><p>{r["at"]["x"]}</p></div>' for r in ROWS[:1000]) + "</body></html>"


def soup():
    import bs4, lxml.html
    return lambda: bs4.BeautifulSoup(PAGE, "html.parser").find_all("a"), [lambda: bs4.BeautifulSoup(PAGE, "lxml").find_all("a"), lambda: list(lxml.html.document_fromstring(PAGE).iter("a"))]


def html5():
    import html5lib, lxml.html
    return lambda: html5lib.parse(PAGE), [lambda: lxml.html.document_fromstring(PAGE)]


def schema():
    import fastjsonschema, jsonschema
    of = {"type": "array", "items": {"type": "object", "required": ["id", "name"], "properties": {"id": {"type": "integer"}, "name": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}}}}}
    rows, check = ROWS[:300], fastjsonschema.compile(of)
    return lambda: jsonschema.validate(rows, of), [lambda: check(rows)]


def dict_reader():
    import csv
    text = "id,name,x\n" + "".join(f'{r["id"]},{r["name"]},{r["at"]["x"]}\n' for r in ROWS)
    return lambda: sum(int(r["id"]) for r in csv.DictReader(io.StringIO(text))), [lambda: sum(int(r[0]) for r in list(csv.reader(io.StringIO(text)))[1:])]


def workbook():
    import openpyxl, python_calamine
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet()
    for row in ROWS[:2000]:
        sheet.append([row["id"], row["name"], row["at"]["x"]])
    file = io.BytesIO()
    book.save(file)
    fast = lambda: python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(file.getvalue())).get_sheet_by_index(0).to_python()
    return lambda: [[c.value for c in r] for r in openpyxl.load_workbook(io.BytesIO(file.getvalue())).active], [fast]


def means():
    numbers = [r["at"]["x"] for r in ROWS]
    return lambda: statistics.mean(numbers), [lambda: statistics.fmean(numbers)]


def deviations():
    import numpy
    numbers = [r["at"]["x"] for r in ROWS]
    return lambda: statistics.stdev(numbers), [lambda: numpy.std(numbers, ddof=1)]


def pixels():
    import numpy, PIL.Image
    image = PIL.Image.new("RGB", (200, 200))
    each = [(x, y) for x in range(200) for y in range(200)]

    def loaded():
        pixels = image.load()
        return sum(pixels[at][0] for at in each)

    return lambda: sum(image.getpixel(at)[0] for at in each), [loaded, lambda: numpy.asarray(image)[:, :, 0].sum()]


def as_dict():
    import dataclasses

    @dataclasses.dataclass
    class Row:
        id: int
        name: str
        tags: list

    rows = [Row(r["id"], r["name"], r["tags"]) for r in ROWS]
    return lambda: [dataclasses.asdict(r) for r in rows], [lambda: [{"id": r.id, "name": r.name, "tags": list(r.tags)} for r in rows]]


def who_calls():
    import inspect

    def deep(n, form):
        return deep(n - 1, form) if n else form()

    return lambda: [deep(n, lambda: inspect.stack()[1].function) for n in (1, 10, 30)], [lambda: [deep(n, lambda: sys._getframe(1).f_code.co_name) for n in (1, 10, 30)]]


def np_append():
    import numpy

    def slow(many=3000):
        values = numpy.array([])
        for n in range(many):
            values = numpy.append(values, n)
        return values

    return slow, [lambda: numpy.array([float(n) for n in range(3000)])]


def csv_in_python():
    import pandas
    plain = "a,b,c,d\n" + "".join(f"{i},x{i},{i * 1.5},y\n" for i in range(20000))
    spaced = plain.replace(",", "; ")
    return lambda: (pandas.read_csv(io.StringIO(spaced), sep=r";\s*", engine="python"), pandas.read_csv(io.StringIO(plain), engine="python")), [
        lambda: (pandas.read_csv(io.StringIO(plain)), pandas.read_csv(io.StringIO(plain)))
    ]


def series_items():
    import pandas
    frame = pandas.DataFrame(ROWS)[["id", "name"]]
    rows, tuples = [row for _, row in frame.iterrows()], list(frame.itertuples())
    return lambda: [row["id"] for row in rows], [lambda: [row.id for row in tuples]]


def polars_elements():
    import polars
    frame = polars.DataFrame({"v": [r["at"]["x"] for r in ROWS] * 50})
    v = polars.col("v")
    return lambda: frame.with_columns(v.map_elements(lambda x: x * 1.2 if x < 900 else x * 0.8, return_dtype=polars.Float64)), [
        lambda: frame.with_columns(polars.when(v < 900).then(v * 1.2).otherwise(v * 0.8))
    ]


def literal_eval():
    import ast
    rows = [json.dumps([r["id"], r["name"], {"x": r["at"]["x"]}]) for r in ROWS]
    return lambda: [ast.literal_eval(r) for r in rows], [lambda: [json.loads(r) for r in rows], lambda: [orjson.loads(r) for r in rows]]


def pretty():
    import pprint
    return lambda: [pprint.pformat(r) for r in ROWS[:1000]], [lambda: [repr(r) for r in ROWS[:1000]], lambda: [json.dumps(r) for r in ROWS[:1000]]]


def xz():
    import lzma
    text = TEXT[: 1 << 21]
    return lambda: lzma.compress(text), [lambda l=l: zstandard.ZstdCompressor(level=l).compress(text) for l in (12, 17)]


def unxz():
    import lzma
    packed, other = lzma.compress(TEXT), zstandard.ZstdCompressor(level=17).compress(TEXT)
    return lambda: lzma.decompress(packed), [lambda: zstandard.ZstdDecompressor().decompress(other)]


def bzip2():
    text = TEXT[: 1 << 21]
    return lambda: bz2.compress(text), [lambda l=l: zstandard.ZstdCompressor(level=l).compress(text) for l in (9, 12)]


# What is made again and again, where once would do: how long one takes.


def jinja_template():
    import jinja2
    text = "{% for row in rows %}<li>{{ row.name }} {% if row.on %}on{% endif %}</li>{% endfor %}" * 3
    return lambda: jinja2.Environment().from_string(text), None


def boto_client():
    import boto3
    session = boto3.session.Session(aws_access_key_id="a", aws_secret_access_key="b", region_name="us-east-1")
    return lambda: session.client("s3"), None


def http_client():
    import httpx
    return lambda: httpx.Client().close(), None


def tls_context():
    import ssl
    return lambda: ssl.create_default_context(), None


def signatures():
    import inspect
    return lambda: inspect.signature(subprocess.run), None


def type_hints():
    import typing

    class Row:
        id: int
        name: "str"
        tags: "list[str]"
        at: "dict[str, float | None]"

    return lambda: typing.get_type_hints(Row), None


FORMS = {
    form.__name__: form
    for form in (
        pandas_rows, pandas_apply, dateutil_parse, similarity, soup, html5, schema, dict_reader, workbook, means, deviations, pixels, as_dict,
        who_calls, np_append, csv_in_python, series_items, polars_elements, literal_eval, pretty, xz, unxz, bzip2, jinja_template, boto_client, http_client, tls_context, signatures, type_hints,
    )
}


def packages():
    for name, make in FORMS.items():
        slow, others = make()
        if others is None:
            slow()
            print(f"{name:<28} one takes {statistics.median(seconds(slow) for _ in range(4 * ROUNDS)) * 1e3:.3f} ms", flush=True)
        else:
            tell(name, [factor(slow, other) for other in others])


def run(name):
    """The slow form of one of FORMS, for two seconds: something to record."""
    slow, _ = FORMS[name]()
    until = time.perf_counter() + 2
    while time.perf_counter() < until:
        slow()


if __name__ == "__main__":
    parts = {"compression": compression, "checksums": checksums, "python": python_forms, "native": native, "sorting": sorting, "packages": packages}
    if sys.argv[1:2] == ["run"]:
        run(sys.argv[2])
    else:
        for part in sys.argv[1:] or parts:
            parts[part]()
