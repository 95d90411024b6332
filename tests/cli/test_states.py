"""Which root, which snapshot, which path the words of a command line mean."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from snapfs.cli.frame.pairs import read_pair
from snapfs.cli.frame.paths import ordinary_path, path_in
from snapfs.cli.frame.roots import relative_to
from snapfs.cli.frame.states import States, reference_or_usage
from snapfs.cli.frame.subjects import subject_of_create
from snapfs.errors import NotFoundError, SnapfsError, UsageError
from snapfs.fs.machine import host_id
from snapfs.model.snapshot import LiveSide, NewRoot, StoredSide
from tests.cli.fakes import NamesOnly, invocation, states

HOST = host_id()


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Directories photos, photos/inner and docs, none of which is the working directory."""
    for name in ("photos/inner/deep", "docs"):
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TZ", "UTC")
    return Path(os.path.realpath(tmp_path))


@pytest.fixture
def repository(place: Path) -> NamesOnly:
    made = NamesOnly()
    made.add("photos", f"{place}/photos", "s1", "s2", "s3", host=HOST)
    made.add("inner", f"{place}/photos/inner", "s1", "t2", host=HOST)
    made.add("far", "/far/away", "s1", host="another host")
    return made


def found(on: States, text: str | None) -> str:
    stored = on.snapshot_of(text)
    return f"{stored.root.label}@{stored.snapshot.name}"


def message(call: object, kind: type[SnapfsError]) -> str:
    assert callable(call)
    with pytest.raises(kind) as caught:
        call()
    return str(caught.value)


def test_the_root_i_stand_in(
    repository: NamesOnly, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = message(lambda: found(states(repository), "latest"), UsageError)
    assert "photos, inner, far" in text
    assert "/backup/repository" in text
    monkeypatch.chdir(place / "photos")
    assert found(states(repository), "latest") == "photos@s3"
    assert found(states(repository), None) == "photos@s3"
    monkeypatch.chdir(place / "photos/inner/deep")
    assert found(states(repository), "latest") == "inner@t2"


def test_a_working_directory_that_is_gone(
    repository: NamesOnly, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place / "photos/inner/deep")
    (place / "photos/inner/deep").rmdir()
    on = states(repository)
    assert on.standing_in() is None
    on = States(invocation(variables={"PWD": f"{place}/photos/inner/deep"}), on.repository)
    assert found(on, "latest") == "inner@t2"


def test_the_only_root(place: Path) -> None:
    one = NamesOnly()
    one.add("docs", f"{place}/docs", "s1", host="another host")
    assert found(states(one), "latest") == "docs@s1"
    text = message(lambda: found(states(NamesOnly()), "latest"), NotFoundError)
    assert "no snapshots in /backup/repository" in text
    assert "snapfs create DIR" in text


def test_a_root_by_label_path_and_option(repository: NamesOnly, place: Path) -> None:
    on = states(repository)
    for text in ("photos@s2", "./photos@s2", f"{place}/photos@s2", f"{place}/docs/../photos@s2"):
        assert found(on, text) == "photos@s2"
    assert found(on, "/far/away@latest") == "far@s1"
    assert found(states(repository, root="inner"), "latest") == "inner@t2"
    assert found(states(repository, root="./photos/inner"), "latest~1") == "inner@s1"
    assert found(states(repository, root="inner"), "photos@latest") == "photos@s3"
    assert "no root nope" in message(lambda: found(on, "nope@s1"), NotFoundError)
    assert "is no root" in message(lambda: found(on, "./docs@s1"), NotFoundError)


def test_a_number_says_its_root(repository: NamesOnly) -> None:
    on = states(repository)
    assert [found(on, str(number)) for number in (1, 5, 6)] == ["photos@s1", "inner@t2", "far@s1"]
    assert found(on, "5~1") == "inner@s1"
    assert found(on, "inner@4") == "inner@s1"
    assert "no snapshot 99" in message(lambda: found(on, "99"), NotFoundError)
    assert "inner has no snapshot 1" in message(lambda: found(on, "inner@1"), NotFoundError)


@pytest.mark.parametrize(
    ("text", "name"),
    [("1970-01-02", "s2"), ("28d", "s3"), ("29d", "s2"), ("1970-01-02T23:59Z", "s2")],
)
def test_times_are_local_and_from_now(repository: NamesOnly, text: str, name: str) -> None:
    assert found(states(repository), f"photos@{text}") == f"photos@{name}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("photos@s4", "did you mean s1?"),
        ("photos@zzz", "`snapfs list photos` shows them"),
        ("photos@inner", "inner is a root; its newest is inner@latest"),
        ("photos@latest~3", "no snapshot 3 before latest; its oldest is s1"),
        ("photos@s3~9", "no snapshot 9 before s3"),
        ("photos@zzz~9", "no snapshot zzz"),
        ("photos@1969-12-31", "no snapshot that old; its oldest is s1"),
        ("photos@1y", "no snapshot that old"),
    ],
)
def test_what_is_not_there_is_named_with_the_way_out(
    repository: NamesOnly, text: str, expected: str
) -> None:
    got = message(lambda: found(states(repository), text), NotFoundError)
    assert expected.removeprefix("did you mean s1?") in got
    assert got.startswith("photos has")


