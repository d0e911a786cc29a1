"""What is said about packages that are missing or untested."""

import re
import tomllib
from pathlib import Path

import pytest

from warpforge.export import versions
from warpforge.export.errors import ExportError


def test_the_project_file_pins_the_supported_versions() -> None:
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())
    wanted = project["project"]["optional-dependencies"]["export"]
    pins = {pin[1]: pin[2] for each in wanted if (pin := re.fullmatch(r"([\w-]+)==([\w.]+)", each))}
    assert pins == versions.SUPPORTED


def test_supported_versions_pass_with_and_without_a_build_tag() -> None:
    versions.check(dict(versions.SUPPORTED))
    versions.check({**versions.SUPPORTED, "torch": versions.SUPPORTED["torch"] + "+cpu"})


def test_missing_and_untested_packages_are_named_with_the_remedy() -> None:
    with pytest.raises(ExportError, match=r"not installed: torchax\n  install with: python3 -m pip install"):
        versions.check({**versions.SUPPORTED, "torchax": None}, any_versions=True)
    other: dict[str, str | None] = {**versions.SUPPORTED, "jax": "0.4.1"}
    with pytest.raises(ExportError, match=r"jax 0.4.1 \(tested: 0.10.2\)[\s\S]*--any-versions"):
        versions.check(other)
    versions.check(other, any_versions=True)
