"""The API reference: pages made whole from the code, one per room of the library."""

import inspect
import re
from collections.abc import Iterable
from types import ModuleType
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

import distaff


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the API pages at the end of the navigation."""
    assert config.nav is not None
    config.nav.append({"API": [f"api/{name}.md" for name in api_pages()]})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the API pages."""
    for name, content in api_pages().items():
        files.append(File.generated(config, f"api/{name}.md", content=content))
    return files


def api_pages() -> dict[str, str]:
    """One page per public room of the library, and one for what lies at its top.

    Nothing stands on two pages: at the top are the names that no room exports, and links to the others.
    """
    rooms = [value for name in distaff.__all__ if isinstance(value := getattr(distaff, name), ModuleType)]
    homes = {value: room.__name__ for room in rooms for value in _exported(room)}
    pages = {"distaff": _api_page(distaff, [value for value in _exported(distaff) if value not in homes])}
    pages["distaff"] += "".join(
        f"- [`distaff.{value.__name__}`][{_place(value)}], also in `{homes[value]}`\n"
        for value in _exported(distaff)
        if value in homes
    )
    return pages | {_name(room): _api_page(room, _exported(room)) for room in rooms}


def _api_page(module: ModuleType, values: Iterable[Any]) -> str:
    """What a module is for, then its functions and classes, then those of the modules that it exports."""
    lines = [f"# {module.__name__}", "", _fenced(inspect.getdoc(module) or ""), ""]
    for value in values:
        lines += [f"::: {_place(value)}", ""]
    for name in module.__all__:
        shelf = getattr(module, name)
        if isinstance(shelf, ModuleType) and module is not distaff:
            lines += [f"::: {shelf.__name__}", "    options: {show_root_full_path: true}", ""]
    return "\n".join(lines)


def _exported(module: ModuleType) -> list[Any]:
    """The functions and classes among a module's public names."""
    values = [getattr(module, name) for name in module.__all__]
    return [v for v in values if inspect.isfunction(v) or inspect.isclass(v)]


def _place(value: Any) -> str:
    return f"{value.__module__}.{value.__qualname__}"


def _name(module: ModuleType) -> str:
    return module.__name__.rpartition(".")[2]


def _fenced(docstring: str) -> str:
    """A docstring whose examples are blocks of code: as plain Markdown their brackets would be links."""
    return re.sub(
        r"^>>> .*?(?=\n\n|\Z)", lambda found: f"```pycon\n{found[0]}\n```", docstring, flags=re.M | re.S
    )
