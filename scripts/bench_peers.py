"""Crawls a loopback site with ours and with wget2, in turns: EVERCRAWL SERVE_SITE [options].

A run is one process from start to end; its processor time (user and system) and peak memory are
what the kernel says when it has ended, so starting, syncing and closing are in. Pages are those it
got and read. The server's processor time is shown beside: on few cores it competes with both.
"""

import argparse
import csv
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

CONNECTIONS = 64
LONGEST_RUN = 60  # seconds
MEMORY = "/dev/shm"  # a file system in memory

CONFIG = """\
seeds = {seeds}
data = "{data}"

[scope]
reach = "host"

[politeness]
interval = {{ rule = "fixed", seconds = 0.0 }}
at_once = {connections}
robots = false

[budget]
requests_per_second = 0.0
connections = {connections}

[fetch]
allow_networks = ["127.0.0.0/8"]
"""


class Server:
    def __init__(self, program, hosts, pages):
        arguments = ["--hosts", hosts, "--pages", pages, "--bytes", 20_000, "--links", 20]
        self.process = subprocess.Popen(
            [program, *map(str, arguments)], stdout=subprocess.PIPE, text=True
        )
        self.urls = [self.process.stdout.readline().strip() for _ in range(hosts)]
        if not all(self.urls):
            self.close()
            sys.exit("the server does not serve")

    def processor_seconds(self):
        with open(f"/proc/{self.process.pid}/stat") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self):
        self.process.kill()
        self.process.wait()


class DidNotEnd(Exception):
    """A run was ended by us."""


def measured(command, log):
    """Runs it to its end; seconds, processor seconds, MiB."""
    begun = time.monotonic()
    with open(log, "w") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
    limit = threading.Timer(LONGEST_RUN, process.kill)
    limit.start()
    try:
        _, status, usage = os.wait4(process.pid, 0)
    except BaseException:
        process.kill()
        raise
    finally:
        limit.cancel()
    seconds = time.monotonic() - begun
    code = process.returncode = os.waitstatus_to_exitcode(status)
    if code == -signal.SIGKILL and seconds >= LONGEST_RUN:
        raise DidNotEnd
    if code != 0:
        sys.exit(f"{command[0]} ended with {code}:\n{open(log).read()[-2000:]}")
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def ours(program):
    def run(urls, scratch):
        config, log = f"{scratch}/crawl.toml", f"{scratch}/log"
        text = CONFIG.format(seeds=json.dumps(urls), data=f"{scratch}/data", connections=CONNECTIONS)
        with open(config, "w") as out:
            out.write(text)
        result = measured([program, "crawl", "--once", "--json", "-c", config], log)
        last = open(log).read().splitlines()[-1]
        return json.loads(last)["pages_fetched"], *result

    return run


def wget2(files, to=None):
    """Writing files into `to` (the scratch directory by default), or to /dev/null."""

    def run(urls, scratch):
        with tempfile.TemporaryDirectory(dir=to or scratch) as directory:
            return crawl(urls, directory, f"{scratch}/log")

    def crawl(urls, directory, log):
        command = ["wget2", "--no-config", "--recursive", "--level=inf", "--no-verbose"]
        command += [f"--max-threads={CONNECTIONS}", "--no-robots", "--tries=1"]
        command += [f"--directory-prefix={directory}"] if files else ["-O", "/dev/null"]
        result = measured([*command, *urls], log)
        # to /dev/null it does not say how many; to files it got them all, with the same options
        written = sum(len(names) for _, _, names in os.walk(directory))
        return written if files else None, *result

    return run


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("evercrawl")
    parser.add_argument("serve_site")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--shapes", default="1x30000,50x600", help="hosts x pages of each")
    parser.add_argument("--csv", help="rows are added to it")
    options = parser.parse_args()
    # ended from outside, we end what we started
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))
    robots = {"evercrawl": ours(options.evercrawl)}
    if shutil.which("wget2"):
        robots["wget2 to files"] = wget2(files=True)
        if os.path.isdir(MEMORY):
            robots["wget2 to files in memory"] = wget2(files=True, to=MEMORY)
        robots["wget2 -O /dev/null"] = wget2(files=False)
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], capture_output=True, text=True
    ).stdout.strip()
    rows = []
    for shape in options.shapes.split(","):
        hosts, pages = map(int, shape.split("x"))
        server = Server(options.serve_site, hosts, pages)
        try:
            for number in range(options.rounds):
                for name, run in robots.items():
                    load, before = os.getloadavg()[0], server.processor_seconds()
                    try:
                        with tempfile.TemporaryDirectory() as scratch:
                            counted, seconds, processor, memory = run(server.urls, scratch)
                    except DidNotEnd:
                        print(f"{shape}, {name}: not over after {LONGEST_RUN} s", file=sys.stderr)
                        continue
                    got = counted if counted is not None else hosts * pages
                    served = server.processor_seconds() - before
                    row = {
                        "commit": commit,
                        "shape": shape,
                        "round": number + 1,
                        "robot": name,
                        "pages": got,
                        "seconds": round(seconds, 3),
                        "pages_per_second": round(got / seconds),
                        "cpu_ms_per_page": round(1000 * processor / max(got, 1), 4),
                        "server_cpu_ms_per_page": round(1000 * served / max(got, 1), 4),
                        "peak_mib": round(memory, 1),
                        "load": round(load, 1),
                    }
                    rows.append(row)
                    print(*row.values(), sep=",", file=sys.stderr)
        finally:
            server.close()
    if options.csv:
        new = not os.path.exists(options.csv)
        with open(options.csv, "a", newline="") as out:
            writer = csv.DictWriter(out, rows[0].keys(), lineterminator="\n")
            if new:
                writer.writeheader()
            writer.writerows(rows)
    report(rows, robots)


def report(rows, robots):
    """Medians over the rounds that ended, and of pages per second the ratio of medians."""
    columns = ["pages", "pages_per_second", "cpu_ms_per_page", "peak_mib", "load"]
    print("| hosts x pages | robot | pages | pages/s | CPU ms/page | peak MiB | load | ours / it |")
    print("|---|---|---|---|---|---|---|---|")
    for shape in dict.fromkeys(row["shape"] for row in rows):
        own = None
        for name in robots:
            mine = [r for r in rows if r["shape"] == shape and r["robot"] == name]
            if not mine:
                continue
            medians = [statistics.median(r[c] for r in mine) for c in columns]
            own = own or medians[1]
            cells = " | ".join(f"{median:g}" for median in medians)
            print(f"| {shape} | {name} | {cells} | {own / medians[1]:.2f} |")


main()
