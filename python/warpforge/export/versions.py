"""Which versions of which packages the exporter is tested with, and what is said about any other.

Nothing here imports those packages: the answer must come before an import can fail.
"""

from importlib import metadata

from warpforge.export.errors import ExportError

SUPPORTED: dict[str, str] = {
    "torch": "2.15.0",
    "torchvision": "0.29.2",
    "torchax": "0.0.13",
    "jax": "0.10.2",
    "jaxlib": "0.10.2",
    "transformers": "5.22.2",
    "safetensors": "0.8.0",
}

INSTALL = "python3 -m pip install './python[export]'   (at the top of a WarpForge checkout)"


def installed() -> dict[str, str | None]:
    """The version of each package the exporter needs, or None where it is missing."""
    found: dict[str, str | None] = {}
    for name in SUPPORTED:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = None
    return found


def check(found: dict[str, str | None], any_versions: bool = False) -> None:
    """Refuses missing packages, and untested versions unless they were asked for."""
    missing = [name for name, version in found.items() if version is None]
    if missing:
        raise ExportError(f"not installed: {', '.join(missing)}\n  install with: {INSTALL}")
    # A build tag such as `+cpu` names the same source.
    other = [
        f"{name} {version} (tested: {SUPPORTED[name]})"
        for name, version in found.items()
        if version is not None and version.split("+")[0] != SUPPORTED[name]
    ]
    if other and not any_versions:
        raise ExportError(
            f"untested versions: {', '.join(other)}\n"
            f"  install the tested ones with: {INSTALL}\n"
            "  or go on at your own risk with --any-versions"
        )
