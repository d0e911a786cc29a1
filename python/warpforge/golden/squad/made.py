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


@dataclass
class Person:
    """Whom some sentences of a story are about; the first one has the name, the others say he or she."""

    first: str
    last: str
    pronoun: str
    met: bool = False

    @property
    def names(self) -> list[str]:
        """What is accepted as an answer."""
        return [f"{self.first} {self.last}", self.first]

    def named(self) -> str:
        """How the next sentence begins."""
        before, self.met = self.met, True
        return self.pronoun if before else f"{self.first} {self.last}"


def story(source: random.Random) -> list[Fact]:
    """A few sentences about a person, sometimes about two; some stories are long."""
    firsts, lasts = source.sample([*words.SHE, *words.HE], 3), source.sample(words.LAST, 3)
    people = [
        Person(first, last, "She" if first in words.SHE else "He") for first, last in zip(firsts, lasts, strict=True)
    ]
    chance = source.random()
    facts: list[Fact] = []
    counts = (5, 3, 2) if chance < 0.08 else (2, 1) if chance < 0.25 else (3,)
    for person, count in zip(people, counts, strict=False):
        for place, kind in enumerate(source.sample((_visit, _keep, _own, _birth, _work), count)):
            fact = kind(source, person)
            if place:
                # A question for a name is answered by the sentence that has it.
                fact.asked = [each for each in fact.asked if not each[0].startswith("Who")]
            facts.append(fact)
        if source.random() < 0.3:
            facts.append(Fact(source.choice(words.FILLERS)))
    return facts


def _colour(source: random.Random) -> str:
    return source.choice(words.SHADES) + source.choice(words.COLOURS)


def _date(source: random.Random) -> tuple[str, list[str]]:
    day, month, year = source.randint(1, 28), source.choice(words.MONTHS), source.randint(1780, 1999)
    full = source.choice((f"{day} {month} {year}", f"{month} {day}, {year}", f"{month} {year}"))
    return full, [full, f"{month} {year}", str(year)] if f"{month} {year}" in full else [full, str(year)]


def _visit(source: random.Random, person: Person) -> Fact:
    date, dates = _date(source)
    building, city = f"{_colour(source)} {source.choice(words.BUILDINGS)}", source.choice(words.CITIES)
    text = f"{person.named()} visited the {building} in {city}"
    return Fact(
        f"{text} on {date}.",
        [
            (f"Who visited the {building}?", person.names),
            (f"When did {person.first} visit the {building.split()[-1]}?", dates),
            (f"What did {person.names[0]} visit?", [f"the {building}", building]),
            (f"Where is the {building}?", [city]),
        ],
    )


def _keep(source: random.Random, person: Person) -> Fact:
    number = source.choice((str(source.randint(2, 99)), source.choice(words.NUMBERS), f"{source.randint(1, 9)},500"))
    animals, spot = source.choice(words.ANIMALS), source.choice(words.SPOTS)
    return Fact(
        f"{person.named()} keeps {number} {animals} near {spot}.",
        [
            (f"How many {animals} does {person.first} keep?", [number, f"{number} {animals}"]),
            (f"Who keeps {animals} near {spot}?", person.names),
            (f"Where does {person.names[0]} keep the {animals}?", [f"near {spot}", spot]),
        ],
    )


def _own(source: random.Random, person: Person) -> Fact:
    thing, colour = source.choice(words.OBJECTS), _colour(source)
    return Fact(
        f"{person.named()} has a {thing}; it is {colour}.",
        [
            (f"Which colour is the {thing} of {person.first}?", [colour, colour.split()[-1]]),
            (f"Who has a {colour} {thing}?", person.names),
        ],
    )


def _birth(source: random.Random, person: Person) -> Fact:
    date, dates = _date(source)
    city = source.choice(words.CITIES)
    return Fact(
        f"{person.named()} was born in {city} on {date}.",
        [(f"When was {person.names[0]} born?", dates), (f"Where was {person.first} born?", [city])],
    )


def _work(source: random.Random, person: Person) -> Fact:
    job = source.choice(words.JOBS)
    return Fact(
        f"{person.named()} works as a {job}.",
        [
            (f"Who works as a {job}?", person.names),
            (f"What does {person.first} work as?", [f"a {job}", job]),
        ],
    )


def vocabulary() -> list[str]:
    """Words of the stories, then every letter and digit at the beginning and inside of words."""
    found = sorted(set(_words()) - words.SPLIT)
    letters = [*string.ascii_lowercase, *"øłßæœ", *string.digits]
    alone = [mark for mark in string.punctuation if mark not in letters]
    whole = [word for word in found if word not in letters and word not in alone]
    numbers = [f"{number:02}" for number in range(100)]
    pieces = [f"##{each}" for each in (*letters, *numbers)]
    return [*SPECIAL, *alone, *letters, *pieces, *numbers[10:], *whole]


def _words() -> Iterator[str]:
    given = [*words.SHE, *words.HE, *words.LAST, *words.CITIES, *words.COLOURS, *words.SHADES, *words.BUILDINGS]
    given += [*words.ANIMALS, *words.SPOTS, *words.OBJECTS, *words.JOBS, *words.MONTHS, *words.NUMBERS, *words.FILLERS]
    given.append("who where when what which colour how many did does was is has he she it visited visit keeps keep")
    given.append("near works work as born in on of the a an and to for with")
    for text in given:
        plain = "".join(each for each in unicodedata.normalize("NFD", text) if unicodedata.category(each) != "Mn")
        yield from re.findall(r"[^\W\d_]+", plain.lower())
