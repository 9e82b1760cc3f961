"""Map: functions that see several fields at once, their random numbers, and what they raise."""

import gc
import json
import subprocess
import sys
import textwrap
import traceback
import weakref

import numpy as np
import pytest

import penstock as ps
from pictures import noise, save_png
from records import npy_bytes, png_bytes, write_tar

SAMPLES, SIDE = 20, 32
FIELDS = ["png", "boxes.npy", "txt", "json", "cls"]


def picture(i):
    return noise((SIDE, SIDE, 3), seed=i)


def boxes_of(i):
    """From none to four boxes of (left, top, right, bottom)."""
    corners = np.sort(np.random.default_rng(i).integers(0, SIDE, (i % 5, 2, 2)), axis=1)
    return corners.reshape(-1, 4).astype(np.float32)


def text_of(i):
    return " ".join(["word"] * (1 + i % 4)) + f" {i}"


@pytest.fixture
def shard(tmp_path):
    files = []
    for i in range(SAMPLES):
        files += [(f"k{i:03}.png", png_bytes(picture(i))), (f"k{i:03}.boxes.npy", npy_bytes(boxes_of(i))),
                  (f"k{i:03}.txt", text_of(i).encode()), (f"k{i:03}.json", json.dumps({"i": i, "tags": ["a"] * (i % 3)}).encode()),
                  (f"k{i:03}.cls", str(i).encode())]
    return write_tar(tmp_path / "s.tar", files)


def load(source, transform, fields=FIELDS, epochs=1, **options):
    """Returns all samples of an epoch, as one list per field."""
    options = {"batch_size": 5, "collate": "list", "layout": "NHWC", "output": "numpy"} | options
    with ps.Loader(source, transform=transform, fields=list(fields), **options) as loader:
        for _ in range(epochs):
            batches = [batch for batch in loader]
        return {name: [np.array(value) if isinstance(value, np.ndarray) else value
                       for batch in batches for value in batch[place]]
                for place, name in enumerate(fields)}


def mirror(image, boxes):
    """Left and right, of the picture and of what is marked in it."""
    flipped = boxes.copy()
    flipped[:, [0, 2]] = image.shape[1] - boxes[:, [2, 0]]
    return image[:, ::-1], flipped


def assert_mirrored(samples):
    for i in range(SAMPLES):
        image, boxes = mirror(picture(i), boxes_of(i))
        assert np.array_equal(samples["png"][i], image) and np.array_equal(samples["boxes.npy"][i], boxes)


# -- what the function gets and gives ----------------------------------------------------------------


JOINT = ps.Map(mirror, fields=["png", "boxes.npy"])


@pytest.mark.parametrize("transform", [
    [JOINT], JOINT, {"png": [JOINT]}, {"boxes.npy": [JOINT]}, {"png": JOINT, "boxes.npy": [JOINT]},
    [ps.Map(lambda image, boxes: dict(zip(("png", "boxes.npy"), mirror(image, boxes))), fields=["png", "boxes.npy"])],
    [ps.Map(lambda boxes, image: mirror(image, boxes)[::-1], fields=("boxes.npy", "png"))],
], ids=["list", "bare", "first", "second", "both", "dict returned", "other order"])
def test_a_function_sees_several_fields_at_once(shard, transform):
    assert_mirrored(load(shard, transform))


def test_each_sample_keeps_its_other_fields(shard):
    samples = load(shard, [JOINT])
    assert [int(label) for label in samples["cls"]] == list(range(SAMPLES))
    assert samples["txt"] == [text_of(i) for i in range(SAMPLES)]


def test_steps_before_and_after_it_run_in_their_order(shard):
    seen = []

    def shift(image, boxes):
        seen.append((image.shape, image.dtype))
        return image, boxes - 4

    steps = [ps.CenterCrop(24), ps.Map(shift, fields=["png", "boxes.npy"]), ps.CenterCrop(16), ps.Normalize(0, 1, max_value=1)]
    samples = load(shard, steps)
    assert set(seen) == {((24, 24, 3), np.dtype("uint8"))}
    for i in range(SAMPLES):
        assert samples["png"][i].dtype == np.float32
        assert np.array_equal(samples["png"][i], picture(i)[8:24, 8:24].astype(np.float32))
        assert np.array_equal(samples["boxes.npy"][i], boxes_of(i) - 4)


