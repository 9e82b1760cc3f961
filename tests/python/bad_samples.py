"""What tests of bad samples share."""



def drain(loader):
    return sum(len(batch) for batch in loader)


def assert_accounts(stats):
    assert stats["planned"] == stats["delivered"] + stats["skipped"] + stats["failed"]
    for epoch in stats["epochs"]:
        assert epoch["planned"] == epoch["delivered"] + epoch["skipped"] + epoch["failed"]
