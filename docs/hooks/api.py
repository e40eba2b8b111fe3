"""The API reference: pages made whole from the code, one a room of the library."""

import importlib
import inspect
import pkgutil
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
    """One page a room of the library, and one for what lies at its top."""
    entries = list(pkgutil.iter_modules(distaff.__path__))
    top = [importlib.import_module(f"distaff.{entry.name}") for entry in entries if not _hidden(entry)]
    rooms = {module.__name__.rpartition(".")[2]: module for module in top if hasattr(module, "__path__")}
    single = [module for module in top if not hasattr(module, "__path__")]
    pages = {"distaff": _api_page(distaff, single)}
    for name, room in rooms.items():
        inside = pkgutil.walk_packages(room.__path__, f"{room.__name__}.") if not _exported(room) else ()
        pages[name] = _api_page(room, [importlib.import_module(entry.name) for entry in inside])
    return pages


def _api_page(module: ModuleType, modules: Iterable[ModuleType]) -> str:
    """What a module exports, then its modules one by one."""
    lines = [f"# {module.__name__}", "", inspect.getdoc(module) or "", ""]
    for value in _exported(module):
        lines += [f"::: {value.__module__}.{value.__qualname__}", ""]
    for each in modules:
        if any(not name.startswith("_") for name in vars(each)):
            lines += [f"::: {each.__name__}", "    options: {show_root_full_path: true}", ""]
    return "\n".join(lines)


def _exported(module: ModuleType) -> list[Any]:
    """The functions and classes among a module's public names."""
    values = [getattr(module, name) for name in getattr(module, "__all__", ())]
    return [v for v in values if inspect.isfunction(v) or inspect.isclass(v)]


def _hidden(entry: pkgutil.ModuleInfo) -> bool:
    return entry.name.startswith("_")
