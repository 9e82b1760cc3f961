"""Which samples come when: exactly once, the same for all threads and ranks, resumable."""

import collections

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import penstock as ps
from pictures import MEAN, STD


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """rows(n): a .npy of n samples, sample i being [i]."""
    folder, made = tmp_path_factory.mktemp("rows"), {}

    def make(count):
        if count not in made:
            np.save(folder / f"{count}.npy", np.arange(count, dtype=np.int64)[:, None])
            made[count] = ps.Npy(folder / f"{count}.npy")
        return made[count]

    return make


def make_loader(source, **options):
    return ps.Loader(source, **({"output": "numpy", "threads": 1, "memory": "64MiB"} | options))


def ids(batch):
    return batch[:, 0].tolist()


def epoch_ids(loader):
    return [i for batch in loader for i in ids(batch)]


# -- one rank ---------------------------------------------------------------------------------------


def test_without_shuffle_the_order_is_the_sources(rows):
    with make_loader(rows(23), batch_size=5) as loader:
        assert epoch_ids(loader) == list(range(23)) == epoch_ids(loader)


@pytest.mark.parametrize("shuffle", [True, "full", "window"])
def test_a_shuffle_is_a_permutation_that_changes_with_epoch_and_seed(rows, shuffle):
    with make_loader(rows(200), batch_size=7, shuffle=shuffle) as loader:
        first, second = epoch_ids(loader), epoch_ids(loader)
    with make_loader(rows(200), batch_size=7, shuffle=shuffle, seed=1) as loader:
        other = epoch_ids(loader)
    for order in (first, second, other):
        assert sorted(order) == list(range(200))
    assert first != second and first != other and first != list(range(200))


def test_the_same_seed_gives_the_same_order_for_any_batch_size(rows):
    orders = []
    for batch_size in (1, 3, 64):
        with make_loader(rows(100), batch_size=batch_size, shuffle=True, seed=3) as loader:
            orders.append(epoch_ids(loader))
    assert orders[0] == orders[1] == orders[2]


def test_a_full_shuffle_puts_any_sample_anywhere(rows):
    firsts = []
    for seed in range(100):
        with make_loader(rows(50), batch_size=50, shuffle=True, seed=seed) as loader:
            firsts.append(epoch_ids(loader)[0])
    assert len(set(firsts)) > 25


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_order_and_pixels_are_the_same_for_any_number_of_threads(photos, threads):
    transform = [ps.RandomResizedCrop(40), ps.RandomHorizontalFlip(), ps.ColorJitter(0.4, 0.4, 0.4, 0.1),
                 ps.Normalize(MEAN, STD)]

    def run(count):
        with ps.Loader(photos, batch_size=3, transform=transform, shuffle=True, seed=5, threads=count, output="numpy",
                       fields=["image", "key"]) as loader:
            return [(images.copy(), keys) for _ in range(2) for images, keys in loader]

    expected, got = run(3), run(threads)
    assert [keys for _, keys in expected] == [keys for _, keys in got]
    assert all(np.array_equal(a, b) for (a, _), (b, _) in zip(expected, got))


def test_random_pixels_change_from_epoch_to_epoch_and_with_the_seed(photos):
    def first(seed, epoch):
        with ps.Loader(photos, batch_size=8, transform=[ps.RandomResizedCrop(40)], seed=seed, output="numpy") as loader:
            loader.set_epoch(epoch)
            return next(iter(loader)).copy()

    assert np.array_equal(first(1, 0), first(1, 0))
    assert not np.array_equal(first(1, 0), first(1, 1)) and not np.array_equal(first(1, 0), first(2, 0))


def test_pixels_do_not_depend_on_ranks(photos):
    def samples(rank, world):
        with ps.Loader(photos, batch_size=2, transform=[ps.RandomResizedCrop(40)], shuffle=True, rank=rank,
                       world_size=world, fields=["key", "image"], output="numpy") as loader:
            return {key: image.tobytes() for keys, images in loader for key, image in zip(keys, images)}

    assert samples(0, 1) == samples(0, 2) | samples(1, 2)


