"""Wrong arguments of every public function: the message is ours, and says what to write instead."""

import inspect
import types

import numpy as np
import pytest

import penstock as ps
from pictures import save_png
from records import write_json_lines, write_number_shards, write_tfrecord, example

WRONG = [None, object(), [], [None], [[]], {}, {"x": object()}, {3: 4}, -1, 0, 3, -2.5, 0.5, float("nan"), float("inf"), 2**31, 2**64,
         10**30, -10**30, "", "nonsense", b"bytes", True, (1, 2, 3), (0.5, "x"), ["nonsense"], [-1], [float("nan")], [2**70],
         np.zeros((2, 2)), np.array(None), 1j, len, ps.Resize, ps.Resize(3), {"image": 3}, {"nonsense": "nonsense"}, range(0)]

# What only the binding, the C++ library or an accident of Python would say.
FORBIDDEN = ["incompatible function arguments", "nanobind", "std::", "_core", "bad_cast", "SourceHandle", "bad any",
             "not subscriptable", "has no attribute", "unhashable", "not iterable", "must be real number",
             "cannot be interpreted", "C long", "C int", "could not convert", "not supported between", "unsupported operand",
             "expected str, bytes", "takes exactly", "vector", "basic_string", "cannot convert"]

EXPECTED = (TypeError, ValueError, IndexError, MemoryError, ps.Error)


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    """Some wrong values are right ones for some arguments, such as names of folders to write to."""
    monkeypatch.chdir(tmp_path)


def complaint(call, *arguments, **keywords):
    """The message of a call that fails as it should; None where it did not fail."""
    try:
        made = call(*arguments, **keywords)
    except EXPECTED as error:
        message = str(error)
        if not message or any(word in message for word in FORBIDDEN):
            raise RuntimeError(f"says: {message.splitlines()[:1]}") from error
        return message
    if isinstance(made, (ps.Loader, ps.Cache)):
        made.close()
    return None


def sweep(call, base, skip=()):
    """Every argument of a call in turn takes every wrong value, beside right values for the others."""
    parameters = {name: parameter for name, parameter in inspect.signature(call).parameters.items()
                  if parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)}
    failed, wrong = 0, []
    for name in parameters:
        for value in WRONG if name not in skip else ():
            try:
                failed += complaint(call, **{**base, name: value}) is not None
            except Exception as error:
                wrong.append(f"{name}={value!r}: {type(error).__name__}: {error}")
    assert not wrong, f"{call.__name__}: " + "\n".join(wrong)
    assert complaint(call, *[object()] * (len(parameters) + 3))
    if any(parameter.default is parameter.empty for parameter in parameters.values()):
        assert complaint(call)
    return failed


@pytest.mark.parametrize("name", ["Resize", "CenterCrop", "RandomCrop", "RandomResizedCrop", "OneHot", "Normalize", "Cast", "Pad",
                                  "Decode", "RandomHorizontalFlip", "RandomVerticalFlip", "RandomFlip3D", "ColorJitter",
                                  "Map", "Derive", "RandomErasing", "RandomRot90"])
def test_transforms(name):
    bases = {"Normalize": {"mean": 0.5, "std": 0.5}, "Cast": {"dtype": "uint8"}, "Pad": {"padding": 1}, "Map": {"function": len},
             "Derive": {"source": "image", "steps": []}, "OneHot": {"classes": 3}}
    takes_size = "size" in inspect.signature(getattr(ps, name)).parameters
    failed = sweep(getattr(ps, name), bases.get(name, {"size": 3} if takes_size else {}))
    assert failed > 10 or name == "RandomRot90"


def test_sources_of_files(classes, numbers, tmp_path):
    write_number_shards(tmp_path / "shards", 1, 3)
    write_tfrecord(tmp_path / "a.tfrecord", [example(label=[i]) for i in range(5)])
    write_json_lines(tmp_path / "table.jsonl", [{"label": i} for i in range(3)])
    for call, path in ((ps.ImageFolder, classes), (ps.Npy, numbers), (ps.Tar, tmp_path / "shards"),
                       (ps.TFRecord, tmp_path / "a.tfrecord"), (ps.Manifest, tmp_path / "table.jsonl")):
        assert sweep(call, {"path": path}) > 20
    assert sweep(ps.open_source, {"source": numbers}) > 20
    assert sweep(ps.Mix, {"sources": [numbers, numbers]}) > 20
    assert sweep(ps.Files, {"files": [numbers, numbers]}) > 20
    assert sweep(ps.statistics, {"source": numbers}) > 60
    assert sweep(ps.pack, {"source": numbers, "destination": tmp_path / "packed"}, skip=("destination",)) > 60
    assert sweep(ps.finish_pack, {"destination": tmp_path / "nothing"}) > 20
    assert sweep(ps.stage, {"source": tmp_path / "shards", "folder": tmp_path / "staged"}, skip=("folder",)) > 40
    for value in WRONG:
        complaint(ps.Manifest, tmp_path / "table.jsonl", image=value)