def test_several_such_functions_run_one_after_another(shard):
    log = []

    def step(name):
        def run(image, boxes):
            log.append(name)
            return image, boxes + 1
        return ps.Map(run, fields=["png", "boxes.npy"])

    twice = step("c")
    samples = load(shard, {"png": [step("a"), ps.CenterCrop(16), step("b"), twice, twice]}, threads=1)
    assert log[:4] == ["a", "b", "c", "c"]
    assert all(np.array_equal(samples["boxes.npy"][i], boxes_of(i) + 4) for i in range(SAMPLES))


def test_texts_and_json_come_and_go_as_python_has_them(shard):
    def look(text, tree, key, label):
        assert isinstance(text, str) and isinstance(tree, dict) and isinstance(key, str)
        tree["text"] = text
        return text.upper() + "é", tree, key[::-1], label * 2

    samples = load(shard, [ps.Map(look, fields=["txt", "json", "key", "cls"])], ["txt", "json", "key", "cls"])
    assert samples["txt"] == [text_of(i).upper() + "é" for i in range(SAMPLES)]
    assert samples["json"] == [{"i": i, "tags": ["a"] * (i % 3), "text": text_of(i)} for i in range(SAMPLES)]
    assert samples["key"] == [f"k{i:03}"[::-1] for i in range(SAMPLES)]
    assert [int(label) for label in samples["cls"]] == [2 * i for i in range(SAMPLES)]


def test_a_text_may_become_numbers_and_numbers_a_text(shard):
    def tokens(text, label):
        return np.array([len(word) for word in text.split()], np.int64), f"class {int(label)}"

    samples = load(shard, [ps.Map(tokens, fields=["txt", "cls"])], ["txt", "cls"])
    assert [ids.tolist() for ids in samples["txt"]] == [[len(word) for word in text_of(i).split()] for i in range(SAMPLES)]
    assert samples["cls"] == [f"class {i}" for i in range(SAMPLES)]
    with ps.Loader(shard, 4, fields=["txt"], transform=[ps.Map(lambda text: [len(text)], fields=["txt"]), ],
                   output="numpy") as loader:
        assert next(iter(loader))[0].tolist() == [[len(text_of(i))] for i in range(4)]


def test_tokens_are_padded(shard):
    with ps.Loader(shard, SAMPLES, fields=["txt"], collate="pad", pad_value=-1, output="numpy",
                   transform=[ps.Map(lambda text: np.array([len(word) for word in text.split()]), fields=["txt"])]) as loader:
        tokens, lengths = next(iter(loader))
    for i in range(SAMPLES):
        words = [len(word) for word in text_of(i).split()]
        assert lengths[i] == len(words) and tokens[i].tolist() == words + [-1] * (tokens.shape[1] - len(words))


def test_boxes_are_padded(shard):
    with ps.Loader(shard, SAMPLES, fields=["png", "boxes.npy"], collate="pad", pad_value=7, output="numpy", layout="NHWC",
                   transform=[JOINT]) as loader:
        batch = dict(zip(loader._names, next(iter(loader))))
    for i in range(SAMPLES):
        image, boxes = mirror(picture(i), boxes_of(i))
        assert np.array_equal(batch["png"][i], image)
        assert batch["boxes.npy_lengths"][i].tolist() == list(boxes.shape)
        assert np.array_equal(batch["boxes.npy"][i, :len(boxes)], boxes)
        assert (batch["boxes.npy"][i, len(boxes):] == 7).all()