def test_set_epoch_gives_that_epoch(rows):
    with make_loader(rows(30), batch_size=4, shuffle=True) as loader:
        epochs = [epoch_ids(loader) for _ in range(3)]
        loader.set_epoch(1)
        assert epoch_ids(loader) == epochs[1] and epoch_ids(loader) == epochs[2]
        loader.set_epoch(0)
        assert epoch_ids(loader) == epochs[0]


def test_breaking_off_and_beginning_again_is_the_next_epoch(rows):
    with make_loader(rows(30), batch_size=4, shuffle=True) as loader:
        epochs = [epoch_ids(loader) for _ in range(2)]
    with make_loader(rows(30), batch_size=4, shuffle=True) as loader:
        for batch in loader:
            assert ids(batch) == epochs[0][:4]
            break
        assert epoch_ids(loader) == epochs[1]
        assert [epoch["epoch"] for epoch in loader.stats()["epochs"]] == [0, 1]


def test_of_two_iterators_both_go_on(rows):
    with make_loader(rows(30), batch_size=4) as loader:
        older = iter(loader)
        next(older)
        newer = iter(loader)
        assert len(list(newer)) == 8
        assert len(list(older)) == 7


def test_an_ended_epoch_stays_ended(rows):
    with make_loader(rows(5), batch_size=4) as loader:
        epoch = iter(loader)
        assert len(list(epoch)) == 2 and list(epoch) == []
        assert next(epoch, None) is None


def test_epoch_size_walks_on_through_the_permutation(rows):
    with make_loader(rows(10), batch_size=4, shuffle=True, epoch_size=4) as loader:
        assert len(loader) == 1
        seen = [i for _ in range(5) for i in epoch_ids(loader)]
    assert sorted(seen[:10]) == list(range(10)) == sorted(seen[10:])


def test_epoch_size_may_exceed_the_data(rows):
    with make_loader(rows(10), batch_size=8, shuffle=True, epoch_size=25) as loader:
        seen = epoch_ids(loader)
    assert len(seen) == 25 and sorted(seen[:10]) == list(range(10)) == sorted(seen[10:20])


# -- ranks and resuming -----------------------------------------------------------------------------

SLOW_OK = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@SLOW_OK
@given(count=st.integers(1, 60), batch=st.integers(1, 9), ranks=st.integers(1, 5), drop_last=st.booleans(),
       seed=st.integers(0, 2**64 - 1), epoch=st.integers(0, 2**40), shuffle=st.sampled_from([False, True, "window"]))
def test_every_sample_comes_exactly_once_over_all_ranks(rows, count, batch, ranks, drop_last, seed, epoch, shuffle):
    seen, lengths, padded = collections.Counter(), set(), 0
    if drop_last and batch > count:
        return
    for rank in range(ranks):
        with make_loader(rows(count), batch_size=batch, rank=rank, world_size=ranks, drop_last=drop_last, seed=seed,
                         shuffle=shuffle) as loader:
            loader.set_epoch(epoch)
            batches = [ids(one) for one in loader]
            stats = loader.stats()
        lengths |= {len(batches), len(loader)}
        padded += stats["padded"]
        assert stats["planned"] == stats["delivered"] == sum(map(len, batches))
        assert all(0 < len(one) <= batch for one in batches)
        seen.update(i for one in batches for i in one)
    assert len(lengths) == 1
    whole = count // (batch * ranks) * batch * ranks
    if drop_last:
        assert sum(seen.values()) == whole and set(seen.values()) <= {1} and padded == 0
    else:
        assert set(seen) == set(range(count)) and sum(seen.values()) - padded == count
        assert padded == 0 or count - whole < ranks


