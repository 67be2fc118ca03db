"""Places on one machine: network namespaces joined by a router that delays each packet by the distance of its ends.

Needs root, /dev/net/tun, `ip` and `nsenter`; not `tc netem`, which not every kernel has. Nothing is connected to the
machine's own network, and everything is gone when the process that made it is.
"""
import heapq
import os
import selectors
import signal
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../crates/evercrawl/tests/mini_internet"))
import mini_internet as mini  # noqa: E402

HUB = "10.201.0.1"
"""Seconds one way: within a place, for each step between places on a ring, and to the hub."""
NEAR, STEP, TO_HUB = 0.001, 0.010, 0.010


def robot_address(number):
    return f"10.200.0.{number}"


class Net:
    """A web with one block of addresses a place (10.B.0.0/16), robots at places, and a hub with the messages."""

    def __init__(self, places, robots):
        """`robots` says at which place each robot is, from robot 1 on."""
        self.places, self.robots = places, robots
        self.pids, devices = {}, {}
        home = os.open("/proc/self/ns/net", os.O_RDONLY)
        addresses = {"web": "10.202.0.1", "hub": HUB}
        addresses |= {f"robot-{n}": robot_address(n) for n in range(1, len(robots) + 1)}
        for name in addresses:
            self.pids[name] = mini.start_node()
            devices[name] = mini.open_tun(self.pids[name], "wan")
        mini.LIBC.setns(home, mini.CLONE_NEWNET)
        os.close(home)
        for name, address in addresses.items():
            lines = ["ip link set lo up", f"ip addr add {address}/32 dev wan", "ip link set wan up", f"ip route add default dev wan src {address}"]
            if name == "web":
                lines += [f"ip route add local 10.{1 + place}.0.0/16 dev lo" for place in range(places)]
            mini.inside(self.pids[name], "sh", "-ec", "\n".join(lines))
        self.carrier = os.fork()
        if self.carrier == 0:
            mini.LIBC.prctl(mini.PR_SET_PDEATHSIG, mini.SIGKILL, 0, 0, 0)
            carry(places, robots, devices)
            os._exit(0)
        for device in devices.values():
            os.close(device)

    def enter(self, name):
        return ["nsenter", "-t", str(self.pids[name]), "-n"]

    def distance(self, robot, address):
        """Seconds to and fro between a robot and a server of the web."""
        return 2 * one_way(self.places, self.robots[robot - 1], int(address.split(".")[1]) - 1)

    def line(self, name, state):
        """Takes the line of a node up or down."""
        mini.inside(self.pids[name], "ip", "link", "set", "wan", state)
        if state == "up":
            mini.inside(self.pids[name], "ip", "route", "replace", "default", "dev", "wan")

    def close(self):
        for pid in [self.carrier, *self.pids.values()]:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def one_way(places, a, b):
    apart = abs(a - b)
    return NEAR + STEP * min(apart, places - apart)


def carry(places, robots, devices):
    """Moves packets for ever."""

    def where(address):
        kind = address[1]
        if kind == 200:
            return f"robot-{address[3]}", robots[address[3] - 1] if address[3] <= len(robots) else None
        if kind == 201:
            return "hub", "hub"
        return "web", kind - 1 if kind <= places else "hub"

    delays = {}

    def delay(source, target):
        key = (source, target)
        if key not in delays:
            (_, a), (to, b) = where(source), where(target)
            far = TO_HUB if "hub" in (a, b) else one_way(places, a, b)
            delays[key] = (far, devices.get(to))
        return delays[key]

    selector = selectors.DefaultSelector()
    for device in devices.values():
        selector.register(device, selectors.EVENT_READ, device)
    os.nice(-10)  # late packets would be taken for a longer way
    waiting, number = [], 0
    while True:
        timeout = max(waiting[0][0] - time.monotonic(), 0) if waiting else None
        for key, _ in selector.select(timeout):
            try:
                for _ in range(64):
                    packet = os.read(key.data, 65535)
                    if packet[0] >> 4 != 4:
                        continue
                    far, target = delay(packet[12:16], packet[16:20])
                    if target is not None:
                        heapq.heappush(waiting, (time.monotonic() + far, number, target, packet))
                        number += 1
            except (BlockingIOError, OSError):
                pass
        while waiting and waiting[0][0] <= time.monotonic():
            _, _, target, packet = heapq.heappop(waiting)
            try:
                os.write(target, packet)
            except OSError:
                pass  # a device that is down loses packets, as cables do
