"""Text differences of files of which one side is not there to be compared."""

from __future__ import annotations

from tests.harness.program import Program


def test_what_could_not_be_read_is_not_shown_as_empty(as_user: Program) -> None:
    tree = as_user.home.parent / "tree"
    (tree / "f").write_text("one\ntwo\n")
    as_user.create(tree, "a")
    (tree / "f").chmod(0)
    as_user.create(tree, "b", ok=(3,))
    (tree / "f").chmod(0o644)
    as_user.create(tree, "c")
    told = b"Files differ: %s could not be read, or is lost\n"
    between = {
        ("a", "b"): told % b"b/f",
        ("b", "c"): told % b"a/f",
    }
    for (one, two), lines in between.items():
        assert as_user("diff", one, two, "--content", cwd=tree, ok=(0, 3)).out == lines
    shown = as_user("log", "f", "--content", cwd=tree).out
    assert shown.count(b"could not be read, or is lost") == 2
    assert b"-one" not in shown