@SLOW_OK
@given(count=st.integers(1, 60), batch=st.integers(1, 9), ranks=st.integers(1, 4), later_batch=st.integers(1, 9),
       later_ranks=st.integers(1, 4), seed=st.integers(0, 1000), epoch=st.integers(0, 5), stop=st.integers(0, 80),
       shuffle=st.sampled_from([False, True, "window"]), epoch_size=st.sampled_from([None, 7, 100]))
def test_resuming_on_other_ranks_delivers_exactly_the_rest(rows, count, batch, ranks, later_batch, later_ranks, seed,
                                                           epoch, stop, shuffle, epoch_size):
    options = {"seed": seed, "shuffle": shuffle, "epoch_size": epoch_size}
    with make_loader(rows(count), batch_size=64, **options) as loader:
        loader.set_epoch(epoch)
        expected = [epoch_ids(loader), epoch_ids(loader)]
    before, states = [], []
    for rank in range(ranks):
        with make_loader(rows(count), batch_size=batch, rank=rank, world_size=ranks, **options) as loader:
            loader.set_epoch(epoch)
            running = iter(loader)
            for _ in range(stop):
                one = next(running, None)
                if one is None:
                    break
                before += ids(one)
            states.append(loader.state_dict())
    assert all(state == states[0] for state in states)
    state = states[0]
    ended = state["epoch"] == epoch + 1
    rest, padded = [], 0
    for rank in range(later_ranks):
        with make_loader(rows(count), batch_size=later_batch, rank=rank, world_size=later_ranks, threads=2,
                         **options) as loader:
            loader.load_state_dict(state)
            rest += epoch_ids(loader)
            padded += loader.stats()["padded"]
    left = expected[1] if ended else expected[0][state["position"]:]
    assert set(rest) == set(left) and len(rest) - padded == len(left)
    if later_ranks == 1:
        assert rest == left
    if not ended:
        assert collections.Counter(before) == collections.Counter(expected[0][:state["position"]])


def test_a_state_is_a_few_plain_integers_that_json_keeps(rows):
    import json
    with make_loader(rows(20), batch_size=4, shuffle=True) as loader:
        running = iter(loader)
        next(running)
        state = json.loads(json.dumps(loader.state_dict()))
        rest = [i for batch in running for i in ids(batch)]
    with make_loader(rows(20), batch_size=4, shuffle=True) as loader:
        loader.load_state_dict(state)
        assert loader.state_dict() == state
        assert epoch_ids(loader) == rest
        assert len(epoch_ids(loader)) == 20


def test_a_resumed_epoch_has_the_same_pixels(photos):
    options = {"batch_size": 2, "transform": [ps.RandomResizedCrop(30)], "shuffle": True, "output": "numpy"}
    with ps.Loader(photos, **options) as loader:
        whole = [batch.copy() for batch in loader]
    with ps.Loader(photos, **options) as loader:
        next(iter(loader))
        state = loader.state_dict()
    with ps.Loader(photos, **options) as loader:
        loader.load_state_dict(state)
        assert all(np.array_equal(a, b) for a, b in zip(loader, whole[1:], strict=True))


def test_a_state_after_the_last_batch_leads_to_the_next_epoch(rows):
    with make_loader(rows(8), batch_size=4, shuffle=True) as loader:
        running = iter(loader)
        next(running), next(running)
        state = loader.state_dict()
        second = epoch_ids(loader)
    with make_loader(rows(8), batch_size=4, shuffle=True) as loader:
        loader.load_state_dict(state)
        assert epoch_ids(loader) == second


@pytest.mark.parametrize("change, word", [({"seed": 1}, "seed"), ({"shuffle": True}, "order"),
                                          ({"epoch_size": 5}, "order"), ({"sampler": [0, 1]}, "order")])
def test_a_state_of_another_run_is_refused(rows, change, word):
    with make_loader(rows(20)) as loader:
        state = loader.state_dict()
    with make_loader(rows(20), **change) as loader:
        with pytest.raises(ValueError, match=word):
            loader.load_state_dict(state)
    with make_loader(rows(21)) as loader:
        with pytest.raises(ValueError, match="other data"):
            loader.load_state_dict(state)


