"""Answers that name the thing: what would be done, what was not, whose it is."""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
import subprocess
from pathlib import Path

import pytest

from snapfs.fs.machine import host_id
from tests.cli.conftest import Shell
from tests.cli.program import ARGV, Binary
from tests.cli.test_binary import asked


def repository(shell: Shell) -> Path:
    return shell.home / ".local/share/snapfs/repository"


def test_create_takes_no_root_that_i_do_not_stand_in(
    past: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(past.home)
    for words in (["create"], ["create", "-n"]):
        told = past(*words, code=2)
        assert told.out == ""
        assert "this directory is in no root of" in told.err
        assert "`snapfs create .` takes a snapshot of it" in told.err
        assert "`snapfs create LABEL` of a root: photos" in told.err
    # Other commands mean the only root, and a root that is named is the one.
    assert past("list").lines == past("list", "photos").lines
    assert past("create", "--root", "photos", "--name", "s4").out == "photos@s4\n"
    monkeypatch.setenv("SNAPFS_ROOT", "photos")
    assert past("create", "--name", "s5").out == "photos@s5\n"


def test_a_root_of_another_host(past: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    past("create", past.home, "--name", "h1")
    past("roots", "move", "photos", ".", "--host", "zz")
    here = os.fspath(past.tree)
    lines = past("roots").lines
    assert lines[0].split() == ["root", "directory", "snapshots", "newest", "size", "host"]
    assert [line.split()[-1] for line in lines[2:]] == ["zz"]
    listed = past("list")
    assert [line.split()[0] for line in listed.lines[1:]] == ["home", "photos"]
    why = f"{here} is root photos on another host (zz), not on this one ({host_id()})"
    way_out = f"`snapfs roots move photos {here}` makes it one of this host"
    for told in (listed.err, past("create", code=2).err, past("ls", code=2).err, past().out):
        assert why in told
        assert way_out in told
    assert "photos would be" in past("roots", "move", "photos", here, "-n").err
    past("roots", "move", "photos", here)
    assert len(past("list").lines) == 4


def test_a_dry_run_of_create_says_so(past: Shell) -> None:
    done = past("create", "-n")
    assert done.err.endswith("; dry run, nothing stored\n")
    assert "unchanged" not in done.err
    done = past("create", "-n", "--skip-if-unchanged")
    assert done.err.endswith("; no snapshot would be taken, dry run, nothing stored\n")
    assert past("create", "-n", "--json").objects[0]["dry_run"] is True
    assert past("create", "--json").objects[0]["dry_run"] is False


@pytest.mark.parametrize(
    ("words", "would", "keys"),
    [
        (["rename", "s1", "b3"], "photos@s1 would be renamed to b3", {"name": "b3", "reference": "photos@b3"}),
        (["rename", "s1", "-m", "x"], "photos@s1 would get the message x", {"message": "x"}),
        (["rename", "s1", "-m", ""], "photos@s1 would lose its message", {"message": ""}),
        (["tag", "s2", "b", "a"], "photos@s2 would get #a #b", {"tags": ["a", "b", "w", "x"]}),
        (["untag", "s2", "w"], "photos@s2 would lose #w", {"tags": ["x"]}),
        (["pin", "s1"], "photos@s1 would be pinned", {"pinned": True}),
        (["unpin", "s1"], "photos@s1 would stay as it is", {"pinned": False}),
        (["roots", "rename", "photos", "b3"], "photos would be renamed to b3", {"label": "b3"}),
    ],
)  # fmt: skip
def test_dry_runs_say_what_would_be(
    past: Shell, words: list[str], would: str, keys: dict[str, object]
) -> None:
    before = past("list", "--json").out, past("runs", "--json").out
    tried = past(*words, "-n")
    assert tried.err.startswith(f"{would}; dry run, nothing changed")
    (as_json,) = past(*words, "-n", "--json").objects
    assert keys.items() <= as_json.items()
    assert as_json["dry_run"] is True
    assert (past("list", "--json").out, past("runs", "--json").out) == before
    # What would be is what then is.
    done = past(*words, "--json").objects[0]
    assert done == {**as_json, "dry_run": False}


def test_dry_runs_of_delete_are_marked(past: Shell) -> None:
    for words in (["delete", "s1"], ["roots", "remove", "photos"]):
        assert past(*words, "-n", "--json").objects[0]["dry_run"] is True
        assert past(*words, "-y", "--json").objects[0]["dry_run"] is False


def test_show_and_diff_count_alike(past: Shell) -> None:
    (past.tree / "a").write_text("x")
    (past.tree / "link").unlink()
    os.rename(past.tree / "sub", past.tree / "bus")
    (past.tree / "new").write_text("12345")
    done = past("create", "--name", "s4")
    assert "(what was renamed is both new and removed)" in done.err
    for older, newer in (("s1", "s2"), ("s2", "s3"), ("s3", "s4")):
        (line,) = past("diff", older, newer, "--stat").lines
        (since,) = [text for text in past("show", newer).lines if text.startswith("since")]
        assert since.split(None, 2)[2] == line
        stat = past("diff", older, newer, "--stat", "--json").objects[0]
        shown = past("show", newer, "--json").objects[0]
        assert {key: shown[key] for key in stat if key != "schema"} == {
            key: value for key, value in stat.items() if key != "schema"
        }
    assert "+5 B -8 B" in line


def test_info_counts_all_that_is_on_disk(past: Shell) -> None:
    found = past("info", "--json").objects[0]
    assert found["reserve_bytes"] == (repository(past) / "reserve").stat().st_size == 16 << 20
    (line,) = [text for text in past("info").lines if text.startswith("on disk")]
    assert line.endswith("reserve 16M")
    assert line.split()[2].startswith("16")
    os.unlink(repository(past) / "reserve")
    assert past("info", "--json").objects[0]["reserve_bytes"] == 0


def test_whoever_holds_the_lock_is_named_by_label(past: Shell) -> None:
    with open(repository(past) / "locks/root-1") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        for words in (["create"], ["delete", "s1", "-y"], ["pin", "s1"]):
            told = past(*words, code=11)
            assert told.err == (
                f"snapfs: another snapfs is at work on root photos in {repository(past)}; "
                "wait for it, or give --lock-wait 5min\n"
            )
    with open(repository(past) / "locks/catalog") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        for words in (["create"], ["rebuild-catalog", "--lock-wait", "0s"]):
            told = past(*words, code=11)
            assert f"at work on the repository {repository(past)}; wait" in told.err


def test_a_root_without_snapshots(past: Shell) -> None:
    past("delete", "s1..s3", "-y")
    said = f"no snapshots of photos in {repository(past)}"
    alone = past()
    assert alone.lines[0] == f"{said}. What to type next:"
    assert alone.lines[1].split(None, 3)[:3] == ["snapfs", "create", "photos"]
    assert past("--json").objects[0]["next"] == ["snapfs create photos"]
    assert f"{said}; `snapfs create photos` takes the first one" in past("list").err
    past("create", "photos")


def test_a_directory_that_could_not_be_read_is_no_empty_one(past: Shell) -> None:
    catalog = sqlite3.connect(repository(past) / "catalog.db")
    with catalog:
        (inode,) = catalog.execute(
            "SELECT inode_id FROM dirent WHERE name = ?", (b"sub",)
        ).fetchone()
        catalog.execute("UPDATE inode SET state = 1 WHERE id = ?", (inode,))
    catalog.close()
    told = past("ls", "latest:sub", code=3)
    assert (told.out, told.err) == ("", "! sub: the snapshot could not read this directory\n")
    assert "! sub: " in past("ls", "-R", code=3).err
    assert past("ls").err == ""
    (problem,) = past("ls", "latest:sub", "--json", code=3).err.splitlines()
    assert json.loads(problem)["schema"] == "problem/1"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["list", "--all", "--root", "photos"], "--all and a ROOT exclude each other"),
        (["restore", "s1", "--to", "x", "--no-safety"], "--no-safety goes with --in-place"),
        (["diff", "-0", "--json"], "--null and --json exclude each other"),
        (["ls", "-0", "--json"], "--null and --json exclude each other"),
        (["create", "--exclude", ""], "--exclude: it is empty"),
        (["create", "--exclude-if-present="], "--exclude-if-present: it is empty"),
        (["restore", "s1", "--to", "x", "--include", ""], "--include: it is empty"),
    ],
)
def test_nothing_is_passed_over(past: Shell, words: list[str], said: str) -> None:
    told = past(*words, code=2)
    assert (told.out, said in told.err) == ("", True)


