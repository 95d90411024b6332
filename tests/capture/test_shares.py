"""How files are divided between workers: evenly, and copies to one of them."""

from __future__ import annotations

from snapfs.capture.shares import Shares
from snapfs.model.toread import ToRead


def item(seq: int, name: bytes, size: int) -> ToRead:
    return ToRead(seq, b"d", name, size, 0, 0, 0, 0, 0, seq, 1, 0)


def test_files_of_one_size_meet_in_later_windows_as_well() -> None:
    shares = Shares(2)
    owners: dict[int, set[int]] = {}
    for window in range(3):
        files = [item(n, b"%d" % (window * 1000 + n), 1000 + n % 50) for n in range(400)]
        for number, share in enumerate(shares.divide(files)):
            for one in share:
                owners.setdefault(one.size, set()).add(number)
    assert len(owners) == 50
    assert {len(workers) for workers in owners.values()} == {1}
    assert {number for workers in owners.values() for number in workers} == {0, 1}


def test_both_have_as_much_to_do_and_keep_the_order() -> None:
    files = [item(n, b"f%d" % n, 600 + 37 * n) for n in range(3000)]
    files += [item(3000, b"large", 40_000_000), item(3001, b"larger", 90_000_000)]
    one, other = Shares(2).divide(files)
    assert sorted(one + other) == files
    assert one == sorted(one) and other == sorted(other)
    loads = [sum(i.size for i in share) for share in (one, other)]
    assert abs(loads[0] - loads[1]) < sum(loads) * 0.05


def test_a_million_of_one_tiny_size_are_shared_out_and_large_ones_go_by_name() -> None:
    tiny = [item(n, b"f%d" % n, 36) for n in range(10_000)]
    one, other = Shares(2).divide(tiny)
    assert abs(len(one) - len(other)) < 500
    shares = Shares(2)
    first = [item(n, b"%d.so" % n, 300_000 + n) for n in range(40)]
    grown = [item(n, b"%d.so" % n, 400_000 + n) for n in range(40)]
    before, after = shares.divide(first), shares.divide(grown)
    assert [[i.name for i in share] for share in before] == [
        [i.name for i in share] for share in after
    ]
