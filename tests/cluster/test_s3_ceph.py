"""The S3 store against a real Ceph gateway, compared with boto3.

The gateway is started once and needs root and Debian's packages of Ceph; otherwise everything here is skipped.
"""

import hashlib
import io
import os
import pathlib
import random
import socket
import subprocess
import tarfile

import numpy as np
import pytest

import penstock as ps
from pictures import save_jpeg, smooth
from programs import built_test

boto3 = pytest.importorskip("boto3")
from botocore.config import Config  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
BUCKET = "penstock"
ODD = ("plain", "a b+c", "100%41", "what?x=1#y", "ä€😀", "a&b=c;d,e:f@g!h$i'j(k)l*m", 'quote"s', "tilde~_-.",
       "back\\slash", "<xml>&amp;", "deep/er/x", "..hidden", "[x]{y}")


def free_port() -> int:
    """Two ports in a row."""
    while True:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            port = first.getsockname()[1]
            try:
                second.bind(("127.0.0.1", port + 1))
            except OSError:
                continue
            return port


@pytest.fixture(scope="session")
def endpoint(tmp_path_factory):
    folder, port = tmp_path_factory.mktemp("ceph"), free_port()
    script = str(HERE / "ceph-up")
    try:
        started = subprocess.run([script, str(folder), str(port)], capture_output=True, text=True)
        if started.returncode == 77:
            pytest.skip(started.stdout.strip())
        assert started.returncode == 0, started.stdout + started.stderr
        yield f"http://127.0.0.1:{port}"
    finally:
        subprocess.run([script, str(folder), "stop"], capture_output=True)


@pytest.fixture(scope="session")
def bucket(endpoint):
    s3 = boto3.resource("s3", endpoint_url=endpoint, aws_access_key_id="testkey", aws_secret_access_key="testsecret",
                        region_name="us-east-1", config=Config(request_checksum_calculation="when_required",
                                                              response_checksum_validation="when_required"))
    made = s3.Bucket(BUCKET)
    made.create()
    return made


@pytest.fixture(autouse=True)
def access(endpoint, monkeypatch):
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testkey")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testsecret")
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)


def plain(value) -> object:
    """Returns what a batch holds as something that == compares."""
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return np.asarray(value).tobytes() if hasattr(value, "shape") else value


def delivered(source, transform=None) -> list:
    """Returns everything that two epochs deliver."""
    loader = ps.Loader(source, batch_size=4, transform=transform, shuffle=True, seed=3)
    return [plain(batch) for _ in range(2) for batch in loader]


def upload(bucket, folder: pathlib.Path, prefix: str) -> None:
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            bucket.put_object(Key=f"{prefix}/{file.relative_to(folder)}", Body=file.read_bytes())


def test_the_store_does_what_every_store_must(endpoint, bucket):
    """The conformance suite writes, lists and reads on the gateway."""
    done = subprocess.run([built_test("conformance"), "--gtest_filter=*AnyStore*/S3Gateway", "--gtest_brief=1"],
                          env={**os.environ, "PENSTOCK_TEST_S3": f"{endpoint}/{BUCKET}"}, capture_output=True, text=True,
                          timeout=120)
    assert done.returncode == 0, done.stdout[-3000:]
    assert "not in this build" not in done.stdout


