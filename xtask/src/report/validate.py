"""Reads exported reports with the programs they are for, or against their schema.

usage: validate.py DIRECTORY XSD COMPARE_PY BASELINE_DIRECTORY
Prints one line per format, `pass` or `FAIL`, the format, and what read it. Exits 1 when one fails.
"""
import contextlib
import csv
import html.parser
import io
import json
import math
import pathlib
import re
import subprocess
import sys

directory, xsd, compare_py, baseline = (pathlib.Path(argument) for argument in sys.argv[1:5])
failed = False


def check(name, reader, function):
    global failed
    try:
        detail = function()
        print(f"pass  {name:<22} {reader}: {detail}")
    except Exception as error:  # any exception of a reader is a finding
        failed = True
        text = " ".join(str(error).split())[:300]
        print(f"FAIL  {name:<22} {reader}: {type(error).__name__}: {text}")


def expect(condition, message):
    if not condition:
        raise ValueError(message)


def text(name):
    return (directory / name).read_text(encoding="utf-8")


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags = {}
        self.policy = ""
        self.benches = 0

    def handle_starttag(self, tag, attributes):
        self.tags[tag] = self.tags.get(tag, 0) + 1
        values = dict(attributes)
        for name in values:
            expect(not name.startswith("on"), f"{name} in <{tag}>")
            expect(name not in ("src", "srcset", "data", "action", "style"), f"{name} in <{tag}>")
        if "href" in values:
            expect(values["href"].startswith("#"), f"a link to {values['href'][:80]}")
        if values.get("http-equiv") == "Content-Security-Policy":
            self.policy = values["content"]
        if tag == "details" and values.get("class") == "bench":
            self.benches += 1


def page():
    content = text("report.html")
    parsed = Page()
    parsed.feed(content)
    parsed.close()
    expect("default-src 'none'" in parsed.policy, "no policy")
    expect(parsed.tags.get("script") == 1, "more than one script")
    for tag in ("img", "iframe", "object", "embed", "link", "base", "form", "audio", "video"):
        expect(tag not in parsed.tags, f"<{tag}>")
    return f"{parsed.benches} benchmarks, {parsed.tags.get('svg', 0)} drawings, {len(content.encode()):,} bytes"


def markdown():
    content = text("report.md")
    expect(len(content) < 65536, "longer than a comment may be")
    import markdown_it

    tokens = markdown_it.MarkdownIt("commonmark", {"html": False}).enable("table").parse(content)
    rows = sum(token.type == "tr_open" for token in tokens)
    expect(rows > 1, "no table")
    links = [child for token in tokens for child in (token.children or []) if child.type in ("link_open", "image")]
    expect(not links, "a link")
    return f"{rows} table rows, {len(content):,} characters"


def table():
    rows = list(csv.DictReader(io.StringIO(text("report.csv"), newline="")))
    expect(rows, "no row")
    for row in rows:
        expect(None not in row and None not in row.values(), "a row of another length")
        if row["value"]:
            float(row["value"])
        for name in ("benchmark", "metric", "reason", "tags", "unit"):
            expect(not row[name].startswith(("=", "+", "-", "@")), f"a formula: {row[name][:60]}")
    import pandas

    frame = pandas.read_csv(directory / "report.csv")
    expect(len(frame) == len(rows), "pandas reads another number of rows")
    return f"{len(rows)} rows"


def junit_schema():
    import xmlschema

    xmlschema.XMLSchema(str(xsd)).validate(str(directory / "report.xml"))
    return "valid"


def junit_parser():
    import junitparser

    xml = junitparser.JUnitXml.fromfile(str(directory / "report.xml"))
    cases = sum(1 for suite in xml for _ in suite)
    expect(cases == sum(suite.tests for suite in xml), "another number of cases than stated")
    return f"{cases} cases, {sum(suite.failures for suite in xml)} failures, {sum(suite.skipped for suite in xml)} skipped"


