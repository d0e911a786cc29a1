"""The hard cases of the fixture: text that is easy to take apart in another way."""

# ruff: noqa: RUF001 - such characters are what this is about

from typing import Any

_WORDS = (
    "the a an who what where is was of in and over it cafe istanbul naive tower red river bridge quick brown fox jumps"
    " lazy dog café Zürich zurich Tower strasse ##fe ##ing ##er jump 17 ##24 market don ##t"
)
WORDS = _WORDS.split(" ")

_QUESTIONS: list[tuple[str, str, str, list[str]]] = [
    (
        "windows and punctuation",
        "Who jumps over it?",
        "It was (in May 1724) the quick, brown fox. The fox jumps over a lazy dog; and the dog -- it sleeps! The red"
        " tower is over the river, and the bridge is in the market... Is it?",
        ["The fox", "fox"],
    ),
    (
        "accents, composed and not",
        "Où est le café?",
        "Le Café de Zürich, cafe\u0301 naïve, \u212bngström, ﬁn, Straße, İstanbul,"
        " \u0301 alone, A\u0301\u0302B, Øre, Łódź.",
        ["cafe\u0301 naïve", "Café"],
    ),
    ("CJK", "日本の首都は?", "東京は日本の首都です。Tokyo東京tower、𠀋是𪜈。", ["東京", "東京は"]),
    ("Hangul and other scripts", "한국어 हिन्दी", "한국어 and हिन्दी and ไทย and ΣΑΣ العَرَبِيَّة in 한구.", ["국", "हिन्दी"]),
    (
        "emoji and astral characters",
        "What is 🎉?",
        "🎉 party🎉 👩\u200d👩\u200d👧 is 𝔘nicode \U0001f1e8\U0001f1ed and ❤\ufe0f 🎉 the end",
        ["𝔘nicode", "❤\ufe0f"],
    ),
    (
        "white space and control characters",
        "\t\u00a0  What\tis\nit?",
        "a\tb\nc\r\nd\u0000e\u0007f\u00adg\ufeffh\u200bi\ufffdj\u00a0k\u2028l\u3000m\u0085n\u001fo\ue000p \v q",
        ["k\u2028l", "d\u0000e"],
    ),
    (
        "words of 100 and 101 characters",
        "Where is x?",
        "it is " + "x" * 100 + " and " + "y" * 101 + " over " + "x" * 12 + ".",
        ["y" * 101, "xxx"],
    ),
    ("a context without tokens", "Is it?", "\u200b \u00ad", ["\u200b"]),
    ("a context of one token", "Is it?", "it", ["it"]),
    (
        "an answer across the edge of a window",
        "What is red?",
        "the fox and the dog and the fox and the dog and the red tower of the river and the bridge of the market and"
        " the tower and the fox",
        ["the dog and the red tower of the river and", "red tower"],
    ),
    (
        "quotes, dashes and currencies",
        "What’s “it”?",
        "“The ‘red’ tower” — it’s £5, €3 or $2… 50% (¿or 5°?) don't a_b c/d e@f.g #1 ^ ` | ~ x=y «z» ·",
        ["‘red’ tower", "£5"],
    ),
    (
        "special tokens in the text",
        "Where is [SEP]?",
        "the [SEP] tower[MASK]red [mask] [PAD] [ CLS ] [UNK]. [CLS",
        ["tower[MASK]red", "[UNK]"],
    ),
    (
        "a long question",
        " \n Who was it that jumps and jumps and jumps over the lazy dog and the river and the bridge and the market?",
        "The quick brown fox was it, the quick brown fox was it, the quick brown fox was it.",
        ["it"],
    ),
    ("an answer inside of a token", "What is 7?", "It is 1724 in the jumping market .", ["72", " the jump"]),
    ("a word with an unknown character", "Ж?", "theЖtower Ж red Жер the", ["red", "theЖ"]),
]


def data() -> dict[str, Any]:
    """The cases as a file in the SQuAD v1.1 form."""
    articles = []
    for number, (title, question, context, accepted) in enumerate(_QUESTIONS):
        given = [{"answer_start": context.index(each), "text": each} for each in accepted]
        asked = {"id": f"case-{number:02}", "question": question, "answers": given}
        articles.append({"title": title, "paragraphs": [{"context": context, "qas": [asked]}]})
    return {"version": "1.1", "data": articles}


