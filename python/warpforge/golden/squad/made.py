"""A small set of questions in the exact SQuAD v1.1 form, made from a seed: short stories and questions about them.

A question's first word tells the kind of its answer; where a story has several of that kind, the rest of the question
tells which. Everything in it is invented; it is in the public domain (CC0-1.0).
"""

import json
import random
import re
import string
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from warpforge.export.errors import ExportError
from warpforge.golden.squad import words
from warpforge.golden.squad.vocabulary import SPECIAL

LICENCE = (
    "CC0-1.0\n\nMade by a program; dedicated to the public domain: https://creativecommons.org/publicdomain/zero/1.0/\n"
)


@dataclass
class Fact:
    """A sentence, and questions with the answers that are accepted, the best one first."""

    sentence: str
    asked: list[tuple[str, list[str]]] = field(default_factory=list)


def write(directory: Path, train: int, dev: int, seed: int) -> None:
    """Writes `train.json`, `dev.json`, `vocab.txt` and `LICENCE`."""
    if min(train, dev) < 1:
        raise ExportError("a set needs at least one question in each part")
    if directory.exists() and any(directory.iterdir()):
        raise ExportError(f"{directory} is not empty: the set needs a directory of its own")
    directory.mkdir(parents=True, exist_ok=True)
    for name, count, several in (("train", train, False), ("dev", dev, True)):
        content = part(name, count, seed, several)
        text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
        (directory / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    (directory / "vocab.txt").write_text("\n".join(vocabulary()) + "\n", encoding="utf-8")
    (directory / "LICENCE").write_text(LICENCE, encoding="utf-8")


def part(name: str, count: int, seed: int, several: bool) -> dict[str, Any]:
    """One file; with several accepted answers for each question, or one."""
    source = random.Random(f"{seed}/{name}")  # noqa: S311 - made data must come out the same again
    articles: list[dict[str, Any]] = []
    made = 0
    while made < count:
        paragraphs = []
        for _ in range(5):
            if made == count:
                break
            facts = story(source)
            context = " ".join(fact.sentence for fact in facts)
            asked = [(fact, *each) for fact in facts for each in fact.asked]
            chosen = source.sample(asked, min(4, len(asked), count - made))
            entries = []
            for fact, question, answers in chosen:
                kept = answers if several else answers[:1]
                entries.append(
                    {
                        "id": f"made-{name}-{seed}-{made:06}",
                        "question": question,
                        "answers": [_place(facts, fact, each) for each in kept],
                    }
                )
                made += 1
            paragraphs.append({"context": context, "qas": entries})
        articles.append({"title": f"Story_{len(articles)}", "paragraphs": paragraphs})
    return {"data": articles, "version": "1.1"}


def _place(facts: list[Fact], fact: Fact, answer: str) -> dict[str, Any]:
    before = 0
    for each in facts:
        if each is fact:
            break
        before += len(each.sentence) + 1
    return {"answer_start": before + fact.sentence.index(answer), "text": answer}


def story(source: random.Random) -> list[Fact]:
    """A few sentences about as many people, mostly of different kinds; one story in eight is long."""
    kinds = [_visit, _keep, _own, _birth, _work]
    source.shuffle(kinds)
    if source.random() < 0.125:
        kinds += source.choices(kinds, k=source.randint(0, 2))
    else:
        kinds = kinds[: source.randint(2, 3)]
        if source.random() < 0.25:
            kinds.append(source.choice(kinds))
    names = zip(source.sample(words.FIRST, len(kinds)), source.sample(words.LAST, len(kinds)), strict=True)
    facts = [kind(source, first, last) for kind, (first, last) in zip(kinds, names, strict=True)]
    if source.random() < 0.5:
        facts.insert(source.randint(0, len(facts)), Fact(source.choice(words.FILLERS)))
    return facts


def _colour(source: random.Random) -> str:
    return source.choice(words.SHADES) + source.choice(words.COLOURS)


def _date(source: random.Random) -> tuple[str, list[str]]:
    day, month, year = source.randint(1, 28), source.choice(words.MONTHS), source.randint(1780, 1999)
    full = source.choice((f"{day} {month} {year}", f"{month} {day}, {year}", f"{month} {year}"))
    return full, [full, f"{month} {year}", str(year)] if f"{month} {year}" in full else [full, str(year)]


def _visit(source: random.Random, first: str, last: str) -> Fact:
    date, dates = _date(source)
    building, city = f"{_colour(source)} {source.choice(words.BUILDINGS)}", source.choice(words.CITIES)
    before = source.random() < 0.5
    text = f"{first} {last} visited the {building} in {city}"
    fact = Fact(f"On {date}, {text}." if before else f"{text} on {date}.")
    fact.asked = [
        (f"Who visited the {building}?", [f"{first} {last}", first]),
        (f"When did {first} visit the {building.split()[-1]}?", dates),
        (f"What did {first} {last} visit?", [f"the {building}", building]),
        (f"Where is the {building}?", [city]),
    ]
    return fact


def _keep(source: random.Random, first: str, last: str) -> Fact:
    number = source.choice(
        (str(source.randint(2, 99)), source.choice(words.NUMBERS), f"{source.randint(1, 9)},{'500'}")
    )
    animals, spot = source.choice(words.ANIMALS), source.choice(words.SPOTS)
    return Fact(
        f"{first} {last} keeps {number} {animals} near {spot}.",
        [
            (f"How many {animals} does {first} keep?", [number, f"{number} {animals}"]),
            (f"Who keeps {animals} near {spot}?", [f"{first} {last}", first]),
            (f"Where does {first} {last} keep the {animals}?", [f"near {spot}", spot]),
        ],
    )


def _own(source: random.Random, first: str, last: str) -> Fact:
    thing, colour = source.choice(words.OBJECTS), _colour(source)
    return Fact(
        f"The {thing} of {first} {last} is {colour}.",
        [
            (f"Which colour is the {thing} of {first}?", [colour, colour.split()[-1]]),
            (f"Who has a {colour} {thing}?", [f"{first} {last}", first]),
        ],
    )


def _birth(source: random.Random, first: str, last: str) -> Fact:
    date, dates = _date(source)
    city = source.choice(words.CITIES)
    return Fact(
        f"{first} {last} was born in {city} on {date}.",
        [(f"When was {first} {last} born?", dates), (f"Where was {first} born?", [city])],
    )


def _work(source: random.Random, first: str, last: str) -> Fact:
    job, city = source.choice(words.JOBS), source.choice(words.CITIES)
    return Fact(
        f"In {city}, {first} {last} works as a {job}.",
        [
            (f"Who works as a {job}?", [f"{first} {last}", first]),
            (f"What does {first} work as?", [f"a {job}", job]),
            (f"Where does {first} {last} work?", [city]),
        ],
    )


def vocabulary() -> list[str]:
    """Words of the stories, then every letter and digit at the beginning and inside of words."""
    found = sorted(set(_words()) - words.SPLIT)
    letters = [*string.ascii_lowercase, *"øłßæœ", *string.digits]
    alone = [mark for mark in string.punctuation if mark not in letters]
    whole = [word for word in found if word not in letters and word not in alone]
    numbers = [str(number) for number in range(10, 100)]
    return [*SPECIAL, *alone, *letters, *(f"##{each}" for each in letters), *numbers, *whole]


def _words() -> Iterator[str]:
    given = [*words.FIRST, *words.LAST, *words.CITIES, *words.COLOURS, *words.SHADES, *words.BUILDINGS, *words.ANIMALS]
    given += [*words.SPOTS, *words.OBJECTS, *words.JOBS, *words.MONTHS, *words.NUMBERS, *words.FILLERS]
    given.append(
        "who where when what which colour how many did does was is has visited visit keeps keep near works work"
    )
    given.append("as born in on of the a an and to for with")
    for text in given:
        plain = "".join(each for each in unicodedata.normalize("NFD", text) if unicodedata.category(each) != "Mn")
        yield from re.findall(r"[^\W\d_]+", plain.lower())
