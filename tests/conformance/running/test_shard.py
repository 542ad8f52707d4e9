"""Parts of a divided run: together they are everything, and no two have anything in common."""

import pytest

from dshconform.running.shard import WHOLE, Shard, read_shard


@pytest.mark.parametrize("of", [1, 2, 3, 7])
def test_the_shards_are_everything(of: int) -> None:
    """Each place is taken by one."""
    shards = [Shard(number, of) for number in range(1, of + 1)]
    shares = [shard.share(3, 20) for shard in shards]
    assert sorted(index for share in shares for index in share) == list(range(3, 20))
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_a_shard_is_divided_again() -> None:
    """The second of three, divided by two, is the second and the fifth of six."""
    parts = [set(Shard(number, 6).share(0, 100)) for number in (2, 5)]
    assert parts[0] | parts[1] == set(Shard(2, 3).share(0, 100))


def test_a_shard_is_read_as_it_is_written() -> None:
    """`k/n`."""
    assert read_shard("2/4") == Shard(2, 4)
    assert str(Shard(2, 4)) == "2/4"
    assert read_shard("1/1") == WHOLE
    assert WHOLE.whole
    assert not Shard(1, 2).whole


@pytest.mark.parametrize("text", ["", "2", "0/4", "5/4", "2/0", "a/b", "1/2/3", "-1/2", "1 / 2"])
def test_what_is_no_shard_is_refused(text: str) -> None:
    """The error names it, and what is one."""
    with pytest.raises(ValueError, match=r"is no part of a run: write k/n, as `2/4`") as caught:
        read_shard(text)
    assert repr(text) in str(caught.value)