def google_benchmark():
    expect(compare_py.is_file(), f"no {compare_py}")
    files = [str(baseline / "google-benchmark.json"), str(directory / "google-benchmark.json")]
    command = [sys.executable, str(compare_py), "--no-color", "benchmarks", *files]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300)
    expect(result.returncode == 0, result.stderr[-300:])
    lines = result.stdout.splitlines()
    compared = [line for line in lines if re.search(r"[+-]\d+\.\d{4} ", line)]
    expect(compared, "nothing compared")
    tested = sum("_pvalue" in line for line in lines)
    return f"{len(compared)} lines, {tested} U tests"


def hyperfine():
    data = json.loads(text("hyperfine.json"))
    expect(data["results"], "no result")
    import numpy

    for result in data["results"]:
        times = numpy.array(result["times"], dtype=float)
        expect(len(times) and numpy.all(times >= 0), "times")
        expect(len(result["exit_codes"]) == len(times), "exit codes")
        expect(isinstance(result["command"], str), "command")
        expect(math.isclose(result["mean"], times.mean(), rel_tol=1e-9), "mean")
        expect(math.isclose(result["median"], numpy.median(times), rel_tol=1e-9), "median")
        expect(result["min"] <= result["median"] <= result["max"], "order")
        if len(times) > 1:
            expect(math.isclose(result["stddev"], times.std(ddof=1), rel_tol=1e-6, abs_tol=1e-300), "stddev")
    return f"{len(data['results'])} results"


def bencher():
    import jsonschema

    value = {"type": "number"}
    metric = {
        "type": "object",
        "properties": {"value": value, "lower_value": value, "upper_value": value},
        "required": ["value"],
        "additionalProperties": False,
    }
    measures = {"type": "object", "minProperties": 1, "propertyNames": {"maxLength": 64}, "additionalProperties": metric}
    schema = {"type": "object", "minProperties": 1, "propertyNames": {"maxLength": 1024}, "additionalProperties": measures}
    data = json.loads(text("bencher.json"))
    jsonschema.validate(data, schema)
    return f"{len(data)} benchmarks"


def github_action(name):
    def read():
        import jsonschema

        entry = {
            "type": "object",
            "required": ["name", "unit", "value"],
            "properties": {
                "name": {"type": "string", "minLength": 1},
                "unit": {"type": "string"},
                "value": {"type": "number"},
                "range": {"type": "string"},
                "extra": {"type": "string"},
            },
            "additionalProperties": False,
        }
        data = json.loads(text(name))
        jsonschema.validate(data, {"type": "array", "items": entry})
        names = [item["name"] for item in data]
        expect(len(set(names)) == len(names), "a repeated name")
        return f"{len(data)} entries"

    return read


def openmetrics():
    from prometheus_client.openmetrics.parser import text_string_to_metric_families

    families = list(text_string_to_metric_families(text("report.txt")))
    samples = sum(len(family.samples) for family in families)
    expect(samples, "no sample")
    return f"{len(families)} families, {samples} samples"


def mllog():
    from mlperf_logging.compliance_checker.mlp_parser import ruleset_400

    lines, errors = ruleset_400.parse_file(str(directory / "report.log"))
    expect(not errors, str(errors[:1]))
    count = len(text("report.log").splitlines())
    expect(len(lines) == count, f"{len(lines)} of {count} lines")
    return f"{len(lines)} lines"


with contextlib.suppress(BrokenPipeError):
    check("html", "html.parser", page)
    check("markdown", "markdown-it", markdown)
    check("csv", "csv and pandas", table)
    check("junit", "xmlschema", junit_schema)
    check("junit", "junitparser", junit_parser)
    check("google-benchmark", "compare.py", google_benchmark)
    check("hyperfine", "its scripts' fields", hyperfine)
    check("bencher", "its schema", bencher)
    check("github-action-smaller", "its fields", github_action("github-action-smaller.json"))
    check("github-action-bigger", "its fields", github_action("github-action-bigger.json"))
    check("openmetrics", "prometheus-client", openmetrics)
    check("mllog", "mlperf_logging", mllog)
sys.exit(1 if failed else 0)
