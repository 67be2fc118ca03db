#!/usr/bin/env python3
"""A small Internet on one machine: network namespaces joined by links with a delay.

    mini_internet.py LINK...        LINK is NODE-NODE:MILLISECONDS, one way

Every node is a namespace of its own with the addresses 10.77.0.N and fd77::N, N counting from 1 in
the order in which nodes are first named; packets take the fastest way. A link is a pair of TUN
devices; this program carries packets between them after the delay, so no kernel support for delays
is needed. Nothing is connected to the machine's own network.

Prints one line `NODE PID ADDRESS4 ADDRESS6` for each node (a process inside the namespace, for
nsenter) and `ready`; ends, and everything with it, when its standard input is closed. The
namespaces have no names: they are gone as soon as their processes are. Needs root, /dev/net/tun,
`ip` and `nsenter`; exits with 3 and a message when the system does not allow it.
"""
import ctypes
import fcntl
import heapq
import os
import selectors
import struct
import subprocess
import sys
import time

CLONE_NEWNET = 0x40000000
PR_SET_PDEATHSIG = 1
SIGKILL = 9
TUNSETIFF = 0x400454CA
IFF_TUN, IFF_NO_PI = 0x0001, 0x1000
LIBC = ctypes.CDLL(None, use_errno=True)


def not_allowed(reason):
    print(f"not allowed: {reason}", file=sys.stderr)
    sys.exit(3)


def check(result, what):
    if result != 0:
        not_allowed(f"{what}: {os.strerror(ctypes.get_errno())}")


def hold_only(*files):
    """In a forked process: another thread's pipes were copied too, and their readers would wait for this process."""
    for file in map(int, os.listdir("/proc/self/fd")):
        if file > 2 and file not in files:
            try:
                os.close(file)
            except OSError:
                pass  # the one that listed them


def start_node():
    """A process in a new namespace that lives as long as this one."""
    told, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        LIBC.prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)
        hold_only(tell)
        good = LIBC.unshare(CLONE_NEWNET) == 0
        os.write(tell, b"y" if good else b"n")
        while good:
            time.sleep(3600)
        os._exit(0)
    os.close(tell)
    if os.read(told, 1) != b"y":
        not_allowed("a network namespace cannot be made")
    os.close(told)
    return pid


def inside(pid, *command):
    command = ["nsenter", "-t", str(pid), "-n", *command]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        not_allowed("there is no nsenter")
    if done.returncode != 0:
        not_allowed(f"{' '.join(command)}: {done.stderr.strip()}")


def open_tun(pid, name):
    """A TUN device inside the namespace of a process, and our end of it."""
    namespace = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
    check(LIBC.setns(namespace, CLONE_NEWNET), "setns")
    os.close(namespace)
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
    return device


def next_hops(nodes, links, source):
    """For every other node the neighbour through which it is reached fastest."""
    best, queue = {}, [(0.0, source, None)]
    while queue:
        delay, node, first = heapq.heappop(queue)
        if node in best:
            continue
        best[node] = first
        for a, b, ms in links:
            for here, there in ((a, b), (b, a)):
                if here == node and there not in best:
                    heapq.heappush(queue, (delay + ms, there, first or there))
    return {node: hop for node, hop in best.items() if hop}


def build(links):
    names = list(dict.fromkeys(node for a, b, _ in links for node in (a, b)))
    pids = {name: start_node() for name in names}
    v4 = {name: f"10.77.0.{k}" for k, name in enumerate(names, 1)}
    v6 = {name: f"fd77::{k:x}" for k, name in enumerate(names, 1)}
    home = os.open("/proc/self/ns/net", os.O_RDONLY)
    carried = []
    try:
        for a, b, ms in links:
            ends = open_tun(pids[a], f"to-{b}"), open_tun(pids[b], f"to-{a}")
            carried += [(ends[0], ends[1], ms / 1e3), (ends[1], ends[0], ms / 1e3)]
    except OSError as error:
        not_allowed(f"a TUN device cannot be made: {error}")
    finally:
        LIBC.setns(home, CLONE_NEWNET)
    for name, pid in pids.items():
        lines = [
            "ip link set lo up",
            f"ip addr add {v4[name]}/32 dev lo",
            f"ip -6 addr add {v6[name]}/128 dev lo nodad",
            "echo 1 > /proc/sys/net/ipv4/ip_forward",
            "echo 1 > /proc/sys/net/ipv6/conf/all/forwarding",
            "echo 0 > /proc/sys/net/ipv4/conf/all/rp_filter",
            "echo 0 > /proc/sys/net/ipv4/icmp_ratelimit",
            "echo 0 > /proc/sys/net/ipv6/icmp/ratelimit",
            "echo 0 2147483647 > /proc/sys/net/ipv4/ping_group_range",
        ]
        near = [b if a == name else a for a, b, _ in links if name in (a, b)]
        lines += [f"ip link set to-{other} up" for other in near]
        for node, hop in next_hops(names, links, name).items():
            lines.append(f"ip route add {v4[node]}/32 dev to-{hop} src {v4[name]}")
            lines.append(f"ip -6 route add {v6[node]}/128 dev to-{hop} src {v6[name]}")
        inside(pid, "sh", "-ec", "\n".join(lines))
    for name in names:
        print(name, pids[name], v4[name], v6[name])
    print("ready", flush=True)
    return carried


def carry(links):
    """Moves packets until standard input is closed."""
    selector = selectors.DefaultSelector()
    for source, target, delay in links:
        selector.register(source, selectors.EVENT_READ, (source, target, delay))
    selector.register(sys.stdin.fileno(), selectors.EVENT_READ, None)
    waiting, number = [], 0
    while True:
        timeout = waiting[0][0] - time.monotonic() if waiting else None
        for key, _ in selector.select(None if timeout is None else max(timeout, 0)):
            if key.data is None:
                return
            source, target, delay = key.data
            try:
                while True:
                    packet = os.read(source, 65535)
                    heapq.heappush(waiting, (time.monotonic() + delay, number, target, packet))
                    number += 1
            except BlockingIOError:
                pass
        while waiting and waiting[0][0] <= time.monotonic():
            _, _, target, packet = heapq.heappop(waiting)
            try:
                os.write(target, packet)
            except OSError:
                pass  # a device that is down loses packets, as cables do


def main():
    links = []
    for text in sys.argv[1:]:
        ends, ms = text.split(":")
        a, b = ends.split("-")
        links.append((a, b, float(ms)))
    if os.geteuid() != 0:
        not_allowed("only root may make network namespaces here")
    links = build(links)
    os.nice(-10)  # late packets would be taken for a longer way
    carry(links)


if __name__ == "__main__":
    main()
