"""Options of buckets; what the store does with them, tests/cluster shows on a real server."""

import pickle

import pytest

import penstock as ps


@pytest.fixture
def nowhere(monkeypatch):
    """An endpoint at which nobody listens."""
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "id-of-the-test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret-of-the-test")


@pytest.mark.parametrize(("storage", "message"), [
    ({"anonymus": True}, "did you mean 'anonymous'"),
    ({"anonymous": "secret-of-the-test"}, "'anonymous' is str, not bool"),
    ({"endpoint": 1}, "'endpoint' is int, not str"),
    ({"credentials": "secret-of-the-test"}, "is a function"),
    ("secret-of-the-test", "wants a dict"),
])
def test_mistakes_are_told_without_values(storage, message):
    with pytest.raises(TypeError, match=message) as error:
        ps.open_source("s3://bucket/x", storage=storage)
    assert "secret-of-the-test" not in str(error.value)


@pytest.mark.parametrize("uri", ["s3://bucket/x", "gs://bucket/x.tar", "s3://bucket/x-{0..9}.tar"])
def test_a_server_that_does_not_answer_is_named_without_secrets(nowhere, uri):
    with pytest.raises(Exception) as error:
        ps.open_source(uri, storage={"endpoint": "http://127.0.0.1:1"})
    text = str(error.value)
    assert "://bucket/x" in text and "\n" not in text
    assert "of-the-test" not in text


@pytest.mark.parametrize("uri", ["s3://", "s3:///x", "s3://id:secret-of-the-test@bucket/x", "s3://b ucket/x"])
def test_odd_uris_are_refused(uri):
    with pytest.raises(Exception) as error:
        ps.open_source(uri)
    assert "secret-of-the-test" not in str(error.value)


def test_a_function_for_credentials_that_fails_is_told_by_the_type_of_its_error(nowhere):
    def credentials():
        raise LookupError("secret-of-the-test")

    with pytest.raises(Exception, match=r"credentials= failed \(LookupError\)") as error:
        ps.open_source("s3://bucket/x", storage={"credentials": credentials})
    assert "secret-of-the-test" not in str(error.value)


@pytest.mark.parametrize("given", [{}, {"access_key_id": "a"}, {"access_key_id": "a b", "secret_access_key": "c"}, 7,
                                   {"access_key_id": 7, "secret_access_key": "secret-of-the-test"}])
def test_credentials_that_are_none_are_refused(nowhere, given):
    with pytest.raises(Exception, match="credentials") as error:
        ps.open_source("s3://bucket/x", storage={"credentials": lambda: given})
    assert "secret-of-the-test" not in str(error.value)


def test_a_source_shows_no_options(tmp_path):
    (tmp_path / "a.csv").write_text("x\n1\n2\n")
    source = ps.Manifest(str(tmp_path / "a.csv"), storage={"region": "region-of-the-test"})
    assert "region-of-the-test" not in repr(source)
    assert len(pickle.loads(pickle.dumps(source))) == 2
