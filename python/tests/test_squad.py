"""Questions in the SQuAD form: features, order, answers, scores, and bundles that are trained on them."""

import hashlib
import itertools
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from transformers import BertTokenizerFast

from warpforge.export.errors import ExportError
from warpforge.export.recipes.bert import Bert
from warpforge.golden import checkpoint, targets
from warpforge.golden.command import main
from warpforge.golden.squad import answers, fixture, made, metrics, order, questions, reader, vocabulary, windows
from warpforge.golden.squad.questions import Questions
from warpforge.golden.squad.reader import Answer
from warpforge.golden.squad.source import QuestionBatches
from warpforge.golden.squad.windows import Window, labels, row, starts

SIZES = ["--layers", "1", "--hidden", "32", "--heads", "2", "--intermediate", "48", "--seq", "64"]
RUN = ["--batch-size", "4", "--steps", "3", "--record", "1", "--threads", "1", "--stride", "16"]
FIXTURE = Path(__file__).parents[2] / "tests" / "golden" / "squad" / "features.json"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("made") / "set"
    assert main(["made-squad", "--out", str(directory), "--train", "60", "--dev", "20", "--seed", "1"]) == 0
    return directory


@pytest.fixture(scope="module")
def bundle(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("bundle") / "bundle"
    words = ["bert-squad", *SIZES, *RUN, "--data", str(folder), "--data-seed", "5", "--runs", "2", "--limit-dev", "9"]
    assert main([*words, "--target", "f1=99.5", "--target", "final_loss=100", "--out", str(out)]) == 0
    return out


@pytest.fixture(scope="module")
def checkpoint_folder(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("checkpoints") / "tiny"
    recipe = Bert(layers=1, hidden=32, heads=2, intermediate=48, vocabulary=600, sequence=64)
    module: Any = recipe.build(7).module
    module.bert.save_pretrained(str(directory))
    (directory / "vocab.txt").write_bytes((folder / "vocab.txt").read_bytes())
    return directory


def settings(folder: Path, **changes: Any) -> Questions:
    given: dict[str, Any] = {
        "train": folder / "train.json",
        "dev": folder / "dev.json",
        "vocabulary": folder / "vocab.txt",
        "lowercase": True,
        "sequence": 64,
        "stride": 16,
        "longest_question": 64,
        "longest_answer": 30,
        "best": 20,
        "dev_questions": 20,
    }
    return Questions(**given | changes)


def test_windows_are_those_of_the_tokenizer(folder: Path) -> None:
    entries = vocabulary.entries(folder / "vocab.txt")
    asked = reader.read(folder / "train.json")
    tokenizer = BertTokenizerFast(vocab=entries, do_lower_case=True)
    own = vocabulary.Tokenizer(entries, True)
    made_here = list(windows.windows(asked, own, 64, 16, 64))
    assert len(made_here) > len(asked)
    expected = tokenizer(
        [each.question for each in asked],
        [each.context for each in asked],
        truncation="only_second",
        max_length=64,
        stride=16,
        padding="max_length",
        return_overflowing_tokens=True,
        return_offsets_mapping=True,
    )
    assert [each.number for each in made_here] == expected["overflow_to_sample_mapping"]
    for index, each in enumerate(made_here):
        found = row(each, 64, own)
        assert found.input_ids == expected["input_ids"][index]
        assert found.attention_mask == expected["attention_mask"][index]
        assert found.token_type_ids == expected["token_type_ids"][index]
        context = [place for place, part in enumerate(expected.sequence_ids(index)) if part == 1]
        assert each.offsets == [expected["offset_mapping"][index][place] for place in context]
        assert each.first == context[0]


def test_windows_end_with_the_first_that_reaches_the_end() -> None:
    assert starts(0, 10, 4) == [0]
    assert starts(10, 10, 4) == [0]
    assert starts(11, 10, 4) == [0, 6]
    assert starts(16, 10, 4) == [0, 6]
    assert starts(17, 10, 4) == [0, 6, 12]
    # A stride that leaves no step is made less.
    assert starts(5, 3, 128) == starts(5, 3, 2) == [0, 1, 2]
    assert starts(3, 1, 128) == [0, 1, 2]


def test_labels_are_the_tokens_of_the_answer() -> None:
    offsets = [(4, 7), (8, 12), (12, 15), (16, 20)]
    assert labels(Answer("x" * 4, 8), offsets, 10) == (11, 11)
    assert labels(Answer("x" * 5, 10), offsets, 10) == (11, 12)
    assert labels(Answer("x" * 16, 4), offsets, 10) == (10, 13)
    # A space before a word belongs to the token before it.
    assert labels(Answer("x" * 5, 7), offsets, 10) == (10, 11)
    assert labels(Answer("x" * 4, 3), offsets, 10) == (0, 0)
    assert labels(Answer("x" * 5, 16), offsets, 10) == (0, 0)
    assert labels(Answer("x", 0), [], 10) == (0, 0)


def test_labels_give_the_answers_back(folder: Path) -> None:
    loaded = questions.load(settings(folder, sequence=128))
    asked = reader.read(folder / "train.json")
    held = [each for each in loaded.features if each.start]
    assert len({each.number for each in held}) == len(asked)
    for each in held:
        begin, end = each.offsets[each.start - each.first][0], each.offsets[each.end - each.first][1]
        assert asked[each.number].context[begin:end] == asked[each.number].answers[0].text


def test_a_question_without_room_is_refused(folder: Path) -> None:
    with pytest.raises(ExportError, match="a sequence of 8 has no room for its context"):
        questions.load(settings(folder, sequence=8))
    assert questions.load(settings(folder, sequence=8, longest_question=4)).features


def test_order_is_by_digest() -> None:
    found = order.order(3, 1, 5)
    assert found == sorted(range(5), key=lambda index: hashlib.sha256(f"3/order/1/{index}".encode()).hexdigest())
    assert order.order(3, 1, 20) != order.order(3, 2, 20)
    # 11 features are two batches of two for two ranks, and a rest.
    seen = [order.batch(3, step, 2, rank, 2, 11) for step in range(4) for rank in range(2)]
    assert [*itertools.chain(*seen[:4])] == order.order(3, 0, 11)[:8]
    assert [*itertools.chain(*seen[4:])] == order.order(3, 1, 11)[:8]


def window(offsets: list[tuple[int, int]]) -> Window:
    return Window(0, [9], list(range(len(offsets))), offsets, 0, 0)


def test_the_best_pair_of_logits_is_the_answer() -> None:
    held = window([(0, 3), (4, 7), (8, 11)])
    context = "one two six"

    def ask(start: list[float], end: list[float], longest: int = 30, best: int = 20) -> str:
        return answers.answer([held], [start], [end], context, longest, best)

    assert ask([0, 0, 0, 1, 5, 0, 0], [0, 0, 0, 1, 0, 5, 0]) == "two six"
    assert ask([9, 9, 9, 1, 5, 0, 9], [9, 9, 9, 1, 0, 5, 9]) == "two six"
    assert ask([0, 0, 0, 1, 5, 0, 0], [0, 0, 0, 1, 0, 5, 0], longest=1) == "two"
    assert ask([0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0]) == "one"
    assert ask([9, 0, 0, 0, 0, 0, 0], [9, 0, 0, 0, 0, 0, 0], best=1) == ""
    other = window([(4, 7)])
    given = [[0.0] * 6, [0.0] * 4]
    assert answers.answer([held, other], [given[0] + [0.0], given[1]], [given[0] + [0.0], given[1]], context, 3, 9) == (
        "one"
    )


@pytest.mark.parametrize(
    ("prediction", "accepted", "exact", "f1"),
    [
        ("The Red  Tower!", ["a red tower"], 1, 1),
        ("tower", ["the red tower"], 0, 2 / 3),
        ("red red tower", ["red tower", "blue"], 0, 0.8),
        ("well-known", ["well known"], 0, 0),
        ("", ["the"], 1, 0),
        ("Łódź", ["ŁÓDŹ"], 1, 1),
    ],
)
def test_scores_by_words(prediction: str, accepted: list[str], exact: float, f1: float) -> None:
    assert metrics.exact(prediction, accepted) == exact
    assert metrics.f1(prediction, accepted) == pytest.approx(f1)


def test_the_score_is_the_mean_in_percent() -> None:
    assert metrics.score(["red tower", "blue"], [["red tower"], ["red", "green"]]) == {"exact_match": 50.0, "f1": 50.0}


def test_the_fixture_is_what_it_is_made_of() -> None:
    assert FIXTURE.stat().st_size < 300_000
    assert json.loads(FIXTURE.read_text()) == json.loads(json.dumps(fixture.content()))


def test_the_made_set_is_the_same_from_the_same_seed(folder: Path) -> None:
    for name, count, several in (("train", 60, False), ("dev", 20, True)):
        content = made.part(name, count, 1, several)
        assert json.loads((folder / f"{name}.json").read_text()) == content
        assert content != made.part(name, count, 2, several)
    asked = reader.read(folder / "dev.json")
    assert len(asked) == 20
    assert max(len(each.answers) for each in asked) > 1
    entries = vocabulary.entries(folder / "vocab.txt")
    tokenizer = vocabulary.Tokenizer(entries, True)
    whole = made.part("train", 2000, 0, False)
    texts = {paragraph["context"] for article in whole["data"] for paragraph in article["paragraphs"]}
    assert 300 <= len(entries) <= 1000
    assert not any(entries["[UNK]"] in tokenizer.tokens(text).ids for text in texts)


def test_a_bundle_has_its_questions(bundle: Path, folder: Path) -> None:
    written = json.loads((bundle / "manifest.json").read_text())
    assert written["questions"] == {
        "train": "data/train.json",
        "dev": "data/dev.json",
        "vocabulary": "data/vocab.txt",
        "lowercase": True,
        "sequence": 64,
        "stride": 16,
        "longest_question": 64,
        "longest_answer": 30,
        "best": 20,
        "dev_questions": 9,
    }
    for name in ("train.json", "dev.json", "vocab.txt"):
        assert (bundle / "data" / name).read_bytes() == (folder / name).read_bytes()
        assert f"data/{name}" in written["files"]
    assert (written["data"][0]["name"], written["data"][0]["licence"]) == ("given", "CC0-1.0")
    assert written["targets"] == {"f1": 99.5, "final_loss": 100.0}
    assert written["seconds"] > 0
    assert written["model"]["weights"] == "random, from the seed"
    assert written["model"]["options"]["vocabulary"] == len(vocabulary.entries(folder / "vocab.txt"))
    assert all(run["metrics"].keys() == {"exact_match", "f1"} for run in written["runs"])
    assert json.loads((bundle / "metrics.json").read_text())["metrics"] == written["runs"][0]["metrics"]
    assert [run["batch_count"] for run in written["runs"]] == [3, 3]
    assert str(folder) not in json.dumps(written)


def test_a_bundle_has_the_batches_of_its_seed(bundle: Path, folder: Path) -> None:
    chosen = settings(folder, dev_questions=9)
    for run, place in enumerate(("", "runs/0001/")):
        batches = load_file(bundle / f"{place}batches/rank0.safetensors")
        data = QuestionBatches(chosen, 5 + run, 4, 0, 1)
        for step in range(3):
            inputs, wanted = data.training(step)
            for name, tensor in inputs.items():
                assert torch.equal(batches[f"{step}/input.{name}"].long(), tensor)
            for name, tensor in wanted.items():
                assert torch.equal(batches[f"{step}/target.{name}"].long(), tensor)
    given = load_file(bundle / "evaluation/inputs.safetensors")
    loaded = questions.load(chosen)
    rows = [row(each, 64, loaded.tokenizer) for each in loaded.dev_windows[:4]]
    assert given["input.input_ids"].tolist() == [each.input_ids for each in rows]
    assert given["target.start_positions"].tolist() == [each.start for each in loaded.dev_windows[:4]]


def test_the_last_batch_is_filled_up(folder: Path) -> None:
    data = QuestionBatches(settings(folder), 0, 16, 0, 1)
    count = len(data.loaded.dev_windows)
    assert count % 16
    seen: list[torch.Tensor] = []

    class Returned:
        def __init__(self, rows: torch.Tensor) -> None:
            self.start_logits = self.end_logits = torch.zeros(rows.shape)

    def forward(inputs: Any) -> Returned:
        seen.append(inputs["input_ids"])
        return Returned(inputs["input_ids"])

    assert data.evaluate(forward).metrics.keys() == {"exact_match", "f1"}
    assert all(len(rows) == 16 for rows in seen)
    assert all(torch.equal(line, seen[-1][count % 16 - 1]) for line in seen[-1][count % 16 :])


def test_a_checkpoint_gives_sizes_and_weights(
    checkpoint_folder: Path, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "bundle"
    words = ["bert-squad", "--model", str(checkpoint_folder), "--seq", "64", *RUN, "--data", str(folder)]
    assert main([*words, "--target", "exact_match=0", "--out", str(out)]) == 0
    assert "misses its target: f1 " in capsys.readouterr().err
    written = json.loads((out / "manifest.json").read_text())
    assert written["model"]["name"] == "tiny"
    assert written["model"]["options"]["vocabulary"] == 600
    assert written["model"]["weights"].startswith("tiny, model.safetensors with SHA-256 ")
    assert written["model"]["weights"].endswith("; qa_outputs random, from the seed")
    assert written["targets"] == {**targets.OWN, "exact_match": 0.0}
    start = load_file(out / "initial/weights.safetensors")
    held = load_file(checkpoint_folder / "model.safetensors")
    assert len(held) == 21
    assert all(torch.equal(start[f"bert.{name}"], tensor) for name, tensor in held.items())
    assert start["qa_outputs.weight"].std() > 0


def test_a_head_comes_from_the_seed(checkpoint_folder: Path) -> None:
    found = checkpoint.find(str(checkpoint_folder))
    assert found is not None
    assert not found.head
    sizes: dict[str, Any] = dict(found.sizes())
    module: Any = Bert(**sizes).build(0, weights=False).module
    heads = [found.load(module.config, seed, torch.float32).state_dict() for seed in (1, 1, 2)]
    assert torch.equal(heads[0]["qa_outputs.weight"], heads[1]["qa_outputs.weight"])
    assert not torch.equal(heads[0]["qa_outputs.weight"], heads[2]["qa_outputs.weight"])


def test_a_model_is_found_in_the_cache(
    checkpoint_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    assert checkpoint.find("bert-base-uncased") is None
    model = tmp_path / "hub" / "models--google-bert--bert-base-uncased"
    (model / "refs").mkdir(parents=True)
    (model / "refs" / "main").write_text("abc\n")
    (model / "snapshots").mkdir()
    (model / "snapshots" / "abc").symlink_to(checkpoint_folder)
    for name in ("bert-base-uncased", "google-bert/bert-base-uncased"):
        found = checkpoint.find(name)
        assert found is not None
        assert (found.name, found.folder) == (name, model / "snapshots" / "abc")
        assert found.lowercase()


def test_what_a_folder_says_of_case_is_kept(checkpoint_folder: Path, tmp_path: Path) -> None:
    for path in checkpoint_folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "tokenizer_config.json").write_text('{"do_lower_case": false}')
    found = checkpoint.find(str(tmp_path))
    assert found is not None
    assert not found.lowercase()
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"hidden_act": "relu"}))
    with pytest.raises(ExportError, match="hidden_act is relu; the recipe has gelu"):
        found.sizes()