def test_sources_of_arrays(tmp_path):
    zarr = pytest.importorskip("zarr")
    group = zarr.open_group(str(tmp_path / "store.zarr"), mode="w")
    group.create_array("t2m", shape=(9, 4, 5), chunks=(2, 4, 5), dtype="float32", dimension_names=["time", "y", "x"])
    np.save(tmp_path / "volume.npy", np.zeros((8, 8, 8), np.float32))
    assert sweep(ps.Zarr, {"uri": tmp_path / "store.zarr", "variables": ["t2m"], "sample_dim": "time"}) > 100
    assert sweep(ps.Patches, {"volumes": tmp_path / "volume.npy", "size": (4, 4, 4)}) > 100
    assert sweep(ps.Patches, {"volumes": tmp_path / "volume.npy", "size": (4, 4, 4), "per_epoch": 5}) > 100
    for value in WRONG:
        complaint(ps.Zarr, tmp_path / "store.zarr", "t2m", "time", select={"y": value})
        complaint(ps.Zarr, tmp_path / "store.zarr", "t2m", "time", window=(value, 1))


def test_loaders(classes):
    source = ps.ImageFolder(classes)
    assert sweep(ps.Loader, {"source": source, "output": "numpy", "threads": 1}) > 400
    for value in WRONG:
        complaint(ps.Loader, source, rank=value, world_size=2)
        complaint(ps.Loader, source, rank=0, world_size=value)
        complaint(ps.Loader, source, sampler=[value])
        complaint(ps.Loader, source, weights=[value] * 12)
        complaint(ps.Loader, source, bucket_by=[value] * 12)
        complaint(ps.Loader, source, transform={"image": value})
        complaint(ps.Loader, source, transform={"image": [value]})
        complaint(ps.Loader, source, transform={"image": [], "small": ps.Derive("image", [value])})


def test_methods(classes):
    source = ps.ImageFolder(classes)
    for call, base, least in ((source.subset, {"samples": [1]}, 10), (source.key, {"sample": 0}, 20),
                              (source.split, {"fraction": 0.5}, 40), (source.__getitem__, {"sample": 0}, 20)):
        assert sweep(call, base) > least
    assert sweep(source.filter, {"field": "label", "predicate": lambda label: label}, skip=("predicate",)) > 30
    for value in WRONG:
        if not callable(value):
            assert complaint(source.filter, "label", value)
        complaint(source.split, [value, 6])
        complaint(source.split, 0.5, stratify=[value] * 12)
        complaint(source.subset, [value])
    with ps.Loader(source, output="numpy") as loader:
        assert sweep(loader.set_epoch, {"epoch": 0}) > 20
        assert sweep(loader.load_state_dict, {"state": loader.state_dict()}) > 20
        for name, value in ((name, value) for name in loader.state_dict() for value in WRONG):
            complaint(loader.load_state_dict, {**loader.state_dict(), name: value})
        loader.set_epoch(0)
        assert len(list(loader)) == 12


def test_caches(tmp_path, flat):
    assert sweep(ps.Cache, {"ram": "1MiB", "disk": f"{tmp_path}/cache:1MiB"}) > 40


# -- what to write instead --------------------------------------------------------------------------------


@pytest.mark.parametrize("keyword, words", [
    ("num_workers", ["threads"]), ("persistent_workers", ["leave it out"]), ("worker_init_fn", ["leave it out", "seed="]),
    ("prefetch_factor", ["'prefetch'"]), ("collate_fn", ["'collate'"]), ("pin_memory", ["leave it out", ".to(device)"]),
    ("pin_memory_device", ["leave it out"]), ("generator", ["'seed'"]), ("timeout", ["leave it out"]),
    ("multiprocessing_context", ["leave it out"]), ("batch_sampler", ["'sampler'", "batch_size="]), ("in_order", ["leave it out"]),
    ("dataset", ["first argument"])])
def test_keywords_of_torch_say_what_to_write_instead(flat, keyword, words):
    with pytest.raises(TypeError) as caught:
        ps.Loader(**{"source": flat, keyword: 1} if keyword != "dataset" else {"source": flat, "dataset": flat})
    for word in words:
        assert word in str(caught.value), str(caught.value)


def test_every_keyword_of_torch_is_known_or_explained(flat):
    torch_data = pytest.importorskip("torch.utils.data")
    known = inspect.signature(ps.Loader).parameters
    for keyword in inspect.signature(torch_data.DataLoader).parameters:
        if keyword not in known:
            with pytest.raises(TypeError, match="leave it out|did you mean"):
                ps.Loader(flat, **{keyword: None})


def foreign(name, module="torchvision.transforms.transforms", **attributes):
    """An object as another library's transforms are."""
    cls = type(name, (), {"__call__": lambda self, image: image, "__module__": module})
    made = cls()
    vars(made).update(attributes)
    return made