@pytest.mark.parametrize("state", [{}, {"version": 1}, {"version": "x"}, {"a": "b"}])
def test_a_state_that_is_none_is_refused(rows, state):
    with make_loader(rows(5)) as loader:
        with pytest.raises((ValueError, TypeError)):
            loader.load_state_dict(state)


def test_resuming_does_not_depend_on_where_the_data_lies(tmp_path):
    for place in ("here", "there"):
        (tmp_path / place).mkdir()
        for i in range(6):
            np.save(tmp_path / place / f"{i}.npy", np.array([i]))
    with make_loader(tmp_path / "here", shuffle=True) as loader:
        next(iter(loader))
        state = loader.state_dict()
    with make_loader(tmp_path / "there", shuffle=True) as loader:
        loader.load_state_dict(state)
        assert len(epoch_ids(loader)) == 5


# -- samplers and weights ---------------------------------------------------------------------------


def test_a_sampler_is_any_sequence_of_indices(rows):
    for sampler in ([3, 3, 1], (3, 3, 1), np.array([3, 3, 1])):
        with make_loader(rows(5), batch_size=2, sampler=sampler) as loader:
            assert epoch_ids(loader) == [3, 3, 1] and len(loader) == 2


def test_torch_samplers_work(rows):
    data = pytest.importorskip("torch.utils.data")
    torch = pytest.importorskip("torch")
    with make_loader(rows(20), batch_size=6, sampler=data.RandomSampler(range(20))) as loader:
        first, second = epoch_ids(loader), epoch_ids(loader)
    assert sorted(first) == sorted(second) == list(range(20)) and first != second
    with make_loader(rows(20), batch_size=6, sampler=data.SubsetRandomSampler([1, 5, 7])) as loader:
        assert sorted(epoch_ids(loader)) == [1, 5, 7]
    with make_loader(rows(20), sampler=data.SequentialSampler(range(20))) as loader:
        assert epoch_ids(loader) == list(range(20))
    weights = torch.tensor([0.0] * 19 + [1.0])
    with make_loader(rows(20), sampler=data.WeightedRandomSampler(weights, 7)) as loader:
        assert epoch_ids(loader) == [19] * 7


def test_the_first_epoch_of_a_torch_sampler_is_its_first_draw(rows):
    data = pytest.importorskip("torch.utils.data")
    torch = pytest.importorskip("torch")
    expected = list(data.RandomSampler(range(20), generator=torch.Generator().manual_seed(7)))
    sampler = data.RandomSampler(range(20), generator=torch.Generator().manual_seed(7))
    with make_loader(rows(20), batch_size=6, sampler=sampler) as loader:
        assert len(loader) == 4
        assert epoch_ids(loader) == expected


def test_a_distributed_sampler_divides_among_ranks_itself(rows):
    distributed = pytest.importorskip("torch.utils.data.distributed")
    seen = []
    for rank in range(2):
        sampler = distributed.DistributedSampler(range(20), num_replicas=2, rank=rank, shuffle=True)
        with make_loader(rows(20), batch_size=4, sampler=sampler, rank=rank, world_size=2) as loader:
            assert len(loader) == 3
            first, second = epoch_ids(loader), epoch_ids(loader)
            sampler.set_epoch(1)
            assert second == list(sampler) and first != second
            seen += first
    assert sorted(seen) == list(range(20))


def test_a_distributed_sampler_of_one_replica_works(rows):
    distributed = pytest.importorskip("torch.utils.data.distributed")
    sampler = distributed.DistributedSampler(range(9), num_replicas=1, rank=0)
    with make_loader(rows(9), sampler=sampler) as loader:
        assert sorted(epoch_ids(loader)) == list(range(9))