def test_epochs_are_passes_over_the_features(folder: Path, tmp_path: Path) -> None:
    from warpforge.golden.arguments import asked
    from warpforge.golden.workloads import WORKLOADS

    words = [*SIZES, "--batch-size", "4", "--ranks", "2", "--data", str(folder), "--out", str(tmp_path)]
    configuration, _ = asked("golden", "bert-squad", WORKLOADS["bert-squad"], [*words, "--epochs", "3"])
    assert configuration.questions is not None
    count = len(questions.load(configuration.questions).features)
    assert configuration.steps == configuration.batches == 3 * (count // 8)


def test_targets_are_judged() -> None:
    wanted = targets.read(["f1=80", "seconds=100"], targets.OWN)
    assert wanted == {"f1": 80.0, "exact_match": 84.0, "final_loss": 0.5, "seconds": 100.0, "throughput": 0.85}
    reached = {"f1": 71.32, "exact_match": 84.0, "final_loss": 0.5, "seconds": 1234.5}
    assert targets.missed(wanted, reached) == [
        "misses its target: f1 71.3, at least 80",
        "misses its target: seconds 1234.5, at most 100",
    ]
    assert targets.final_loss([9.0] * 18 + [2.0, 1.0]) == 1.5


def test_published_data_is_known(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = settings(folder)
    assert questions.name_and_licence(chosen, "mine") == ("given", "mine")
    digests = tuple(hashlib.sha256(path.read_bytes()).hexdigest() for path in (chosen.train, chosen.dev))
    monkeypatch.setitem(questions.KNOWN, (digests[0], digests[1]), ("squad", "CC-BY-SA-4.0"))
    assert questions.name_and_licence(chosen, None) == ("squad", "CC-BY-SA-4.0")


def squad(**changes: Any) -> dict[str, Any]:
    entry = {"id": "q1", "question": "Who?", "answers": [{"text": "Anna", "answer_start": 0}]} | changes
    return {"data": [{"title": "t", "paragraphs": [{"context": "Anna sings", "qas": [entry]}]}]}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        (json.dumps([]), "the file is not an object"),
        (json.dumps({"data": 1}), "the file.data is not a list"),
        (json.dumps({"data": []}), "has no questions"),
        (json.dumps({"data": [{"title": "t"}]}), r"data\[0\] has no `paragraphs`"),
        (json.dumps(squad(id=3)), r"data\[0\].paragraphs\[0\].qas\[0\].id is not text"),
        (json.dumps(squad(answers=[])), "has no answers: in SQuAD v1.1 every question has one"),
        (json.dumps(squad(answers=[{"text": "", "answer_start": 0}])), r"answers\[0\].text is empty"),
        (json.dumps(squad(answers=[{"text": "Anna", "answer_start": True}])), "answer_start is not a whole number"),
        (json.dumps(squad(answers=[{"text": "sings"}])), "has no `answer_start`"),
        (json.dumps(squad(question="\ud800")), "has half of a surrogate pair"),
        (
            json.dumps(squad(answers=[{"text": "sings", "answer_start": at} for at in (4, -5, 5)])),
            "2 answers are not at their answer_start, the first of question q1",
        ),
    ],
)
def test_files_of_strangers_are_refused_with_the_place(content: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "train.json"
    path.write_text(content)
    with pytest.raises(ExportError, match=reason):
        reader.read(path)


def test_files_that_are_not_there_or_too_large(tmp_path: Path) -> None:
    path = tmp_path / "train.json"
    with pytest.raises(ExportError, match="is missing"):
        reader.read(path)
    with path.open("wb") as file:
        file.truncate((1 << 30) + 1)
    with pytest.raises(ExportError, match="is larger than 1 GiB"):
        reader.read(path)
    path.write_bytes(b"\xff")
    with pytest.raises(ExportError, match="is not UTF-8"):
        reader.read(path)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("[PAD]\n[UNK]\n[CLS]\n[SEP]\n", "has no \\[MASK\\]"),
        ("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n\nb", "line 7 is empty"),
        ("a\nb\na\n", "`a` is on lines 1 and 3"),
    ],
)
def test_vocabularies_are_proved(content: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "vocab.txt"
    path.write_text(content)
    with pytest.raises(ExportError, match=reason):
        vocabulary.entries(path)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--data", "none"], "none has no vocab.txt"),
        (["--data", "SET", "--vocabulary", "100"], "a vocabulary of 100 is too small"),
        (["--data", "SET", "--examples", "8"], "--examples does not go with --data"),
        (["--data", "SET", "--stride", "16", "--batch-size", "500"], "do not fill one batch of 500 over all ranks"),
        (["--data", "SET", "--limit-dev", "0"], "dev_questions is 0; it must be at least 1"),
        (["--model", "bert-tiny"], "no model `bert-tiny`"),
        (["--model", "CHECKPOINT", "--hidden", "64"], "--hidden 64 contradicts tiny, where it is 32"),
        (["--model", "CHECKPOINT", "--seq", "513"], "tiny takes sequences of at most 512 tokens"),
        (["--model", "SET"], "has no config.json"),
        (["--target", "bleu=3"], "no target `bleu`"),
        (["--target", "f1=high"], "`high` is not a number"),
    ],
)
def test_mistakes_are_answered_with_a_reason(
    words: list[str],
    reason: str,
    folder: Path,
    checkpoint_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    places = {"SET": str(folder), "CHECKPOINT": str(checkpoint_folder)}
    given = [places.get(word, word) for word in words]
    assert main(["bert-squad", "--seq", "64", "--out", str(tmp_path / "out"), *given]) == 2
    assert reason in capsys.readouterr().err


def test_other_recipes_know_nothing_of_questions(tmp_path: Path) -> None:
    with pytest.raises(SystemExit):
        main(["mlp", "--data", str(tmp_path), "--out", str(tmp_path / "out")])
