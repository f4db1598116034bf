# SPDX-License-Identifier: GPL-2.0-or-later
"""A profile store that answers as reported, and the program that pushes to it as the daemon does."""
import email
import http.server
import json
import os
import subprocess
import tempfile
import threading
import time

from tap import BUILD

TOOL = os.path.join(BUILD, "tests/tools/push_profiles")
TIMEOUT = 20  # seconds that anything may take on a busy machine


class Store:
    """A profile store that answers as reported: `answers` one by one, then 200."""

    def __init__(self, answers=(), context=None, port=0):
        self.answers = list(answers)
        self.requests = []
        store = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                store.requests.append((self.path, dict(self.headers), body, time.monotonic()))
                answer = store.answers.pop(0) if store.answers else {}
                time.sleep(answer.get("delay", 0))
                reply = answer.get("body", b"")
                self.send_response(answer.get("status", 200))
                for name, value in answer.get("headers", {}).items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(answer.get("length", len(reply))))
                self.end_headers()
                self.wfile.write(reply)

            def log_message(self, *words):
                pass

            do_GET = do_POST

        class Quiet(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request, address):
                pass

        self.server = Quiet(("127.0.0.1", port), Handler)
        self.port = self.server.server_address[1]
        if context:
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.url = f"http{'s' if context else ''}://localhost:{self.port}".replace("localhost", "127.0.0.1")
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Pusher:
    """The program that pushes, and its counts."""
    number = 0

    def __init__(self, url, *options, spool=None, wrap=()):
        Pusher.number += 1
        self.spool = spool or f"spool{Pusher.number}"
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen([*wrap, TOOL, url, self.spool, *options], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self.log, text=True)

    def offer(self, path, begin=1700000000, until=1700000060):
        self.process.stdin.write(f"offer {path} {begin} {until}\n")
        self.process.stdin.flush()

    def counts(self):
        self.process.stdin.write("counts\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def wait(self, holds):
        """Wait for a condition and return the counts; after the time limit, return the last ones."""
        deadline = time.monotonic() + TIMEOUT
        while True:
            counts = self.counts()
            if holds(counts) or time.monotonic() > deadline:
                return counts
            time.sleep(0.02)

    def end(self):
        """Stop it, and return its log."""
        self.process.stdin.close()
        status = self.process.wait(TIMEOUT)
        self.log.seek(0)
        text = self.log.read().decode()
        return text if status == 0 else f"exit status {status}\n{text}"


def form(headers, body):
    """The fields of a multipart/form-data body: {name: content}."""
    named = {name.lower(): value for name, value in headers.items()}
    message = email.message_from_bytes(b"Content-Type: " + named["content-type"].encode() + b"\r\n\r\n" + body)
    return {part.get_param("name", header="Content-Disposition"): part.get_payload(decode=True)
            for part in message.get_payload()} if message.is_multipart() else {}
