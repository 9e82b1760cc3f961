"""A web server of a folder, on a port of its own, that does wrong what a test tells it to."""

import contextlib
import http.server
import pathlib
import socket
import struct
import threading

STATUS_FAULTS = {"401": {}, "403": {}, "404": {}, "416": {}, "429": {"Retry-After": "1"}, "500": {},
                 "503": {"Retry-After": "0"}}


class FaultyServer(http.server.ThreadingHTTPServer):
    """Ranges, ETag and If-Match. `url` is that of the folder."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, folder):
        super().__init__(("127.0.0.1", 0), Handler)
        self.folder = pathlib.Path(folder)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.version = 1          # part of every ETag
        self.faults_served = 0
        self.requests = []        # (path, query, headers)
        self._lock = threading.Lock()
        self._fault, self._times, self._path = None, 0, ""
        self.closing = threading.Event()

    def fail(self, fault, times=1 << 30, path=""):
        """The next `times` requests that this fault can befall, of objects whose path contains `path`."""
        with self._lock:
            self._fault, self._times, self._path = fault, times, path
            self.faults_served = 0

    def fault_for(self, path, is_range, has_body):
        needs = {"200 for a range": is_range, "other range": is_range, "short body": has_body,
                 "stall in the body": has_body, "surplus body": has_body}
        with self._lock:
            if self._times == 0 or self._path not in path or not needs.get(self._fault, True):
                return None
            self._times -= 1
            self.faults_served += 1
            return self._fault

    def handle_error(self, request, client_address):
        pass  # clients go away, which is what some tests are about


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.answer()

    def do_GET(self):
        self.answer()

    def answer(self):
        path, _, query = self.path.lstrip("/").partition("?")
        self.server.requests.append((path, query, self.headers))
        file = self.server.folder / path
        content = file.read_bytes() if file.is_file() else None
        wanted = self.range_of(len(content or b""))
        has_body = self.command == "GET" and bool(content)
        fault = self.server.fault_for(path, wanted is not None, has_body)
        if fault == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
            return
        if fault == "stall":
            return self.stall()
        if fault in STATUS_FAULTS:
            return self.send(int(fault), b"", STATUS_FAULTS[fault])
        if fault == "redirect":  # to where clouds hand out credentials, along with a secret
            secret = self.headers.get("X-Api-Key")
            return self.send(302, b"", {"Location": f"http://user:{secret}@169.254.169.254/x?sig={secret}"})
        if content is None:
            return self.send(404, b"")
        tag = f'"{path}-{self.server.version}"'
        if self.headers.get("If-Match", tag) != tag:
            return self.send(412, b"")
        begin, end = wanted or (0, len(content))
        headers = {"ETag": tag}
        if wanted and fault != "200 for a range":
            if fault == "other range":
                begin, end = max(0, begin - 100), min(len(content), end + 100)
            headers["Content-Range"] = f"bytes {begin}-{end - 1}/{len(content)}"
            return self.send(206, content[begin:end], headers, fault)
        self.send(200, content, headers, fault)

    def range_of(self, size):
        unit, _, text = self.headers.get("Range", "").partition("=")
        if unit != "bytes" or size == 0:
            return None
        first, _, last = text.partition("-")
        if not first:
            return max(0, size - int(last)), size
        return int(first), min(int(last) + 1 if last else size, size)

    def send(self, status, body, headers={}, fault=None):
        self.send_response_only(status)
        for name, value in {"Content-Length": len(body), **headers}.items():
            self.send_header(name, str(value))
        self.end_headers()
        if self.command == "HEAD":
            return
        if fault in ("short body", "stall in the body"):
            self.wfile.write(body[:len(body) // 2])
            self.close_connection = True
        else:
            self.wfile.write(body)
        if fault == "surplus body":
            self.wfile.write(b"surplus" * 100)
            self.close_connection = True
        self.wfile.flush()
        if fault == "stall in the body":
            self.stall()

    def stall(self):
        """Until the client goes away, or the test is over."""
        self.connection.settimeout(0.1)
        while not self.server.closing.is_set():
            with contextlib.suppress(TimeoutError):
                if not self.connection.recv(1):
                    break
        self.close_connection = True


@contextlib.contextmanager
def running(server):
    """The server answers in a thread of its own until the block ends."""
    with server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            if isinstance(server, FaultyServer):
                server.closing.set()
            server.shutdown()
            thread.join()


def serve(folder, server=FaultyServer, **options):
    """Serves the folder until the block ends."""
    return running(server(folder, **options))