def test_all_counts_more_than_a_root_of_the_settings(
    past: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SNAPFS_ROOT", "photos")
    assert len(past("list", "--all").lines) == 4


def test_removing_a_root_lists_oldest_first_and_tells_what_is_dead(past: Shell) -> None:
    (plan,) = past("roots", "remove", "photos", "-n", "--json").objects
    assert [one["name"] for one in plan["snapshots"]] == ["s1", "s2", "s3"]
    (plan,) = past("delete", "s1..s2", "-n", "--json").objects
    assert [one["name"] for one in plan["snapshots"]] == ["s1", "s2"]
    other = past.home / "other"
    other.mkdir()
    (other / "b").write_text("one\n")  # of a pack of photos that has more
    past("create", other)
    (plan,) = past("roots", "remove", "photos", "-n", "--json").objects
    told = past("roots", "remove", "photos", "-n").err
    assert plan["reclaimable_bytes"] > 0
    assert "of dead blocks lie in packs still needed" in told


def test_a_working_directory_that_was_deleted(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = shell.home / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    for words in (["create", "."], ["-r", "here", "list"]):
        told = shell(*words, code=1)
        assert "the working directory was deleted; cd to one that exists" in told.err
    monkeypatch.chdir(shell.tree)
    shell("create", ".", "--name", "s1")
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    for words in (["create"], ["create", "."], ["restore", "photos@s1", "--to", "x"]):
        assert "the working directory was deleted" in shell(*words, code=1).err


def test_a_profile_that_is_not_there(past: Shell) -> None:
    folder = past.home / ".config/snapfs"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text("[profiles.one]\n[profiles.two]\n")
    told = past("--profile", "nope", "list", code=2)
    assert told.err == f"snapfs: {folder}/config.toml has no profile nope; it has one, two\n"


def test_runs_are_told_alike(past: Shell) -> None:
    past("pin", "s1", "s2")
    for words in (["delete", "s1", "-y"], ["roots", "remove", "photos", "-y"]):
        past(*words, code=1)
    past("delete", "s1", "-n", code=1)
    past("unpin", "s1", "s2")
    past("rebuild-catalog")
    found = [
        (one["command"], one["root"], one["exit"]) for one in past("runs", "--json").objects[3:]
    ]
    assert found == [
        ("pin s1 s2", "photos", 0),
        ("delete s1 -y", "photos", 1),
        ("roots remove photos -y", "photos", 1),
        ("unpin s1 s2", "photos", 0),
        ("rebuild-catalog", None, 0),
    ]


def test_root_leaves_a_home_to_its_user(shell: Shell) -> None:
    if os.geteuid() != 0:
        return  # a user's own directories are the user's anyway
    os.chown(shell.home, 1234, 5678)
    # What root made unasked in the home that sudo left it, its user could not even look into.
    assert "would be root's, below a directory of 1234" in shell("create", ".", code=1).err
    assert not os.listdir(shell.home)
    shell("create", ".", "-r", repository(shell))
    for name in (".local", ".local/share", ".local/share/snapfs"):
        made = (shell.home / name).stat()
        assert (made.st_uid, made.st_gid, made.st_mode & 0o777) == (1234, 5678, 0o700)
    # The repository is of whoever made it: what root can read is in it.
    assert repository(shell).stat().st_uid == 0


def test_an_answer_that_never_comes(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tmp_path / "home").mkdir()
    binary = Binary(tmp_path / "home")
    for name in ("one", "a-longer-name"):
        binary("create", tree, "--name", name)
    code, shown, _ = asked(binary, b"\x04", "delete", "one..a-longer-name")
    lines = shown.splitlines()
    assert code == 2
    assert lines[-1] == "snapfs: nothing was done"
    assert lines[-2].endswith("[y/N] ")
    one, longer = (line for line in lines if line.startswith("  tree@"))
    assert one.index("20", 12) == longer.index("20", 12), "the times are below each other"


def test_a_table_in_a_terminal_of_80_columns(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tmp_path / "home").mkdir()
    binary = Binary(tmp_path / "home")
    (name,) = binary("create", tree, "-m", "a note " * 20).stdout.decode().split()
    leader, follower = os.openpty()
    fcntl.ioctl(follower, 0x5414, b"\x18\x00\x50\x00\x00\x00\x00\x00")  # TIOCSWINSZ: 24 by 80
    binary.variables.pop("COLUMNS", None)
    process = subprocess.Popen(
        [*ARGV, "list"], env=binary.variables, cwd=tree, stdin=follower, stdout=follower
    )
    process.wait(60)
    shown = os.read(leader, 65536).decode().splitlines()
    os.close(follower)
    os.close(leader)
    assert name.partition("@")[2] in shown[1].split()
    assert len(shown) == 2
    assert len(shown[1]) <= 80
    assert shown[1].endswith("…")