def test_large_objects_arrive_in_parts_as_they_were_written(endpoint, bucket):
    """boto3 reads what the store wrote in parts, and nothing is left of an upload that was abandoned."""
    done = subprocess.run([built_test("conformance"), "--gtest_filter=S3Gateway.*", "--gtest_brief=1"],
                          env={**os.environ, "PENSTOCK_TEST_S3": f"{endpoint}/{BUCKET}"}, capture_output=True, text=True,
                          timeout=120)
    assert done.returncode == 0, done.stdout[-3000:]
    body = bucket.Object("parts/large.bin").get()["Body"].read()
    expected = np.arange(40_000_001, dtype=np.uint64)
    expected = (expected * 7 + expected // 251).astype(np.uint8).tobytes()
    assert hashlib.sha256(body).digest() == hashlib.sha256(expected).digest()
    assert bucket.Object("parts/large.bin").e_tag.strip('"').endswith("-5")
    assert not list(bucket.meta.client.list_multipart_uploads(Bucket=BUCKET).get("Uploads", []))
    for key in ODD:
        assert bucket.Object(f"parts/odd/{key}").get()["Body"].read() == key.encode()


def test_a_folder_is_the_same_data_set_on_disk_and_in_a_bucket(tmp_path, bucket):
    for i, name in enumerate(("zebra", "ant", "horse", "a b+c", "ä€")):
        for j in range(3):
            save_jpeg(tmp_path / "set" / name / f"{j} #{i}?.jpg", smooth(40, 50, seed=i * 10 + j))
    upload(bucket, tmp_path / "set", "folder")
    bucket.put_object(Key="folder/", Body=b"")
    bucket.put_object(Key="folder/ant/", Body=b"")
    here, there = ps.open_source(str(tmp_path / "set")), ps.open_source(f"s3://{BUCKET}/folder")
    assert here.classes == there.classes and len(here) == len(there) == 15
    transform = [ps.Resize((16, 16))]
    assert delivered(here, transform) == delivered(there, transform)


def test_kinds_of_data_open_from_a_bucket(tmp_path, bucket):
    generator = random.Random(1)
    for shard in range(3):
        with tarfile.open(tmp_path / f"shard-{shard}.tar", "w") as tar:
            for i in range(5):
                data = generator.randbytes(2000)
                member = tarfile.TarInfo(f"{shard}{i}.bin")
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))
    np.save(tmp_path / "array.npy", np.arange(60, dtype=np.float32).reshape(12, 5))
    zarr = pytest.importorskip("zarr")
    store = zarr.open_group(str(tmp_path / "store.zarr"), mode="w", zarr_format=3)
    store.create_array("x", shape=(20, 8), chunks=(5, 8), dtype="f4")[:] = np.arange(160).reshape(20, 8)
    upload(bucket, tmp_path, "kinds")
    for name in ("shard-*.tar", "shard-{0..2}.tar", "array.npy", "store.zarr"):
        open_one = ps.Zarr if name.endswith("zarr") else ps.open_source
        here, there = open_one(str(tmp_path / name)), open_one(f"s3://{BUCKET}/kinds/{name}")
        assert len(here) == len(there) > 0, name
        assert delivered(here) == delivered(there), name


@pytest.mark.parametrize(("variable", "value"),
                         [("AWS_SECRET_ACCESS_KEY", "wrongsecret"), ("AWS_ACCESS_KEY_ID", "wrongid")])
def test_wrong_credentials_are_one_line_without_a_secret(bucket, monkeypatch, variable, value):
    bucket.put_object(Key="one/a.npy", Body=b"x")
    monkeypatch.setenv(variable, value)
    with pytest.raises(Exception) as error:
        ps.open_source(f"s3://{BUCKET}/one")
    text = str(error.value)
    assert "\n" not in text and f"s3://{BUCKET}/one" in text
    for secret in ("wrongsecret", "wrongid", "testsecret", "Signature="):
        assert secret not in text


def test_options_of_the_user_replace_the_environment(tmp_path, bucket, endpoint, monkeypatch):
    save_jpeg(tmp_path / "1.jpg", smooth(40, 50, seed=1))
    upload(bucket, tmp_path, "options")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL_S3"):
        monkeypatch.delenv(name)
    asked = []

    def credentials():
        asked.append(1)
        return {"access_key_id": "testkey", "secret_access_key": "testsecret"}

    storage = {"endpoint": endpoint, "region": "us-east-1", "credentials": credentials}
    source = ps.open_source(f"s3://{BUCKET}/options", storage=storage)
    assert len(delivered(source)) == 2
    assert len(asked) == 1
    assert "testsecret" not in repr(source) and "testkey" not in repr(source)

    def failing():
        raise RuntimeError("testsecret")

    with pytest.raises(Exception, match=r"credentials= failed \(RuntimeError\)") as error:
        ps.open_source(f"s3://{BUCKET}/options", storage={**storage, "credentials": failing})
    assert "testsecret" not in str(error.value)
    with pytest.raises(Exception, match="access refused"):
        ps.open_source(f"s3://{BUCKET}/options", storage={"endpoint": endpoint, "anonymous": True})
    with pytest.raises(TypeError, match="did you mean 'anonymous'"):
        ps.open_source(f"s3://{BUCKET}/options", storage={"anonymus": True})


def test_a_missing_bucket_says_so(endpoint):
    with pytest.raises(Exception, match="no such bucket"):
        ps.open_source("s3://nobody-has-this/x")


def test_without_credentials_the_message_says_where_they_are_looked_for(monkeypatch, bucket):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with pytest.raises(Exception, match="no credentials were found"):
        ps.open_source(f"s3://{BUCKET}/folder")
