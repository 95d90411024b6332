"""Each command in this process: what it prints, what it asks, what it does."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from snapfs.cli.render.schemas import SCHEMAS
from tests.cli.conftest import Shell
from tests.harness.require import need_tools


def test_create_prints_the_reference(shell: Shell) -> None:
    (shell.tree / "a").write_text("x")
    done = shell("create", shell.tree, "--name", "s1", "-m", "note", "--tag", "t")
    assert done.out == "photos@s1\n"
    repository = shell.home / ".local/share/snapfs/repository"
    assert repository.is_dir()
    assert f"The repository is {repository}" in done.err
    assert "not from a dead disk" in done.err
    assert "snapfs restore photos@latest:FILE --to DIR" in done.err
    assert "1 file, 1 directory, 1 B; first snapshot; read 1 B" in done.err
    again = shell("create")
    assert again.out.startswith("photos@s2")
    assert "nothing changed" in again.err
    assert "The repository is" not in again.err
    skipped = shell("create", "--skip-if-unchanged")
    assert skipped.out == ""
    assert "no snapshot taken" in skipped.err
    assert shell("create", "-q").err == ""
    assert len(shell("list").lines) == 4


def test_create_of_what_makes_no_sense_leaves_no_repository(shell: Shell) -> None:
    assert "No such file" in shell("create", "nope", code=1).err
    (shell.tree / "a").touch()
    assert "is no directory" in shell("create", "a", code=2).err
    assert "`snapfs create .`" in shell("create", code=2).err
    assert "--explain needs --dry-run" in shell("create", ".", "--explain", "a", code=2).err
    assert "cannot be a name" in shell("create", ".", "--name", "3d", code=2).err
    assert os.listdir(shell.home) == []


def test_a_dry_run_makes_nothing(shell: Shell) -> None:
    for name in ("a", "b.o"):
        (shell.tree / name).write_text("x")
    done = shell("create", ".", "-n", "--exclude", "*.o", "--explain", "a", "--explain", "b.o")
    assert done.lines == ["a: kept", "b.o: left out by *.o (--exclude)"]
    assert "dry run, nothing stored" in done.err
    assert os.listdir(shell.home) == []
    for words in (["--explain", "nosuch"], ["--explain", "a/b", "--exclude", "a"]):
        refused = shell("create", ".", "-n", *words, code=1)
        assert refused.out == ""
        assert f"there is no {words[1]} in the directory" in refused.err
    shell("create", ".", "--exclude", "*.o")
    assert "there is no nosuch" in shell("create", "-n", "--explain", "nosuch", code=1).err
    assert shell("create", "-n", "--explain", "a").lines == ["a: kept"]
    assert shell("create", "--dry-run").out == ""
    assert len(shell("list", "--json").lines) == 1


def test_a_dry_run_registers_no_root(shell: Shell) -> None:
    place = shell.tree / "my store"
    shell("-r", place, "create", shell.home, "--name", "h1")
    before = shell("-r", place, "runs").lines
    (shell.tree / "a").write_text("x")
    done = shell("-r", place, "create", ".", "-n", "--explain", "a")
    assert done.lines == ["a: kept"]
    assert "photos: 1 file, 1 directory, 1 B; first snapshot" in done.err, (
        "the repository is none of it"
    )
    for words, said in (
        ((shell.home / "new",), "inside root home"), ((shell.home.parent,), "around root home"),
        ((place / "packs",), "is the repository or lies in it"),
    ):  # fmt: skip
        words[0].mkdir(exist_ok=True)
        assert said in shell("-r", place, "create", "-n", *words, code=2).err
    assert [line.split()[0] for line in shell("-r", place, "roots").lines] == ["root", "home"]
    assert shell("-r", place, "runs").lines == before
    assert shell("-r", place, "create", ".").out.startswith("photos@")


def test_create_of_several_roots_goes_on_after_a_failure(shell: Shell, tmp_path: Path) -> None:
    other = tmp_path / "docs"
    other.mkdir()
    shell("create", ".", "--name", "s1")
    done = shell("create", "photos", "./nope", str(other), "--name", "s2", code=1)
    assert done.lines == ["photos@s2", "docs@s2"]
    assert "nope: No such file" in done.err
    assert shell("create", ".", "--name", "s2", code=2).out == ""


def test_list(past: Shell) -> None:
    lines = past("list").lines
    assert lines[0].split() == ["no", "snapshot", "time", "files", "size", "stored"]
    assert [line.split()[1] for line in lines[1:]] == ["s1", "s2", "s3"]
    assert "2026-06-01 13:00:00" in lines[1]
    assert lines[1].endswith("first")
    assert lines[2].endswith("#w #x")
    assert [o["name"] for o in past("list", "photos", "-n", "2", "--json").objects] == ["s2", "s3"]
    for words in (["list"], ["runs"]):
        none = past(*words, "-n", "0")
        assert (none.out, none.err) == ("", "")
        for given in (["-n", "-1"], ["--number=-1"], ["-n-1"]):
            refused = past(*words, *given, code=2)
            assert refused.out == ""
            assert "'-1' is no whole number, 0 or more" in refused.err
    assert len(past("list", "-n", "99").lines) == 4
    first = past("list", "--json").objects[0]
    assert (first["schema"], first["reference"]) == ("list/1", "photos@s1")
    assert first["created"] == "2026-06-01T13:00:00Z"
    past("create", "--name", "s0", "--time", "2026-05-01")
    names = [o["name"] for o in past("list", "--sort", "time", "--json").objects]
    assert names == ["s0", "s1", "s2", "s3"]
    assert [o["name"] for o in past("list", "--sort=time", "-n1", "--json").objects] == ["s3"]


def test_list_outside_of_every_root(past: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(past.home)
    # The only root is the one that is meant; of several the roots are listed.
    assert len(past("list").lines) == 4
    past("create", past.home, "--name", "h1", code=0)
    monkeypatch.chdir("/")
    lines = past("list").lines
    assert [line.split()[0] for line in lines] == ["root", "home", "photos"]
    assert lines[2].split()[2:5] == ["3", "2026-06-03", "13:00:00"]
    shown = past("list", "--json").objects
    assert [o["schema"] for o in shown] == ["roots/1", "roots/1"]
    assert [o["newest"] for o in shown] == ["home@h1", "photos@s3"]
    newest = past("list", "-n", "1").lines
    assert [line.split()[1] for line in newest[1:]] == ["home@h1", "photos@s3"]
    by_time = past("list", "--sort", "time", "--json").objects
    assert [o["name"] for o in by_time] == ["s1", "s2", "s3", "h1"]
    assert past("list", "-n", "0").out == ""
    every = past("list", "--all").lines
    assert [line.split()[1] for line in every[1:]] == [
        "home@h1", "photos@s1", "photos@s2", "photos@s3",
    ]  # fmt: skip


def test_show(past: Shell) -> None:
    text = past("show", "s2").out
    assert "photos@s2  (number 2)" in text
    assert "since s1" in text
    assert "1 modified, 1 added; +2.9K -0 B" in text
    assert "tags" in text
    found = past("show", "--json").objects[0]
    assert found["snapshot"]["name"] == "s3"
    assert found["previous"]["name"] == "s2"
    assert "without :PATH" in past("show", "s1:a", code=2).err


def test_show_names_the_rules(shell: Shell) -> None:
    rules = shell.home / "rules"
    rules.write_text("# what a build makes\n\n*.o\n")
    shell(
        "create", ".", "--exclude-from", rules, "--exclude-larger-than", "500M", "--exclude", "/x"
    )
    shown = [line.split(None, 1)[1] for line in shell("show").lines if line.startswith("rule")]
    assert shown == ["--exclude: /x", f"{rules}: *.o", "--exclude-larger-than 500M"]
    assert shell("show", "--json").objects[0]["rules"] == shown


def test_ls(past: Shell) -> None:
    assert past("ls", "s1").lines == ["a", "link", "sub"]
    assert past("ls", "s1:sub").lines == ["'two words'"]
    assert past("ls", "s1", "-R").lines == ["a", "link", "sub", "'sub/two words'"]
    assert past("ls", "photos@s1:a").lines == ["a"]
    assert past("ls").lines == ["a", "link", "'n'$'\\377\\n'", "sub"]
    long = past("ls", "s2", "-l").lines
    assert long[0].startswith("-rw")
    assert long[0].split()[3] == "9"
    assert long[2].endswith("link -> a")
    assert past("ls", "s1:sub", "-0").out == "two words\0"
    fields = past("ls", "s1:a", "-l0").out.split("\0")
    assert (len(fields), fields[3], fields[5]) == (7, "4", "a")
    found = {o["path"]: o for o in past("ls", "--json").objects}
    odd = found["n\\xff\n"]
    assert odd["path_b64"] == "bv8K"
    assert (odd["size"], odd["kind"], found["link"]["target"]) == (3000, "file", "a")
    assert past("ls", ".").lines == past("ls").lines
    assert "has no nope" in past("ls", ":nope", code=1).err


def test_paths_from_the_working_directory(past: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(past.tree / "sub")
    assert past("ls", "s1:./").lines == ["'two words'"]
    assert past("ls", "s1:./two words").lines == ["'two words'"]
    assert past("cat", "s1:./two words").out == "two\n"
    assert past("ls", "s1").lines == ["a", "link", "sub"]


def test_cat(past: Shell) -> None:
    assert past("cat", "s1:a").out == "one\n"
    assert past("cat", ":a").out == "one\nmore\n"
    assert past("cat", "2026-06-01:a").out == "one\n"
    chunks = past("cat", "s2:b", "--json").objects
    assert chunks[0]["offset"] == 0
    assert chunks[0]["path"] == "b"
    assert past("cat", "s1", code=2).err.startswith("snapfs: cat wants a file")
    assert past("cat", "s1:sub", code=2).out == ""
    assert past("cat", "s1:nope", code=1).out == ""


def test_diff(past: Shell) -> None:
    assert past("diff", "s1", "s2").lines == ["M\ta\tcontent,mtime", "+\tb"]
    assert past("diff", "s2..s1").lines == ["M\ta\tcontent,mtime", "-\tb"]
    lines = past("diff", "s2", "s3").lines
    assert sorted(lines) == ["-\t'sub/two words'", "R\tb -> 'n'$'\\377\\n'"]
    assert past("diff", "s2", "s3", "-0").out.split("\0")[:4] in (
        ["R", "b", "n\udcff\n", ""],
        ["-", "sub/two words", "", "R"],
    )
    assert past("diff").out == ""
    (past.tree / "a").write_text("one\nnew\n")
    assert past("diff").lines == ["M\ta\tcontent,mtime"]
    assert past("diff", "a").lines == ["M\ta\tcontent,mtime"]
    assert past("diff", "link").out == ""
    assert "+new\n" in past("diff", "--content").out
    assert "-more\n" in past("diff", "s2", ".", "--content", "--", "a").out
    for half in ("s1..", "..s1", "photos@latest.."):
        for words in (["diff", half], ["diff", half, "--exit-code"], ["delete", half, "-y"]):
            refused = past(*words, code=2)
            assert (refused.out, "is half a range" in refused.err) == ("", True)
    for forms in (["--stat", "--content"], ["-0", "--stat"], ["--content", "--null"]):
        refused = past("diff", "s1", "s2", *forms, code=2)
        assert refused.out == ""
        assert "exclude each other" in refused.err
        assert all(name.replace("-0", "--null") in refused.err for name in forms)
    for words in (
        ["s1", "s2", "nope"],
        ["s1", ".", "--", "nope"],
        ["s1:nope", "s2"],
        ["a", "./nope"],
    ):
        assert "has nope" in past("diff", *words, code=1).err
    assert past("diff", "s1", "s2", "--stat").out == "1 modified, 1 added; +2.9K -0 B\n"
    assert past("diff", "--exit-code", code=1).lines == ["M\ta\tcontent,mtime"]
    assert past("diff", "s1", "s1", "--exit-code", "--stat").out == "nothing differs\n"
    assert past("diff", "nope", "s1", "--exit-code", code=2).out == ""
    assert past("diff", "-r", "/nope", "--exit-code", code=10).out == ""
    objects = past("diff", "s1", "s2", "--json").objects
    assert objects[0] == {
        "schema": "diff/1", "letter": "M", "path": "a", "old_path": None, "what": ["content", "mtime"],
    }  # fmt: skip
    assert past("diff", "s1", "s2", "--json", "--stat").objects[0]["added"] == 1
    text = past("diff", "s1", "s2", "--json", "--content").objects[0]
    assert (text["schema"], text["path"]) == ("diff-text/1", "a")


def test_restore_beside(past: Shell, tmp_path: Path) -> None:
    assert "--to DIR" in past("restore", "s1", code=2).err
    assert "--in-place" in past("restore", "s1", code=2).err
    assert "exclude each other" in past("restore", "s1", "--to", "x", "--in-place", code=2).err
    whole, one, two = (tmp_path / name for name in ("whole", "one", "two"))
    done = past("restore", "s1", "--to", whole)
    assert done.out == ""
    assert f"photos@s1 into {whole}: 5 created; wrote 8 B" in done.err
    assert (whole / "sub/two words").read_text() == "two\n"
    assert "--overwrite" in past("restore", "s1", "--to", whole, code=2).err
    past("restore", "s2", "--to", whole, "--overwrite", "if-changed")
    assert (whole / "a").read_text() == "one\nmore\n"
    past("restore", "s1:sub", "--to", one)
    assert os.listdir(one) == ["two words"]
    past("restore", "s1", "--to", two, "--", "sub/two words", "a")
    assert sorted(os.listdir(two)) == ["a", "sub"]
    assert "is none of always" in past("restore", "s1", "--to", two, "--overwrite=x", code=2).err


def test_restore_in_place(past: Shell) -> None:
    asked = past("restore", "s1", "--in-place", code=2)
    assert "add --yes" in asked.err
    assert (past.tree / "a").read_text() == "one\nmore\n"
    plan = past("restore", "s1", "--in-place", "--delete", "--dry-run")
    assert f"Restore photos@s1 into {past.tree}:" in plan.out
    assert "create 1, overwrite " in plan.out
    assert past("restore", "s1", "--in-place", "-n", "--json").objects[0]["create"] == 1
    done = past("restore", "s1", "--in-place", "--delete", "--yes")
    assert (past.tree / "a").read_text() == "one\n"
    assert sorted(os.listdir(past.tree)) == ["a", "link", "sub"]
    safety = past("list", "--json").objects[-1]
    assert safety["tags"] == ["safety"]
    undo = done.lines[-1]
    assert undo == f"snapfs restore photos@{safety['name']} --in-place --delete"
    past(*undo.split()[1:], "--yes", "--no-safety")
    assert (past.tree / "a").read_text() == "one\nmore\n"
    assert (
        past("restore", "s1", "a", "--in-place", "-y").lines[-1].endswith(":a --in-place --delete")
    )


def test_restore_beside_asks_before_it_deletes(past: Shell, tmp_path: Path) -> None:
    target = tmp_path / "target"
    words = ("restore", "s1", "--to", target, "--overwrite", "always", "--delete")
    past(*words)  # nothing is there that could be deleted
    past(*words)  # nor is anything that the snapshot has
    (target / "precious").write_text("x")
    (target / "a").write_text("changed")
    for more in ([], ["--json"]):
        asked = past(*words, *more, code=2)
        assert asked.out == ""
        assert "add --yes" in asked.err
        assert (target / "a").read_text() == "changed"
    plan = past(*words, "--dry-run")
    assert "delete 1," in plan.out
    assert plan.lines[-1] == "- precious"
    past(*words[:-1])  # without --delete nothing is asked
    assert (target / "precious").exists()
    past(*words, "--yes")
    assert not (target / "precious").exists()


def test_the_safety_snapshot_is_the_newest(past: Shell) -> None:
    (past.tree / "a").write_text("now\n")
    past("restore", "s1", "--in-place", "--yes")
    assert (past.tree / "a").read_text() == "one\n"
    assert past("cat", "latest:a").out == "now\n"
    assert "safety" in past("show", "latest").out
    assert past("show", "latest~1", "--json").objects[0]["snapshot"]["name"] == "s3"


@pytest.mark.parametrize(
    "name", ["n" * 250, "My Photos", ".config", "2026", "latest", "été", "..."]
)
def test_every_label_can_be_typed(shell: Shell, name: str) -> None:
    place = shell.home / name
    place.mkdir()
    (place / "a").write_text("x")
    reference = shell("create", place).lines[0]
    assert shell("ls", reference).lines == ["a"]
    again = shell.home / "other" / name
    again.mkdir(parents=True)
    (again / "b").write_text("x")
    assert shell("ls", shell("create", again).lines[0]).lines == ["b"]


def test_undo_says_which_repository(past: Shell) -> None:
    repository = past.home / ".local/share/snapfs/repository"
    done = past("-r", str(repository), "restore", "s1", "a", "link", "--in-place", "-y", "--json")
    undo = done.objects[0]["undo"]
    assert undo.startswith("snapfs restore photos@"), "the standard place needs no name"
    elsewhere = repository.rename(past.home / "elsewhere")
    done = past("-r", str(elsewhere), "restore", "s1", "a", "link", "--in-place", "-y", "--json")
    undo = done.objects[0]["undo"]
    assert undo.startswith(f"snapfs -r {elsewhere} restore photos@")
    assert undo.endswith(f" {past.tree}/a {past.tree}/link --in-place --delete")


def test_restore_makes_a_vanished_root_again(past: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(past.home)
    past.tree.rename(past.tree.with_name("gone"))
    past("restore", "photos@s1", "--in-place", "--yes")
    assert (past.tree / "a").read_text() == "one\n"


def test_names_tags_and_pins(past: Shell) -> None:
    done = past("rename", "s1", "start", "-m", "where it began")
    assert done.out == "photos@start\n"
    assert past("rename", "start", "-m", "").out == "photos@start\n"
    assert "a NEW name" in past("rename", "start", code=2).err
    for more in ([], ["--dry-run"]):
        assert "already" in past("rename", "start", "s2", *more, code=2).err
    tried = past("rename", "start", "never", "-n")
    assert tried.err == "photos@start would be renamed to never; dry run, nothing changed\n"
    assert past("show", "start").lines[0].endswith("photos@start  (number 1)")
    assert past("tag", "start", "one", "two").err == "photos@start: #one #two\n"
    assert past("untag", "start", "two", "none").err == (
        "photos@start: #one\nphotos@start had no #none\n"
    )
    assert "TAG is missing" in past("tag", "start", code=2).err
    assert past("pin", "start", "s2").lines == ["photos@start", "photos@s2"]
    assert past("pin", "start", "--json").objects[0]["pinned"] is True
    assert "start" in past("delete", "start", "--yes", code=1).err
    past("unpin", "1", "2")
    assert past("list", "--json").objects[0]["tags"] == ["one"]


def test_delete(past: Shell) -> None:
    asked = past("delete", "s1", code=2)
    assert "add --yes" in asked.err
    plan = past("delete", "s1..s2", "--dry-run")
    assert plan.lines == ["photos@s1", "photos@s2"]
    assert "would delete 2 snapshots" in plan.err
    done = past("delete", "s1..s2", "--yes")
    assert done.lines == ["photos@s1", "photos@s2"]
    assert "deleted 2 snapshots, freed" in done.err
    assert [o["name"] for o in past("list", "--json").objects] == ["s3"]
    gone = past("delete", "latest", "-y", "--json").objects[0]
    assert [o["name"] for o in gone["snapshots"]] == ["s3"]
    assert "has no snapshots" in past("delete", "latest", "-y", code=1).err
    assert "is missing" in past("delete", code=2).err


def test_roots(past: Shell, tmp_path: Path) -> None:
    for words in (["roots"], ["roots", "list"], ["-v", "roots", "--no-progress", "list"]):
        assert [line.split()[0] for line in past(*words).lines] == ["root", "photos"]
    assert past("roots", "rename", "photos", "pictures").out == "pictures\n"
    assert "no root photos" in past("roots", "rename", "photos", "x", code=1).err
    assert "dry run" in past("roots", "rename", "pictures", "images", "-n").err
    assert past("roots").lines[1].split()[0] == "pictures"
    moved = tmp_path / "moved"
    assert "is no directory" in past("roots", "move", "pictures", str(moved), code=1).err
    moved.mkdir()
    assert str(moved) in past("roots", "move", "pictures", str(moved)).err
    assert past("roots", "--json").objects[0]["path"] == str(moved)
    tried = past("roots", "rename", "pictures", "x", "-n", "--json").objects[0]
    assert (tried["label"], tried["dry_run"]) == ("x", True)
    assert past("roots", "--json").objects[0]["label"] == "pictures"
    assert "add --yes" in past("roots", "remove", "pictures", code=2).err
    assert past("roots", "remove", "pictures", "--yes").out == "pictures\n"
    assert "no snapshots in" in past("roots").err
    assert "there is roots list" in past("roots", "nope", code=2).err


def test_runs(past: Shell) -> None:
    assert "no such run" in past("runs", "--failed").err
    past("create", "--name", "s1", code=2)
    lines = past("runs").lines
    assert lines[0].split()[0] == "started"
    assert len(lines) == 5
    failed = past("runs", "--failed", "--json").objects
    assert len(failed) == 1
    assert failed[0]["exit"] == 2
    assert len(past("runs", "photos", "-n", "2", "--json").objects) == 2


def test_info_verify_and_rebuild(past: Shell) -> None:
    text = past("info").out
    assert "snapshots" in text
    assert past("info", "--json").objects[0]["snapshots"] == 3
    assert "no damage found" in past("verify").err
    assert "no damage found" in past("verify", "--data").err
    assert past("verify", "--sample", "50%", "--json").objects[0]["findings"] == []
    assert "exclude each other" in past("verify", "--data", "--sample=5%", code=2).err
    before = past("list", "--json").out
    assert "3 snapshots of 1 root" in past("rebuild-catalog").err
    assert past("list", "--json").out == before


def test_repair(past: Shell) -> None:
    assert "nothing is damaged" in past("repair", "--yes").err
    assert "nothing is damaged" in past("repair").err, "no question, no need to answer"
    assert past("repair", "--json").objects[0]["findings"] == []
    packs = sorted((past.home / ".local/share/snapfs/repository/packs").iterdir())
    for pack in packs:
        pack.write_bytes(pack.read_bytes()[:50])
    (past.tree / "a").unlink()
    assert "asks first" in past("repair", code=2).err
    planned = past("repair", "--dry-run", code=3)
    assert {pack.stat().st_size for pack in packs} == {50}
    done = past("repair", "--yes", code=3)
    assert planned.out == done.out
    assert "lost: photos: a in s1, s2, s3" in done.lines
    assert "would be moved" in planned.err
    assert all(f"quarantine/{pack.name}" in done.err for pack in packs)
    past("verify", "--data")
    assert "a: lost: " in past("show", "s1").out
    assert "a: " in past("restore", "s1", "--to", past.home / "x", code=3).err
    assert "nothing is damaged" in past("repair", "--yes").err


def test_verify_names_the_damage(past: Shell) -> None:
    packs = past.home / ".local/share/snapfs/repository/packs"
    for pack in packs.iterdir():
        data = bytearray(pack.read_bytes())
        for at in range(60, len(data)):
            data[at] ^= 0xFF
        pack.write_bytes(data)
    done = past("verify", "--data", code=3)
    assert "damage: packs/" in done.out
    assert "touches: photos: " in done.out
    found = past("verify", "--data", "--json", code=3).objects[0]
    assert found["findings"]
    assert {"root", "path", "snapshots"} <= set(found["damaged"][0])


def test_alone(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    first = shell().out
    assert "snapfs create DIR" in first
    assert "no repository yet" in first
    (shell.tree / "a").touch()
    shell("create", ".", "--name", "s1", "-m", "hello")
    text = shell().out
    assert text.startswith("photos@s1 of ")
    assert "hello" in text
    assert "snapfs diff" in text
    assert shell("--json").objects[0]["newest"] == "photos@s1"
    monkeypatch.chdir(shell.home)
    assert "in no root of" in shell().out
    assert shell("--json").objects[0]["newest"] is None
    assert shell("--root", "photos").out.startswith("photos@s1")


def test_quiet_says_nothing_but_results_and_errors(past: Shell) -> None:
    (past.tree / "a").write_text("z")
    assert past("create", "-q", "--name", "s4").err == ""
    assert past("-q", "tag", "s4", "t").err == ""
    assert past("-q", "ls", "nope", code=1).err != ""


def test_notes_are_json_with_json(past: Shell) -> None:
    (past.tree / "a").write_text("z")
    for words in (["create"], ["delete", "s1", "-y"], ["verify"], ["runs", "--failed"]):
        for line in past(*words, "--json").err.splitlines():
            assert json.loads(line)["schema"] in {"note/1", "problem/1"}


def test_profiles_reach_commands(past: Shell) -> None:
    folder = past.home / ".config/snapfs"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text('[profiles.p]\nexclude = ["*.o"]\nroot = "photos"\n')
    (past.tree / "x.o").touch()
    past("create", "--profile", "p", "--name", "s4")
    assert "x.o" not in past("ls", "s4").lines
    past("create", "--name", "s5")
    assert "x.o" in past("ls", "s5").lines


def test_json_is_as_declared(past: Shell, tmp_path: Path) -> None:
    """Every schema is printed by some command, with just the keys that snapfs-json(5) lists."""
    declared = {schema.name: schema for schema in SCHEMAS}
    seen = set()
    lines: list[tuple[str, ...]] = [
        ("create", "--name", "s4"), ("list",), ("roots",), ("roots", "rename", "photos", "pics"),
        ("roots", "rename", "pics", "photos"), ("show",), ("ls", "-R"), ("cat", "s1:a"),
        ("log", "a", "--content"), ("find", "*"), ("sql",), ("sql", "SELECT 1 AS one"),
        ("diff", "s1", "s3"), ("diff", "s1", "s2", "--content"), ("diff", "s1", "s2", "--stat"),
        ("restore", "s1", "--to", str(tmp_path / "x")), ("restore", "s1", "--in-place", "-n"),
        ("restore", "s1", "--in-place", "-y"), ("tag", "s1", "t"), ("purge", "b", "-y"), ("usage",),
        ("usage", "s1"), ("usage", "--by-path"), ("delete", "s1", "-y"), ("verify",),
        ("runs",), ("info",), ("completion", "bash"), ("rebuild-catalog",), (), ("--version",),
    ]  # fmt: skip
    (past.tree / "a").write_text("an edit since\n")
    answers = [
        past("revert", "s1..s2", "-n", "--json", code=5),
        past("revert", "s2..s3", "-n", "--json"),
        past("revert", "s2..s3", "-y", "--json"),
        *(past(*words, "--json") for words in lines),
    ]
    shutil.rmtree(past.home / ".local/share/snapfs/repository/packs")
    (past.home / ".local/share/snapfs/repository/packs").mkdir()
    for file in (past.tree / "a", past.tree / "b"):
        file.unlink(missing_ok=True)
    answers.append(past("verify", "--against-live", "--json"))
    answers.append(past("repair", "--yes", "--json", code=3))
    for done in answers:
        assert done.objects
        for found in done.objects:
            schema = declared[found["schema"]]
            seen.add(schema.name)
            keys = {"schema"}
            for part in schema.parts:
                for field in part.__dataclass_fields__:
                    key = "duration_s" if field == "duration_ns" else field.removesuffix("_ns")
                    keys.add(key)
            if schema.name == "sql/1":
                keys.add("one")  # as the query calls it
            assert {key for key in found if not key.endswith("_b64") or key in keys} == keys
    assert seen == {schema.name for schema in SCHEMAS if not schema.on_stderr}


def test_a_unified_diff_feeds_patch(past: Shell, tmp_path: Path) -> None:
    need_tools("patch")
    names = ["plain", "sp ace", 'quo"te', "back\\slash", "t\tab", "umläut"]
    for name in names:
        (past.tree / name).write_text("one\n")
    past("create", "--name", "before")
    copy = tmp_path / "copy"
    shutil.copytree(past.tree, copy)
    for name in names:
        (past.tree / name).write_text("two\n")
    text = past("diff", "before", ".", "--content").out
    subprocess.run(["patch", "-p1", "-d", copy], input=text.encode(), check=True)
    assert {(copy / name).read_text() for name in names} == {"two\n"}


def test_a_carriage_return_ends_no_line(past: Shell, tmp_path: Path) -> None:
    """Neither for git nor for patch."""
    need_tools("patch")
    (past.tree / "text").write_bytes(b"one\rtwo\r\n\x0cthree\x0b\nlast\r")
    past("create", "--name", "before")
    copy = tmp_path / "copy"
    shutil.copytree(past.tree, copy)
    (past.tree / "text").write_bytes(b"one\rTWO\r\n\x0cthree\x0b\nlast\r")
    text = past("diff", "before", ".", "--content").out
    assert "@@ -1,3 +1,3 @@" in text
    assert text.count("No newline") == 1
    subprocess.run(["patch", "--binary", "-p1", "-d", copy], input=text.encode(), check=True)
    assert (copy / "text").read_bytes() == (past.tree / "text").read_bytes()