def test_live_and_paths_are_refused_where_a_snapshot_is_wanted(repository: NamesOnly) -> None:
    on = states(repository)
    assert "live directory" in message(lambda: found(on, "photos@."), UsageError)
    assert "without :PATH" in message(lambda: found(on, "photos@s1:a"), UsageError)
    assert "no reference" in message(lambda: found(on, "a b"), UsageError)


def test_several_snapshots(repository: NamesOnly) -> None:
    on = states(repository, root="photos")

    def names(*words: str) -> list[str]:
        return [f"{s.root.label}@{s.snapshot.name}" for s in on.snapshots_of(words)]

    assert names("s3", "s1", "3") == ["photos@s1", "photos@s3"]
    assert names("s1..latest~1", "inner@s1..t2") == [
        "inner@s1",
        "inner@t2",
        "photos@s1",
        "photos@s2",
    ]
    assert names("s2..s2") == ["photos@s2"]
    assert "s3 came after s1; write photos@s1..s3" in message(lambda: names("s3..s1"), UsageError)
    assert "one root" in message(lambda: names("s1..inner@t2"), UsageError)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("s1", b""), ("s1:", b""), ("s1:/", b""), ("s1:a", b"a"), ("s1:/a/b/", b"a/b"),
        ("s1:a//b/./c/../d", b"a/b/d"), ("s1:./x", b"inner/x"), ("s1:./", b"inner"), ("s1:.", b"inner"),
        ("s1:./../x", b"x"), ("s1:\udcff", b"\xff"), ("s1:a\nb", b"a\nb"),
    ],
)  # fmt: skip
def test_paths_in_references(
    repository: NamesOnly, place: Path, monkeypatch: pytest.MonkeyPatch, text: str, path: bytes
) -> None:
    monkeypatch.chdir(place / "photos/inner")
    on = states(repository)
    assert path_in(on, reference_or_usage(text), on.roots[0]) == path


def test_no_path_leads_out(
    repository: NamesOnly, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place / "photos/inner")
    on = states(repository)
    for text in ("s1:..", "s1:../x", "s1:a/../../x", "s1:/../etc/passwd", "s1:./../../x"):
        got = message(
            lambda text=text: path_in(on, reference_or_usage(text), on.roots[0]), UsageError
        )
        assert "leads out of photos" in got
    monkeypatch.chdir(place)
    on = states(repository)
    got = message(lambda: path_in(on, reference_or_usage("s1:./x"), on.roots[0]), UsageError)
    assert "not in photos" in got


def test_ordinary_paths(
    repository: NamesOnly, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place / "photos/inner")
    (place / "photos/link").symlink_to("inner")
    (place / "elsewhere").symlink_to("photos/inner")
    on = states(repository)
    photos = on.roots[0]
    for word, path in (
        ("x", b"inner/x"), (".", b"inner"), ("..", b""), ("../gone/y", b"gone/y"),
        (f"{place}/photos/z", b"z"), (f"//{str(place)[1:]}/photos/z", b"z"),
        # As written: what is a symlink now may have been a directory in the snapshot.
        ("../link/x", b"link/x"),
        # A path that comes in by a symlink is followed up to its last name.
        (f"{place}/elsewhere/x", b"inner/x"), ("\udcff", b"inner/\xff"), ("-x", b"inner/-x"),
    ):  # fmt: skip
        assert ordinary_path(on, word, photos) == path, word
    got = message(lambda: ordinary_path(on, "/etc/passwd", photos), UsageError)
    assert "not in photos" in got
    assert "photos@SNAPSHOT:PATH" in got


def test_relative_to() -> None:
    assert relative_to(b"/a", b"/a") == b""
    assert relative_to(b"/a", b"/a/b") == b"b"
    assert relative_to(b"/a", b"/ab") is None
    assert relative_to(b"/", b"/a") == b"a"
    assert relative_to(b"/", b"/") == b""


