"""The tests that the peers' own scripts apply, on times read from standard input.

hyperfine's scripts/welch_ttest.py: scipy.stats.ttest_ind(a, b, equal_var=False), "different" when p < 0.05.
Google Benchmark's tools/compare.py: scipy.stats.mannwhitneyu(a, b, alternative="two-sided"), alpha 0.05.
The score orders comparisons by the strength of the evidence, for thresholds other than 0.05.
"""

import json
import math
import sys

from scipy import stats

given = json.load(sys.stdin)
a, b = given["a"], given["b"]
if given["test"] == "welch":
    t, p = stats.ttest_ind(a, b, equal_var=False)
    score = abs(t)
else:
    u, p = stats.mannwhitneyu(a, b, alternative="two-sided")
    mean = len(a) * len(b) / 2
    score = abs(u - mean) / math.sqrt(mean * (len(a) + len(b) + 1) / 6)
slower = sum(b) / len(b) > sum(a) / len(a)
print(json.dumps({"p": float(p), "score": float(score), "slower": slower}))
