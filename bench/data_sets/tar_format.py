"""Members of a ustar archive as bytes; several times faster than tarfile, which matters for a million of them."""
BLOCK = 512
END = bytes(2 * BLOCK)

OWNER = b"0000644\0" + b"0000000\0" * 2                      # mode, user, group
TIME = b"00000000000\0"
KIND = b"0" + bytes(100) + b"ustar\0" + b"00"                # a plain file, no link
REST = KIND + bytes(BLOCK - 100 - len(OWNER) - 12 - len(TIME) - 8 - len(KIND))
FIXED_SUM = sum(OWNER) + sum(TIME) + 8 * ord(" ") + sum(REST)  # the checksum counts its own field as blanks


def member(name, content):
    """One plain file: header and content, filled up to whole blocks."""
    size = b"%011o\0" % len(content)
    checksum = b"%06o\0 " % (FIXED_SUM + sum(name) + sum(size))
    return b"".join((name.ljust(100, b"\0"), OWNER, size, TIME, checksum, REST, content,
                     bytes(-len(content) % BLOCK)))