def test_a_field_that_is_not_delivered_can_be_looked_at(shard):
    def darken(image, tree):
        return {"png": image // (1 + tree["i"])}

    samples = load(shard, [ps.Map(darken, fields=["png", "json"])], ["png", "cls"])
    assert all(np.array_equal(samples["png"][i], picture(i) // (1 + i)) for i in range(SAMPLES))


def test_renamed_fields_and_views_go_by_their_new_names(shard):
    names = {"a": "png", "b": "png", "marks": "boxes.npy"}
    with ps.Loader(shard, 5, fields=names, collate="list", layout="NHWC", output="numpy",
                   transform=[ps.CenterCrop(16), ps.Map(lambda a, b: (a, 255 - b), fields=["a", "b"])]) as loader:
        batch = next(iter(loader))
    for i in range(5):
        cut = picture(i)[8:24, 8:24]
        assert np.array_equal(batch["a"][i], cut) and np.array_equal(batch["b"][i], 255 - cut)


def test_masks_take_part_and_still_follow_the_moves(tmp_path):
    for i in range(8):
        save_png(tmp_path / "images" / f"{i}.png", picture(i))
        save_png(tmp_path / "masks" / f"{i}.png", picture(i)[:, :, 0])
    source = ps.ImageFolder(tmp_path / "images", masks=tmp_path / "masks")
    steps = [ps.RandomCrop(20), ps.Map(lambda image, mask: (image, mask), fields=["image", "mask"]), ps.RandomHorizontalFlip()]
    samples = load(source, steps, ["image", "mask"], batch_size=4)
    plain = load(source, [ps.RandomCrop(20), ps.RandomHorizontalFlip()], ["image", "mask"], batch_size=4)
    for i in range(8):
        assert np.array_equal(samples["image"][i][..., 0], samples["mask"][i].squeeze())
        assert np.array_equal(samples["image"][i], plain["image"][i])


def test_a_derived_field_starts_from_what_the_function_returned(shard):
    steps = {"png": [JOINT], "small": ps.Derive("png", [ps.CenterCrop(8)])}
    samples = load(shard, steps, ["small", "boxes.npy"])
    assert all(np.array_equal(samples["small"][i], picture(i)[12:20, ::-1][:, 12:20]) for i in range(SAMPLES))


@pytest.mark.parametrize("form", ["encoded", "decoded"])
def test_the_cache_keeps_what_stands_before_it(shard, form):
    steps = [ps.Resize(24), ps.RandomCrop(20), JOINT]
    expected = load(shard, steps, epochs=3, shuffle=True)
    calls = []

    def counted(image, boxes):
        calls.append(1)
        return mirror(image, boxes)

    steps[-1] = ps.Map(counted, fields=["png", "boxes.npy"])
    got = load(shard, steps, epochs=3, shuffle=True, cache="16MiB", cache_form=form)
    assert len(calls) >= 3 * SAMPLES  # never cached itself
    assert all(np.array_equal(one, other) for name in ("png", "boxes.npy") for one, other in zip(got[name], expected[name]))


def test_what_the_function_got_is_its_own(shard):
    kept = []

    def keep(image, boxes):
        kept.append(image)
        image += 1
        return image.copy(), boxes

    load(shard, [ps.Map(keep, fields=["png", "boxes.npy"])], threads=1)
    assert sum(np.array_equal(kept[-1 - i], picture(SAMPLES - 1 - i) + 1) for i in range(SAMPLES)) == SAMPLES


# -- random numbers ---------------------------------------------------------------------------------


def drawn(shard, fn=None, fields=("cls",), **options):
    step = ps.Map(fn or (lambda label, rng: label * 0 + rng.integers(1 << 40)), generator=True)
    return np.array([int(value) for value in load(shard, {"cls": [step]}, fields, **options)["cls"]])


def test_a_generator_is_a_function_of_seed_epoch_and_position(shard):
    values = drawn(shard)
    assert len(set(values)) == SAMPLES
    assert np.array_equal(values, drawn(shard, threads=1)) and np.array_equal(values, drawn(shard, threads=4))
    assert not np.isin(values, drawn(shard, seed=1)).any() and not np.isin(values, drawn(shard, epochs=2)).any()
    parts = [drawn(shard, rank=rank, world_size=2) for rank in range(2)]
    assert sorted(np.concatenate(parts)) == sorted(values)


def test_a_generator_does_not_depend_on_which_sample_stands_there(shard):
    assert np.array_equal(drawn(shard), drawn(shard, shuffle=True))


def test_each_step_has_a_generator_of_its_own_and_fields_share_theirs(shard):
    draw = ps.Map(lambda value, rng: rng.integers(1 << 40, size=1), generator=True)
    again = ps.Map(lambda value, rng: np.append(value, rng.integers(1 << 40)), generator=True)
    samples = load(shard, {"cls": [draw, again], "boxes.npy": [draw]}, ["cls", "boxes.npy"])
    for one, other in zip(samples["cls"], samples["boxes.npy"]):
        assert one[0] == other[0] and one[0] != one[1]


def test_two_views_have_generators_of_their_own(shard):
    draw = ps.Map(lambda value, rng: rng.integers(1 << 40, size=1), generator=True)
    with ps.Loader(shard, 5, fields={"a": "cls", "b": "cls"}, transform={"a": [draw], "b": [draw]}, output="numpy") as loader:
        batch = next(iter(loader))
    assert not np.isin(batch["a"], batch["b"]).any()


def test_a_function_of_several_fields_gets_the_generator_last(shard):
    def cut(image, boxes, rng):
        assert isinstance(rng, np.random.Generator)
        left, top = rng.integers(0, 8, 2)
        return image[top:top + 24, left:left + 24], boxes - np.float32([left, top, left, top])

    steps = [ps.Map(cut, fields=["png", "boxes.npy"], generator=True)]
    samples = load(shard, steps, threads=1)
    again = load(shard, steps, threads=4)
    for i in range(SAMPLES):
        assert np.array_equal(samples["png"][i], again["png"][i])
        places = [(left, top) for left in range(8) for top in range(8)
                  if np.array_equal(samples["png"][i], picture(i)[top:top + 24, left:left + 24])]
        assert len(places) == 1
        left, top = places[0]
        assert np.array_equal(samples["boxes.npy"][i], boxes_of(i) - np.float32([left, top, left, top]))
    assert len({image.tobytes() for image in samples["png"]}) == SAMPLES


# -- what goes wrong --------------------------------------------------------------------------------


class Sour(Exception):
    pass


def goes_sour(image, boxes=None):
    inner = {"here": image.shape}
    raise Sour(f"no good: {inner['here']}")


@pytest.mark.parametrize("step", [ps.Map(goes_sour), ps.Map(goes_sour, fields=["png", "boxes.npy"])], ids=["one", "several"])
def test_the_users_exception_is_the_cause(shard, step):
    with pytest.raises(ps.Error, match="Map raised Sour: no good") as caught:
        load(shard, {"png": [step]})
    cause = caught.value.__cause__
    assert type(cause) is Sour and caught.value.code == "callback"
    frames = traceback.extract_tb(cause.__traceback__)
    assert frames[-1].name == "goes_sour" and "raise Sour" in frames[-1].line
    assert "goes_sour" in "".join(traceback.format_exception(caught.value))


def test_an_error_in_the_middle_of_an_epoch_has_its_cause_too(shard):
    def third(label, text):
        if label == 13:
            return {}["missing"]
        return label, text

    with ps.Loader(shard, 4, fields=["cls", "txt"], transform=[ps.Map(third, fields=["cls", "txt"])], output="numpy") as loader:
        with pytest.raises(ps.Error, match="KeyError") as caught:
            list(loader)
    assert isinstance(caught.value.__cause__, KeyError) and caught.value.sample == 13


def test_bad_samples_are_skipped_and_counted(shard):
    def even(label, text):
        if label % 10 == 3:
            raise Sour("odd one")
        return label, text

    options = {"fields": ["cls", "txt"], "transform": [ps.Map(even, fields=["cls", "txt"])], "output": "numpy"}
    with ps.Loader(shard, 4, on_error="skip", max_skip=0.5, **options) as loader:
        labels = np.concatenate([batch[0] for batch in loader])
        stats = loader.stats()
    assert labels.tolist() == [i for i in range(SAMPLES) if i % 10 != 3] and stats["skipped"] == 2
    assert "Sour: odd one" in stats["errors"][0]["message"]
    with ps.Loader(shard, 4, on_error="replace", max_skip=0.5, **options) as loader:
        assert sum(len(batch[0]) for batch in loader) == SAMPLES and loader.stats()["replaced"] == 2
    with ps.Loader(shard, 4, on_error="skip", **options) as loader:
        with pytest.raises(ps.Error, match="max_skip") as caught:
            list(loader)
    assert isinstance(caught.value.__cause__, Sour)


def test_exceptions_are_freed(shard):
    alive = []

    class Heavy(Exception):
        pass

    def heavy(label, text):
        if label % 5 == 4:
            error = Heavy()
            alive.append(weakref.ref(error))
            raise error
        return label, text

    with ps.Loader(shard, 4, fields=["cls", "txt"], transform=[ps.Map(heavy, fields=["cls", "txt"])], output="numpy",
                   on_error="skip", max_skip=1) as loader:
        list(loader)
        gc.collect()
        assert len(alive) >= 4 and [ref() for ref in alive] == [None] * len(alive)


def test_a_program_that_ends_with_errors_under_way_ends_well(shard):
    program = """
        import sys, penstock as ps
        def bad(label, text):
            if label > 5:
                raise ValueError("bad")
            return label, text
        loader = ps.Loader(sys.argv[1], 2, fields=["cls", "txt"], transform=[ps.Map(bad, fields=["cls", "txt"])], prefetch=6,
                           output="numpy", on_error=sys.argv[2], max_skip=1)
        kept = next(iter(loader))
        import time; time.sleep(0.3)
    """
    for policy in ("raise", "skip"):
        done = subprocess.run([sys.executable, "-c", textwrap.dedent(program), str(shard), policy], capture_output=True,
                              text=True, timeout=120)
        assert (done.returncode, done.stderr) == (0, "")


def test_control_c_in_the_function_is_control_c(shard):
    def interrupted(label, text):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load(shard, [ps.Map(interrupted, fields=["cls", "txt"])], ["cls", "txt"])


RETURNS = {
    "nothing": (lambda image, boxes: None, "returned NoneType; with 2 fields it returns a tuple"),
    "one of two": (lambda image, boxes: (image,), "returned 1 values for 2 fields"),
    "one array": (lambda image, boxes: image, "returned ndarray; with 2 fields"),
    "other names": (lambda image, boxes: {"image": image}, '"image", which is not among its fields'),
    "None inside": (lambda image, boxes: (image, None), 'returned NoneType for field "boxes.npy"'),
    "objects": (lambda image, boxes: (image, [object()]), 'for field "boxes.npy"'),
}


@pytest.mark.parametrize("case", RETURNS)
def test_what_cannot_be_used_is_said(shard, case):
    function, message = RETURNS[case]
    with pytest.raises(ps.Error, match=message):
        load(shard, [ps.Map(function, fields=["png", "boxes.npy"])])


def test_a_sample_that_comes_out_as_something_else_is_said(shard):
    with pytest.raises(ps.Error, match='Map returned text for field "cls", where the batch has'):
        load(shard, [ps.Map(lambda label: label if label < 7 else "seven", fields=["cls"])], ["cls"])


def same(*values):
    return values


@pytest.mark.parametrize("steps, message", [
    ([ps.Map(same, fields=["png", "boxs.npy"])], 'no field "boxs.npy", did you mean "boxes.npy"'),
    ({"cls": [ps.Map(same, fields=["png", "boxes.npy"])]}, 'among the steps of "cls", which it does not name'),
    ({"txt": [ps.Resize(3)]}, 'only Map\\(function, fields=\\["txt"\\]\\)'),
], ids=["unknown", "elsewhere", "text"])
def test_fields_that_make_no_sense_are_said(shard, steps, message):
    with pytest.raises(ps.UsageError, match=message):
        load(shard, steps)


def test_functions_that_wait_for_each_other_are_refused(shard):
    one, other = ps.Map(same, fields=["png", "boxes.npy"]), ps.Map(same, fields=["png", "boxes.npy"])
    with pytest.raises(ps.UsageError, match="can never run: its fields have their Maps in different order"):
        load(shard, {"png": [one, other], "boxes.npy": [other, one]})
    with pytest.raises(ps.UsageError, match="derives from another"):
        both = ps.Map(same, fields=["png", "small"])
        load(shard, {"png": [both], "small": ps.Derive("png", [both])}, ["png", "small"])


def test_arguments_that_make_no_sense_are_said():
    with pytest.raises(ValueError, match="each name once"):
        ps.Map(same, fields=["png", "png"])
    with pytest.raises(TypeError, match="wants a list, \\['png'\\]"):
        ps.Map(same, fields="png")
    with pytest.raises(ValueError, match="fields is empty"):
        ps.Map(same, fields=[])
    with pytest.raises(TypeError, match="the name of a field"):
        ps.Map(same, fields=[1])
    assert ps.Map(same, fields=["a", "b"]).fields == ("a", "b") and ps.Map(same).fields is None
