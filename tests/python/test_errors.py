"""Bad samples are raised, skipped or replaced, and counted."""

import numpy as np
import pytest

import penstock as ps
from bad_samples import assert_accounts, drain
from pictures import noise, save_jpeg, save_png, smooth


def spoil(folder, which):
    for i in which:
        (folder / f"{i:03}.png").write_bytes(b"bad")


def test_more_bad_samples_than_max_skip_stop_the_run_and_say_so(flat):
    spoil(flat, [2, 5])
    with ps.Loader(flat, batch_size=4, output="numpy", on_error="skip") as loader:
        with pytest.raises(ps.Error, match="max_skip") as caught:
            drain(loader)
        stats = loader.stats()
    assert caught.value.code == "too_many_skipped" and caught.value.uri.endswith("005.png")
    assert_accounts(stats)
    with ps.Loader(flat, batch_size=4, output="numpy", on_error="skip", max_skip=0.5) as loader:
        assert drain(loader) == 10
    with ps.Loader(flat, batch_size=4, output="numpy", on_error="replace") as loader, pytest.raises(ps.Error):
        drain(loader)


def test_a_batch_of_nothing_but_bad_samples_is_left_out(flat):
    spoil(flat, [4, 5, 6, 7])
    with ps.Loader(flat, batch_size=4, output="numpy", on_error="skip", max_skip=1) as loader:
        assert [len(batch) for batch in loader] == [4, 4]


def test_with_several_ranks_a_batch_of_bad_samples_is_empty_so_that_ranks_keep_step(flat):
    spoil(flat, [4, 5])
    lengths = []
    for rank in range(2):
        with ps.Loader(flat, batch_size=2, output="numpy", on_error="skip", max_skip=1, rank=rank,
                       world_size=2) as loader:
            lengths.append([len(batch) for batch in loader])
    assert lengths == [[2, 0, 2], [2, 2, 2]]


def test_skipped_text_fields_stay_in_step_with_their_images(flat):
    spoil(flat, [5])
    with ps.Loader(flat, batch_size=12, output="numpy", on_error="skip", fields=["key", "image"]) as loader:
        keys, images = next(iter(loader))
    assert [int(key[:3]) for key in keys] == images[:, 0, 0, 0].tolist() == [i for i in range(12) if i != 5]


def test_stand_ins_are_chosen_by_the_seed_alone(flat):
    spoil(flat, [2, 5])

    def run(threads, seed=0):
        with ps.Loader(flat, batch_size=5, output="numpy", on_error="replace", max_skip=1, threads=threads,
                       seed=seed, fields=["key", "image"]) as loader:
            return [(keys, images[:, 0, 0, 0].tolist()) for keys, images in loader]

    assert run(1) == run(2) == run(4)
    for keys, values in run(1):
        assert [int(key[:3]) for key in keys] == values
    assert any(run(1, seed) != run(1) for seed in range(1, 6))


def test_nothing_but_bad_files_is_an_error_even_where_bad_ones_are_skipped(flat):
    spoil(flat, range(12))
    for policy in ("raise", "skip", "replace"):
        with pytest.raises(ps.Error):
            with ps.Loader(flat, batch_size=4, output="numpy", on_error=policy, max_skip=1) as loader:
                assert drain(loader) == 0
                raise ps.Error("skipped all, as allowed")


def test_after_an_error_the_next_epoch_can_be_tried(flat):
    good = (flat / "005.png").read_bytes()
    (flat / "005.png").write_bytes(b"\0" * len(good))
    with ps.Loader(ps.ImageFolder(flat), batch_size=4, output="numpy") as loader:
        epoch = iter(loader)
        next(epoch)
        for _ in range(2):
            with pytest.raises(ps.Error):
                next(epoch)
        with pytest.raises(ps.Error):
            drain(loader)
        assert loader.stats()["failed"] == 8
        assert_accounts(loader.stats())


def test_errors_list_the_first_hundred(tmp_path):
    for i in range(130):
        (tmp_path / f"{i:03}.png").write_bytes(b"bad")
    save_png(tmp_path / "good.png", noise((4, 4, 3)))
    with ps.Loader(tmp_path, batch_size=10, transform=[ps.Resize((4, 4))], on_error="skip", max_skip=1,
                   output="numpy") as loader:
        assert drain(loader) == 1
        stats = loader.stats()
    assert stats["skipped"] == 130 and len(stats["errors"]) == 100
    assert set(stats["errors"][0]) >= {"uri", "offset", "length", "sample", "message"}


def test_a_budget_too_small_for_one_batch_says_how_much_is_needed(photos):
    with pytest.raises(MemoryError, match="give memory= at least") as caught:
        ps.Loader(photos, batch_size=64, transform=[ps.Resize((512, 512))], memory="4MiB", output="numpy")
    assert isinstance(caught.value, ps.MemoryBudgetError) and caught.value.code == "no_memory"
    needed = int(str(caught.value).split("at least ")[1].split()[0])
    with ps.Loader(photos, batch_size=64, transform=[ps.Resize((512, 512))], memory=f"{needed}MiB",
                   output="numpy") as loader:
        assert drain(loader) == 8


def test_an_image_too_large_for_the_budget_is_an_error_of_that_sample(tmp_path):
    save_jpeg(tmp_path / "a.jpg", smooth(32, 32))
    save_png(tmp_path / "b.png", np.zeros((3000, 3000, 3), np.uint8))
    with ps.Loader(tmp_path, batch_size=2, transform=[ps.Resize((32, 32))], memory="6MiB", threads=1,
                   output="numpy") as loader, pytest.raises(MemoryError) as caught:
        drain(loader)
    assert caught.value.sample == 1 and caught.value.uri.endswith("b.png")