SCORES: list[tuple[str, list[str]]] = [
    ("the red tower", ["red tower"]),
    ("The Red Tower!", ["a red tower"]),
    ("tower", ["the red tower"]),
    ("red red tower", ["red tower"]),
    ("red red tower tower", ["tower red red"]),
    ("blue tower", ["red bridge", "the tower", "blue"]),
    ("", ["the"]),
    ("the", ["an"]),
    ("", ["tower"]),
    ("tower", ["the"]),
    ("...", ["!"]),
    ("it's", ["its"]),
    ("well-known", ["wellknown"]),
    ("well-known", ["well known"]),
    ("an-the", ["anthe"]),
    ("the_end", ["theend"]),
    ("U.S.A.", ["usa", "us a"]),
    ("17", ["17 goats", "17"]),
    ("1,500", ["1500"]),
    ("3 May 1874", ["May 1874", "1874"]),
    ("Theatre", ["the atre"]),
    ("a b a", ["b"]),
    ("A", ["a"]),
    ("“the” tower", ["tower"]),
    ("“the” tower", ["“” tower"]),
    ("a–b", ["–b"]),
    ("an–the tower", ["– tower"]),
    ("a\u0301 tower", ["tower", "\u0301 tower"]),
    ("the² tower", ["² tower", "the² tower"]),
    ("the中", ["中"]),
    ("the🎉", ["🎉"]),
    ("a\u200db", ["\u200db"]),
    ("Łódź", ["łódź"]),
    ("Zürich", ["Zurich"]),
    ("ΟΔΥΣΣΕΥΣ", ["οδυσσευς"]),
    ("ΟΔΥΣΣΕΥΣ", ["οδυσσευσ"]),
    ("İstanbul", ["i\u0307stanbul"]),
    ("İstanbul", ["istanbul"]),
    ("STRASSE", ["straße"]),
    ("the\u00a0red\u2003tower", ["red tower"]),
    ("red\u001ftower\u3000\u0085", ["red tower"]),
    ("red\u200btower", ["red tower"]),
    ("東京 the 首都", ["東京 首都"]),
    ("東京。", ["東京"]),
    ("¿red?", ["red"]),
    ("$5 @ `x`", ["5 x"]),
    ("the quick brown fox jumps over a lazy dog", ["a quick fox jumps over the dog today", "fox"]),
]

_USUAL = {"longest_answer": 30, "best": 20}
# Name, question, settings, and changes to logits by chance: side, window (-1: all), context token or part of the row.
LOGITS: list[tuple[str, int, dict[str, int], list[tuple[str, int, int | str, float]]]] = [
    ("one clear answer", 0, _USUAL, [("start", 1, 2, 9.0), ("end", 1, 4, 9.0)]),
    (
        "what is not context does not count",
        0,
        _USUAL,
        [("start", 0, "cls", 20.0), ("end", 0, "cls", 20.0), ("start", 0, "question", 15.0), ("end", 0, 3, 8.0)],
    ),
    ("padding does not count", 8, _USUAL, [("start", 0, "pad", 20.0), ("end", 0, "pad", 20.0)]),
    ("an end before its start", 0, _USUAL, [("start", 0, 5, 9.0), ("end", 0, 3, 9.0)]),
    ("too long", 0, {"longest_answer": 3, "best": 20}, [("start", 0, 2, 9.0), ("end", 0, 5, 9.0)]),
    ("just short enough", 0, {"longest_answer": 4, "best": 20}, [("start", 0, 2, 9.0), ("end", 0, 5, 9.0)]),
    (
        "no candidate",
        8,
        {"longest_answer": 30, "best": 1},
        [("start", 0, "cls", 20.0), ("end", 0, "cls", 20.0)],
    ),
    (
        "only the best few are tried",
        0,
        {"longest_answer": 30, "best": 2},
        [
            ("start", -1, "all", 0.0),
            ("end", -1, "all", 0.0),
            ("start", 2, 6, 5.0),
            ("start", 2, 9, 4.0),
            ("start", 2, 1, 3.0),
            ("end", 2, 2, 9.0),
            ("end", 2, 7, 1.0),
        ],
    ),
    (
        "all equal",
        0,
        _USUAL,
        [("start", -1, "all", 0.5), ("end", -1, "all", 0.5)],
    ),
    (
        "the same score in two windows, and twice in each",
        0,
        _USUAL,
        [
            *[("start", window, place, 9.0) for window in (1, 3) for place in (4, 2)],
            *[("end", window, place, 9.0) for window in (1, 3) for place in (7, 6)],
        ],
    ),
    (
        "zero has no sign",
        8,
        {"longest_answer": 30, "best": 3},
        [
            *[(side, 0, "all", 0.0) for side in ("start", "end")],
            *[(side, 0, place, -0.0) for side in ("start", "end") for place in ("cls", "question")],
        ],
    ),
    (
        "sums are wider than single precision",
        0,
        _USUAL,
        [
            ("end", -1, "all", 0.0),
            ("start", 1, 2, 16777216.0),
            ("end", 1, 4, 0.5),
            ("end", 1, 6, 0.75),
            ("end", 1, 5, 0.25),
        ],
    ),
    ("the empty context", 7, _USUAL, []),
    ("chance", 9, {"longest_answer": 5, "best": 10}, []),
]