def test_a_shuffling_sampler_that_knows_its_epoch_can_be_resumed(rows):
    distributed = pytest.importorskip("torch.utils.data.distributed")

    def make():
        return make_loader(rows(20), batch_size=4,
                           sampler=distributed.DistributedSampler(range(20), num_replicas=1, rank=0))

    with make() as loader:
        list(loader)
        running = iter(loader)
        next(running)
        state = loader.state_dict()
        rest = [i for batch in running for i in ids(batch)]
    with make() as loader:
        loader.load_state_dict(state)
        assert epoch_ids(loader) == rest


def test_a_generator_as_sampler_is_refused_or_works_but_is_never_silently_empty(rows):
    try:
        with make_loader(rows(5), sampler=(i for i in range(5))) as loader:
            assert epoch_ids(loader) == list(range(5))
    except TypeError as error:
        assert "sampler" in str(error)


@pytest.mark.parametrize("sampler", [[5], [-1], [0, 99]])
def test_an_index_that_is_not_there_is_a_value_error(rows, sampler):
    with pytest.raises(ValueError, match="index"):
        make_loader(rows(5), sampler=sampler)


def test_weights_draw_with_replacement_in_proportion(rows):
    with make_loader(rows(4), batch_size=100, weights=[0, 1, 3, 0], epoch_size=4000) as loader:
        counts = collections.Counter(epoch_ids(loader))
        again = collections.Counter(epoch_ids(loader))
    assert set(counts) == {1, 2} and 2.5 < counts[2] / counts[1] < 3.6 and counts != again


@pytest.mark.parametrize("weights", [[1, 2], [0] * 4, [1, 1, 1, -1], [1, 1, 1, float("nan")]])
def test_weights_that_make_no_sense_are_value_errors(rows, weights):
    with pytest.raises(ValueError, match="weight"):
        make_loader(rows(4), weights=weights)


def test_sampler_and_weights_together_are_a_value_error(rows):
    with pytest.raises(ValueError, match="sampler or weights"):
        make_loader(rows(4), weights=[1] * 4, sampler=[0])


def test_more_ranks_than_samples_is_defined(rows):
    seen = []
    for rank in range(5):
        with make_loader(rows(2), rank=rank, world_size=5, batch_size=3) as loader:
            batches = [ids(batch) for batch in loader]
            assert len(batches) == 1 and len(batches[0]) == 1
            seen += batches[0]
    assert set(seen) == {0, 1}


class EpochSampler:
    """As torch's DistributedSampler: another list every epoch, chosen by set_epoch."""

    num_replicas = 2

    def __init__(self):
        self.epoch = 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __iter__(self):
        return iter(np.random.default_rng(self.epoch).permutation(12).tolist())

    def __len__(self):
        return 12


def test_a_state_of_the_end_of_an_epoch_resumes_with_a_sampler_that_draws_anew(numbers):
    with ps.Loader(numbers, batch_size=4, sampler=EpochSampler(), output="numpy") as loader:
        list(loader)
        state = loader.state_dict()
        expected = [batch.tolist() for batch in loader]
    with ps.Loader(numbers, batch_size=4, sampler=EpochSampler(), output="numpy") as other:
        other.load_state_dict(state)
        assert [batch.tolist() for batch in other] == expected


def test_a_sampler_that_draws_differently_on_every_rank_is_refused(numbers):
    class Drawing:
        def __iter__(self):
            return iter([0, 1, 2])

        def __len__(self):
            return 3

    with pytest.raises(ValueError, match="every rank"):
        ps.Loader(numbers, sampler=Drawing(), rank=0, world_size=2, output="numpy")


def test_set_epoch_in_the_middle_of_one_is_where_a_state_leads(numbers):
    with ps.Loader(numbers, batch_size=2, output="numpy") as loader:
        next(iter(loader))
        loader.set_epoch(7)
        assert (loader.state_dict()["epoch"], loader.state_dict()["position"]) == (7, 0)
