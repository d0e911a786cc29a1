"""PyTorch models as StableHLO programs.

    from warpforge.export import Model, Settings, export

    export(Model(module, {"x": x}, targets={"y": y}, loss=loss), Path("out"), Settings(reference=True))

Importing this package needs none of the packages the export itself needs; the names above are loaded when first used,
after their presence was checked.
"""

from typing import TYPE_CHECKING, Any

from warpforge.export.errors import ExportError

if TYPE_CHECKING:
    from warpforge.export.exporter import Settings, export
    from warpforge.export.model import Model

__all__ = ["ExportError", "Model", "Settings", "export"]

_PLACES = {"Model": "model", "Settings": "exporter", "export": "exporter"}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    from warpforge.export import versions

    versions.check(versions.installed(), any_versions=True)
    return getattr(importlib.import_module(f"{__name__}.{_PLACES[name]}"), name)
