"""Serves a built site on this machine alone."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the interface of http.server
        """Say nothing about each request."""


@contextmanager
def serve(site: Path) -> Iterator[str]:
    """Serve a folder while the block runs.

    Args:
        site: The folder.

    Yields:
        The address of its pages, with a slash at the end.
    """
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(site))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()