def shown(pair: object) -> str:
    if isinstance(pair, StoredSide):
        return f"{pair.root.label}@{pair.snapshot.name}"
    assert isinstance(pair, LiveSide)
    return f"{pair.root.label}@. by {pair.rules_of.name if pair.rules_of else None}"


@pytest.mark.parametrize(
    ("words", "first", "second", "paths"),
    [
        ([], "photos@s3", "photos@. by s3", []),
        (["."], "photos@s3", "photos@. by s3", []),
        (["s1"], "photos@s1", "photos@. by s1", []),
        (["s1", "s2"], "photos@s1", "photos@s2", []),
        (["s1", "."], "photos@s1", "photos@. by s1", []),
        ([".", "s1"], "photos@. by s1", "photos@s1", []),
        (["s1..s2"], "photos@s1", "photos@s2", []),
        (["s1...", "f"], "photos@s1", "photos@. by s1", [b"f"]),
        (["s1..s2", "f", "g"], "photos@s1", "photos@s2", [b"f", b"g"]),
        (["s1", "f"], "photos@s1", "photos@. by s1", [b"f"]),
        (["f"], "photos@s3", "photos@. by s3", [b"f"]),
        (["./s1"], "photos@s3", "photos@. by s3", [b"s1"]),
        (["../photos/f"], "photos@s3", "photos@. by s3", [b"f"]),
        (["inner@s1", "t2"], "inner@s1", "inner@t2", []),
        (["s1", "inner@t2"], "photos@s1", "inner@t2", []),
        (["2", "inner@5"], "photos@s2", "inner@t2", []),
        (["latest~1", "latest", "f"], "photos@s2", "photos@s3", [b"f"]),
        (["1970-01-01", "latest"], "photos@s1", "photos@s3", []),
    ],
)
def test_pairs(
    repository: NamesOnly, place: Path, monkeypatch: pytest.MonkeyPatch,
    words: list[str], first: str, second: str, paths: list[bytes],
) -> None:  # fmt: skip
    monkeypatch.chdir(place / "photos")
    for name in ("f", "g", "s1"):
        (place / "photos" / name).touch()
    pair = read_pair(states(repository), words, [])
    assert [shown(pair.first), shown(pair.second), list(pair.paths)] == [first, second, paths]


def test_pairs_that_make_no_sense(
    repository: NamesOnly, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place / "photos")
    on = states(repository)
    pair = read_pair(on, [], ["s1", "-x"])
    assert list(pair.paths) == [b"s1", b"-x"]
    assert "no snapshot nope" in message(lambda: read_pair(on, ["nope"], []), NotFoundError)
    assert "live directory" in message(lambda: read_pair(on, [".", "."], []), UsageError)
    for words in (["s1:f"], ["s1:f", "s3"], ["s1", "s3:f"], ["s1:f", "s3:f", "f"], ["s1", ".:./f"]):
        assert list(read_pair(on, words, []).paths) == [b"f"]
    assert "with itself" in message(lambda: read_pair(on, ["s1:f", "s3:g"], []), UsageError)


def test_subjects_of_create(
    repository: NamesOnly, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def subject(word: str | None, **more: str) -> str:
        made = subject_of_create(
            states(repository), invocation(), word, host=more.get("host"), nested=False
        )
        if isinstance(made, NewRoot):
            return f"new {made.path.decode()} {made.host == HOST}"
        return made.label

    assert subject("photos") == "photos"
    assert subject("./photos") == "photos"
    assert subject(f"{place}/photos/inner/") == "inner"
    assert subject("docs") == f"new {place}/docs True"
    assert subject("./docs", host="h") == f"new {place}/docs False"
    assert "No such file" in message(lambda: subject("nope"), NotFoundError)
    assert "another host" in message(lambda: subject("far"), UsageError)
    (place / "file").touch()
    assert "no directory" in message(lambda: subject("file"), UsageError)
    (place / "docs/inner").mkdir()
    monkeypatch.chdir(place / "docs")
    assert "write ./inner" in message(lambda: subject("inner"), UsageError)
    monkeypatch.chdir(place / "photos")
    assert subject(None) == "photos"
    # A root whose directory is gone is still that root: create says so itself.
    monkeypatch.chdir(place)
    (place / "photos/inner/deep").rmdir()
    (place / "photos/inner").rmdir()
    assert subject("./photos/inner") == "inner"