@pytest.mark.parametrize("transform, words", [
    (foreign("Compose", transforms=[foreign("Resize", size=256, interpolation=foreign("Mode", value="bicubic")), foreign("ToTensor"),
                                    foreign("Normalize", mean=[0.5], std=[0.2]), foreign("RandomPosterize")]),
     ["Compose", "[ps.Resize(256, interpolation='bicubic'), ps.Normalize((0.5,), (0.2,)), ps.Map("]),
    ([foreign("RandomHorizontalFlip", p=0.25)], ["write ps.RandomHorizontalFlip(p=0.25)"]),
    ([foreign("ColorJitter", brightness=(0.6, 1.4), hue=None)], ["ps.ColorJitter(brightness=(0.6, 1.4))"]),
    ([foreign("Resize", size="?")], ["ps.Resize(...)"]),
    ([foreign("RandomErasing", p=1.0, scale=(0.02, 0.33), ratio=(0.3, 3.3), value=0)], ["write ps.RandomErasing(p=1.0)"]),
    ([foreign("RandomErasing", value="random")], ["ps.RandomErasing(...)"]),
    ([foreign("ToTensor")], ["ToTensor can be left out", "tensors already", "ps.Normalize"]),
    ([foreign("Grayscale")], ['ps.Decode("L")']),
    ([foreign("GaussianBlur")], ["GaussianBlur", "ps.Map("]),
    ([foreign("RandomApply", transforms=[foreign("GaussianBlur")])], ["RandomApply", "ps.Map("]),
    (lambda image: image, ["function", "penstock.Map("]),
    ([lambda image: image], ["function", "penstock.Map("]),
    (np.flip, ["penstock.Map("]),
    ([ps.Resize], ["ps.Resize(...)"]),
    ("Resize", ["Resize"]),
    (["resize"], ["did you mean 'Resize'"]),
    ([[ps.Resize(3)]], ["inside the list"]),
    ([ps.Derive("image", [])], ["Derive", '"image"']),
    (3, ["3", "list of transforms"]),
])
def test_steps_of_other_libraries_say_what_to_write_instead(flat, transform, words):
    for given in (transform, {"image": transform}):
        with pytest.raises(TypeError) as caught:
            ps.Loader(flat, transform=given)
        for word in words:
            assert word in str(caught.value), str(caught.value)


def test_real_torchvision_transforms_are_explained(flat):
    try:
        import torchvision.transforms as vision
    except Exception as error:  # also where it was built for another torch
        pytest.skip(f"no torchvision: {error}")
    with pytest.raises(TypeError, match=r"\[ps.Resize\(3\), ps.CenterCrop\(\(3, 3\)\), ps.Normalize\(0.5, 0.5\)\]"):
        ps.Loader(flat, transform=vision.Compose([vision.Resize(3), vision.CenterCrop(3), vision.ToTensor(),
                                                  vision.Normalize(0.5, 0.5)]))


def test_torch_modules_are_explained(flat):
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match="Sequential.*list"):
        ps.Loader(flat, transform=torch.nn.Sequential(torch.nn.Identity()))


def test_unknown_fields_name_the_nearest(classes):
    source = ps.ImageFolder(classes)
    for options in ({"fields": ["imgae"]}, {"fields": {"x": "imgae"}}, {"transform": {"imgae": []}},
                    {"transform": {"small": ps.Derive("imgae", [])}}, {"bucket_by": "imgae"}):
        with pytest.raises(ValueError, match="did you mean .image"):
            ps.Loader(source, **options)
    with pytest.raises(ValueError, match="did you mean .label"):
        source.filter("labl", bool)
    with pytest.raises(ValueError, match="did you mean .label"):
        source.split(0.5, stratify="labl")


def test_masks_that_are_missing_say_what_is_wanted(classes, flat, tmp_path):
    with pytest.raises(ps.Error, match="no mask for image") as caught:
        save_png(tmp_path / "masks" / "000.png", np.zeros((20, 24), np.uint8))
        ps.ImageFolder(flat, masks=tmp_path / "masks")
    assert "001.png" in str(caught.value) and "masks" in str(caught.value)
    with pytest.raises(ps.NotFoundError, match="mask"):
        ps.ImageFolder(flat, masks=tmp_path / "maks")
    with pytest.raises(ValueError, match="masks="):
        ps.Loader(classes, fields=["image", "mask"])
    with pytest.raises(ValueError, match="masks="):
        ps.Loader(classes, transform={"image": [], "mask": []})


def test_what_the_module_exports_is_tried_above():
    functions = {name for name in ps.__all__ if isinstance(getattr(ps, name), types.FunctionType)}
    assert functions == {"ImageFolder", "Tar", "TFRecord", "Manifest", "Npy", "Zarr", "Patches", "Mix", "open_source",
                         "Files", "statistics", "MDS", "pack", "finish_pack", "stage"}
