"""Change points by Hunter (PyPI: apache-otava) with its defaults.

Reads a JSON array of series from standard input and writes the version, the CPU seconds and the points of each.
"""

import json
import sys
import time
from importlib.metadata import version

from otava.analysis import compute_change_points
from otava.series import AnalysisOptions

options = AnalysisOptions()
series = json.load(sys.stdin)
start = time.process_time()
points = []
for values in series:
    found, _ = compute_change_points(
        values,
        window_len=options.window_len,
        max_pvalue=options.max_pvalue,
        min_magnitude=options.min_magnitude,
    )
    points.append(sorted(int(point.index) for point in found))
json.dump(
    {
        "version": version("apache-otava"),
        "cpu_seconds": time.process_time() - start,
        "points": points,
    },
    sys.stdout,
)
