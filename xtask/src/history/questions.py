"""The four questions, asked of DuckDB: arguments are the files, a metric, a machine and a day; the answer is JSON."""

import json
import sys
import time

import duckdb

files, metric, machine, day = sys.argv[1:5]
connection = duckdb.connect()
connection.execute("SET threads TO 1")
connection.execute("SET TimeZone TO 'UTC'")
source = f"read_parquet('{files}')"

DAILY = f"""
    WITH machine_days AS (
        SELECT CAST(time AS DATE) AS day, metric, machine, median(value) AS value
        FROM {source} WHERE standing <> 'failed' {{}} GROUP BY ALL
    )
    SELECT day, metric, count(*) AS machines, quantile_cont(value, 0.5) AS p50, quantile_cont(value, 0.95) AS p95
    FROM machine_days GROUP BY ALL
"""
QUESTIONS = {
    "metric": (
        f"SELECT machine, epoch_us(time), value, low, high FROM {source} WHERE metric = ?",
        [metric],
    ),
    "machine": (f"SELECT metric, epoch_us(time), value FROM {source} WHERE machine = ?", [machine]),
    "fleet": (
        f"SELECT strftime(day, '%Y-%m-%d'), machines, p50, p95 FROM ({DAILY.format('AND metric = ?')})",
        [metric],
    ),
    "recent": (
        f"""
        WITH daily AS ({DAILY.format("AND time < CAST(? AS DATE) + 1 AND time >= CAST(? AS DATE) - 30")})
        SELECT metric,
               any_value(p50) FILTER (day = CAST(? AS DATE)),
               median(p50) FILTER (day < CAST(? AS DATE)),
               min(p50) FILTER (day < CAST(? AS DATE)),
               max(p50) FILTER (day < CAST(? AS DATE))
        FROM daily GROUP BY metric
        """,
        [day] * 6,
    ),
}
answers, seconds = {}, {}
for name, (question, values) in QUESTIONS.items():
    start = time.process_time()
    answers[name] = connection.execute(question, values).fetchall()
    seconds[name] = time.process_time() - start
json.dump({"answers": answers, "seconds": seconds}, sys.stdout)
