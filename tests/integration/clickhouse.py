# SPDX-License-Identifier: GPL-2.0-or-later
"""ClickHouse servers on loopback, for tests: each in a folder of its own, gone when the test is."""
import atexit
import os
import shutil
import socket
import subprocess
import time
import urllib.parse
import urllib.request

PROGRAM = shutil.which("clickhouse-server") or (os.path.exists("/usr/sbin/clickhouse-server") and "/usr/sbin/clickhouse-server")
PACKAGE = "clickhouse-server"


def free_ports(count):
    """Ports that were free a moment ago."""
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class Server:
    """A server.  `native` are the ports of all servers of the cluster `fleet`."""

    def __init__(self, folder, http, tcp, native=(), users="", config="", data=None):
        self.folder, self.http, self.process = folder, http, None
        os.makedirs(folder, exist_ok=True)
        shards = "".join("<shard><internal_replication>true</internal_replication><replica><host>127.0.0.1</host>"
                         f"<port>{port}</port></replica></shard>" for port in native)
        cluster = f"<remote_servers><fleet>{shards}</fleet></remote_servers>" if native else ""
        with open(f"{folder}/config.xml", "w", encoding="utf-8") as file:
            file.write(f"<yandex><logger><level>warning</level><log>{folder}/server.log</log>"
                       f"<errorlog>{folder}/error.log</errorlog></logger><http_port>{http}</http_port>"
                       f"<tcp_port>{tcp}</tcp_port><listen_host>127.0.0.1</listen_host><path>{data or folder + '/data'}/</path>"
                       f"<tmp_path>{folder}/tmp/</tmp_path><users_config>users.xml</users_config>"
                       "<default_profile>default</default_profile><default_database>default</default_database>"
                       f"<mark_cache_size>100000000</mark_cache_size>{cluster}{config}</yandex>")
        with open(f"{folder}/users.xml", "w", encoding="utf-8") as file:
            file.write("<yandex><profiles><default/><readonly><readonly>1</readonly></readonly></profiles><users>"
                       "<default><password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile>"
                       f"<quota>default</quota></default>{users}</users><quotas><default/></quotas></yandex>")
        atexit.register(self.kill)
        self.start()

    def start(self):
        """Start it, and wait until it answers."""
        with open(f"{self.folder}/output", "ab") as output:
            self.process = subprocess.Popen([PROGRAM, f"--config-file={self.folder}/config.xml"], cwd=self.folder,
                                            stdout=output, stderr=output, stdin=subprocess.DEVNULL)
        for _ in range(600):
            try:
                if self.ask("SELECT 1") == "1":
                    return
            except OSError:
                pass
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        with open(f"{self.folder}/output", encoding="utf-8", errors="replace") as output:
            raise RuntimeError(output.read()[-2000:])

    def kill(self):
        """As a machine that loses power."""
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def ask(self, sql):
        """What a query answers, as text."""
        url = f"http://127.0.0.1:{self.http}/?" + urllib.parse.urlencode({"query": sql, "insert_distributed_sync": 1})
        with urllib.request.urlopen(urllib.request.Request(url, data=b""), timeout=600) as answer:
            return answer.read().decode().strip()


def start(folder, count=1, **options):
    """So many servers, one cluster if they are several."""
    http, tcp = free_ports(count), free_ports(count)
    return [Server(f"{folder}/server{i}", http[i], tcp[i], tcp if count > 1 else (), **options) for i in range(count)]
