"""Rules of construction that the import contracts cannot express."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import snapfs

PACKAGE = Path(snapfs.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))
BANNED_WORDS = {"utils", "util", "helpers", "helper", "common", "manager", "misc"}

GENERATED = {"catalog/compiled.py"}


def inside(module: Path, *folders: str) -> bool:
    return module.relative_to(PACKAGE).parts[0] in folders


def calls(tree: ast.AST) -> Iterator[str]:
    """Dotted names of everything that is called or read as an attribute."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield f"{node.value.id}.{node.attr}"


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_module(module: Path) -> None:
    text = module.read_text()
    tree = ast.parse(text)
    used = set(calls(tree))
    if not inside(module, "cli"):
        assert not used & {"print", "input", "breakpoint"}, "only cli talks to the user"
        assert not used & {"os.environ", "os.getenv", "os.environb", "sys.argv", "sys.stdout"} or (
            module.name in ("workers.py", "__main__.py")
            or ("sys.argv" in used and 'if __name__ == "__main__"' in text)
        ), "only cli reads the environment"
        late = [
            node.lineno
            for function in ast.walk(tree)
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
            for node in ast.walk(function)
            if isinstance(node, ast.Import | ast.ImportFrom)
        ]
        assert not late, (
            f"imports inside functions at lines {late}: only cli loads late, where it loads a command"
        )
    assert module.stem not in BANNED_WORDS, "a module is named after what it holds"
    if str(module.relative_to(PACKAGE)) not in GENERATED:
        assert text.count("\n") <= 440, "look for the second reason to change, and split there"
    if text.strip():
        assert ast.get_docstring(tree), "a module opens with what it holds and why it is right"


def test_every_public_name_is_documented() -> None:
    """Below cli/, where the one function of a command module is what the module says it is."""
    missing = [
        f"{module.relative_to(PACKAGE)}:{node.lineno} {node.name}"
        for module in MODULES
        if not inside(module, "cli")
        for node in ast.parse(module.read_text()).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        and not node.name.startswith("_")
        and not ast.get_docstring(node)
    ]
    assert not missing, "\n".join(missing)
