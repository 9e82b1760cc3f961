"""Opens a bucket of 1.3 million images in 1,000 class folders, from a canned server that takes 20 ms for each page.

    python bench/s3_listing.py [FOLDERS] [IMAGES_PER_FOLDER]

The server runs in a process of its own and answers ListObjectsV2 with pages of a thousand keys; nothing else is asked of
it. What is measured is opening the source: listing, parsing and indexing.
"""

import asyncio
import multiprocessing
import os
import resource
import sys
import time
import urllib.parse

PAGE = 1000
DELAY = 0.02


def entry(folder: str, number: int) -> bytes:
    """Returns an object of a listing."""
    return (f"<Contents><Key>train/{folder}/{folder}_{number:08}.JPEG</Key>"
            "<LastModified>2026-01-01T00:00:00.000Z</LastModified>"
            f"<ETag>&quot;d41d8cd98f00b204e9800998{number:08x}&quot;</ETag><Size>{110_000 + number}</Size>"
            "<StorageClass>STANDARD</StorageClass></Contents>").encode()


def page(parameters: dict[str, str], folders: int, images: int, cached: dict[tuple[int, int], bytes]) -> bytes:
    """Returns the page of a listing that a request asks for."""
    prefix, token = parameters["prefix"], parameters.get("continuation-token", "0")
    most, begin = min(PAGE, int(parameters["max-keys"])), int(token)
    if prefix in ("train", "train/"):
        names = range(begin, min(begin + most, folders))
        if "delimiter" in parameters:
            body = b"".join(b"<CommonPrefixes><Prefix>train/n%08d/</Prefix></CommonPrefixes>" % i for i in names)
        else:
            body = entry("n00000000", 0)
        more = begin + most < folders and "delimiter" in parameters
    elif not prefix.startswith("train/n"):
        body, more = b"", False
    else:
        folder = prefix.split("/")[1]
        if (begin, most) not in cached:
            cached[begin, most] = b"".join(entry("n@@@@@@@@", i) for i in range(begin, min(begin + most, images)))
        body = cached[begin, most].replace(b"n@@@@@@@@", folder.encode())
        more = begin + most < images
    end = b"<IsTruncated>%s</IsTruncated>" % (b"true" if more else b"false")
    if more:
        end += b"<NextContinuationToken>%d</NextContinuationToken>" % (begin + most)
    return b"<ListBucketResult><EncodingType>url</EncodingType>" + body + end + b"</ListBucketResult>"


def serve(folders: int, images: int, port: multiprocessing.Queue) -> None:
    """Answers requests until the process is ended."""
    cached: dict = {}

    async def answer(reader, writer):
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                target = head.split(b" ", 2)[1].decode()
                parameters = dict(urllib.parse.parse_qsl(target.partition("?")[2], keep_blank_values=True))
                await asyncio.sleep(DELAY)
                status, body = b"404 Not Found", b"<Error><Code>NoSuchKey</Code></Error>"  # no metadata of Zarr
                if "list-type" in parameters:
                    status, body = b"200 OK", page(parameters, folders, images, cached)
                writer.write(b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n" % (status, len(body)) + body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def run():
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        port.put(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


def main() -> None:
    """Lists once and says how long it took."""
    folders, images = (int(text) for text in (sys.argv[1:] + ["1000", "1300"][len(sys.argv) - 1:])[:2])
    port = multiprocessing.Queue()
    server = multiprocessing.Process(target=serve, args=(folders, images, port), daemon=True)
    server.start()
    os.environ.update(AWS_ENDPOINT_URL_S3=f"http://127.0.0.1:{port.get()}", AWS_NO_SIGN_REQUEST="YES")
    import penstock as ps
    begin, cpu = time.perf_counter(), time.process_time()
    source = ps.open_source("s3://bucket/train")
    seconds = time.perf_counter() - begin
    pages = folders * -(-images // PAGE)
    used = time.process_time() - cpu
    print(f"{len(source):,} keys in {len(source.classes):,} folders: {seconds:.2f} s, {used:.2f} s of processor time, "
          f"{pages:,} pages ({pages * DELAY:.0f} s one after another), "
          f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MiB")
    assert len(source) == folders * images
    server.terminate()


if __name__ == "__main__":
    main()
