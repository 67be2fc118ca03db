"""Routing tables with the real blocks of an AS table: what they save over lists of hosts.

usage: bench_tables.py ASN_IPV4_CSV EVERCRAWL FOLDER [HOSTS [ROBOTS]]

Hosts are generated, their addresses are real: blocks of the table are drawn at random and given
hosts by a power law, as hosting is. A block stands in one of as many cities as there are robots,
so round-trip times follow it; half of the links stay within the block's community. The partition
knows links and times, not blocks.
"""

import ipaddress
import json
import random
import subprocess
import sys
from pathlib import Path


def main():
    table, evercrawl, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    hosts = int(sys.argv[4]) if len(sys.argv) > 4 else 50_000
    robots = int(sys.argv[5]) if len(sys.argv) > 5 else 8
    rng = random.Random(1)
    folder.mkdir(parents=True, exist_ok=True)
    with open(table) as rows:
        ranges = [line.split(",", 2)[:2] for line in rows]
    blocks = rng.sample(ranges, hosts // 10)
    weights = [(rank + 3) ** -0.9 for rank in range(len(blocks))]
    of_host = sorted(rng.choices(range(len(blocks)), weights, k=hosts))
    city = [rng.randrange(robots) for _ in blocks]
    # popular blocks hold several hosts an address
    with open(folder / "pages.csv", "w") as pages, open(folder / "rtt.csv", "w") as rtt:
        print("host,pages,address", file=pages)
        print("robot,host,milliseconds", file=rtt)
        for host, block in enumerate(of_host):
            start, end = (int(ipaddress.ip_address(a)) for a in blocks[block])
            address = ipaddress.ip_address(rng.randint(start, min(end, start + 1023)))
            count = min(10_000, int(rng.paretovariate(1.1)))
            print(f"h{host}.example,{count},{address}", file=pages)
            for robot in range(robots):
                near = 8 if robot == city[block] else 35 + 7 * abs(robot - city[block])
                print(f"r{robot},h{host}.example,{near * rng.lognormvariate(0, 0.25):.2f}", file=rtt)
    with open(folder / "links.csv", "w") as links:
        print("source,target,links", file=links)
        for host in range(hosts):
            for _ in range(8):
                near = min(hosts - 1, max(0, host + rng.randint(-50, 50)))
                target = near if rng.random() < 0.5 else rng.randrange(hosts)
                if target != host:
                    print(f"h{host}.example,h{target}.example,{rng.randint(1, 9)}", file=links)
    with open(folder / "robots.toml", "w") as file:
        for robot in range(robots):
            print(f"[[robot]]\nname = 'r{robot}'", file=file)
    print("blocks,level,hosts,robots,largest_table,mean_table,times_smaller,mean_rtt_ms,cut_share")
    for name, prefixes in [("none", None), ("AS table", table)]:
        for level in ["hosts", "addresses"]:
            command = [evercrawl, "partition", "--json", "--level", level]
            for option in ["links", "pages", "rtt"]:
                command += [f"--{option}", str(folder / f"{option}.csv")]
            command += ["--robots", str(folder / "robots.toml")]
            command += ["--prefixes", prefixes] if prefixes else []
            found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
            sizes = found["tables"]
            print(
                name, level, hosts, robots, sizes["largest"], f"{sizes['mean']:.1f}",
                f"{sizes['times_smaller']:.2f}", f"{found['mean_rtt_ms']:.2f}",
                f"{found['cut_share']:.4f}", sep=",", flush=True,
            )


main()
