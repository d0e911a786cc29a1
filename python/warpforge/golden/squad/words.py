"""The words of the made set of questions."""


def _apart(text: str, mark: str = " ") -> list[str]:
    return text.split(mark)


SHE = _apart("Anna Clara Emma Greta Ida Karla Mina Olga Rosa Tilda Zoë Anaïs Inés Yara Esmeralda")
HE = _apart("Ben David Felix Hugo Jonas Leo Noah Paul Simon Viktor René Søren Jean-Luc Björn Mateo Quentin")
LAST = _apart(
    "Berg Stone Miller Rivers Novak Silva Keller Marsh Holt Brandt Moreau O'Hara Núñez Łukasz Hoffmann Vance"
    " Whitlock Dvořák Baptiste Winter"
)
CITIES = _apart(
    "Oslo|Rome|Lima|Cairo|Bern|Kyoto|Delhi|Quito|Porto|Riga|Zürich|Málaga|Łódź|São Paulo|Reykjavík|St. Gallen|New Haven"
    "|Cape Town|Port Louis|Buenos Aires",
    "|",
)
COLOURS = _apart("red blue green yellow white black brown grey orange purple")
SHADES = ("", "", "", "dark ", "pale ", "bright ")
BUILDINGS = _apart("tower bridge castle church library museum palace station theatre lighthouse")
ANIMALS = _apart("goats sheep horses ducks geese rabbits cows hens dogs donkeys")
SPOTS = _apart(
    "the old mill|the river|a small lake|the town wall|the north gate|an empty barn|the market square|the harbour"
    "|the stone well|a quiet forest",
    "|",
)
OBJECTS = _apart("boat coat door hat bicycle lamp kite wagon piano telescope")
JOBS = _apart("baker|painter|doctor|teacher|sailor|gardener|lawyer|tailor|watchmaker|night nurse", "|")
MONTHS = _apart("January February March April May June July August September October November December")
NUMBERS = _apart("two three four five six seven eight nine ten eleven twelve twenty")
FILLERS = _apart(
    'It rained all day.|Nobody in the village was surprised.|The winter had been long.|"What a year!" said the mayor.'
    "|The newspapers wrote about it for weeks.|There was music in the streets (and a little too much wine)."
    "|Some say this is not true at all.|The train was late again; it always is.",
    "|",
)
SPLIT = frozenset(
    _apart("quentin mateo esmeralda whitlock baptiste hoffmann vance watchmaker telescope lighthouse quito")
)
"""Words that the vocabulary does not have, so that they fall into pieces."""
