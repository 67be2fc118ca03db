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
        self.start_carrier(list(devices.values()), by_address(places, robots, devices))

    def start_carrier(self, devices, way):
        self.carrier = os.fork()
        if self.carrier == 0:
            mini.LIBC.prctl(mini.PR_SET_PDEATHSIG, mini.SIGKILL, 0, 0, 0)
            mini.hold_only(*devices)
            carry(devices, way)
            os._exit(0)
        for device in devices:
            os.close(device)

    def enter(self, name):
        return ["nsenter", "-t", str(self.pids[name]), "-n"]

    def distance(self, robot, address):
        """Seconds to and fro between a robot and a server of the web."""
        return 2 * one_way(self.places, self.robots[robot - 1], int(address.split(".")[1]) - 1)

    def close(self):
        for pid in [self.carrier, *self.pids.values()]:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def one_way(places, a, b):
    apart = abs(a - b)
    return NEAR + STEP * min(apart, places - apart)


class Routed(Net):
    """The same places, each with a router of its own: packets go from router to router around the ring, and routes can
    be traced. Between a robot and its router is a gateway, which has the same private address everywhere. The web is
    behind a firewall: it answers requests, but no probes."""

    def __init__(self, places, robots):
        self.places, self.robots = places, robots
        gateways = [f"gateway-{n}" for n in range(1, len(robots) + 1)]
        routers = [f"place-{place}" for place in range(places)]
        links = [(routers[place], routers[(place + 1) % places], STEP) for place in range(places)]
        links += [(router, "web", NEAR / 2) for router in routers] + [(router, "hub", TO_HUB) for router in routers]
        for gateway, place in zip(gateways, robots):
            links += [(gateway.replace("gateway", "robot"), gateway, 0), (gateway, routers[place], NEAR / 2)]
        names = list(dict.fromkeys(name for a, b, _ in links for name in (a, b)))
        self.pids = {name: mini.start_node() for name in names}
        home = os.open("/proc/self/ns/net", os.O_RDONLY)
        ways, walled, lines = {}, set(), {name: ["ip link set lo up", "sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.icmp_ratelimit=0"] for name in names}
        for a, b, delay in links:
            one, other = (mini.open_tun(self.pids[here], there) for here, there in ((a, b), (b, a)))
            ways |= {one: (delay, other), other: (delay, one)}
            if b == "web":
                walled.add(one)
            lines[a].append(f"ip link set {b} up")
            lines[b].append(f"ip link set {a} up")
        mini.LIBC.setns(home, mini.CLONE_NEWNET)
        os.close(home)
        for number, (gateway, place) in enumerate(zip(gateways, robots), 1):
            robot, address = f"robot-{number}", robot_address(number)
            lines[robot] += [f"ip addr add {address}/32 dev lo", f"ip route add default dev {gateway} src {address}"]
            lines[gateway] += ["ip addr add 192.168.1.1/32 dev lo", f"ip route add {address}/32 dev {robot} src 192.168.1.1", f"ip route add default dev place-{place}"]
            lines["hub"].append(f"ip route add {address}/32 dev place-{place} src {HUB}")
            for router in range(places):
                to = gateway if router == place else routers[next_place(places, router, place)]
                lines[routers[router]].append(f"ip route add {address}/32 dev {to} src 10.203.0.{router + 1}")
        lines["hub"].insert(1, f"ip addr add {HUB}/32 dev lo")
        for place, router in enumerate(routers):
            block = f"10.{1 + place}.0.0/16"
            lines["web"] += [f"ip route add local {block} dev lo", f"ip rule add from {block} table {100 + place}", f"ip route add default dev {router} table {100 + place}"]
            lines[router].insert(1, f"ip addr add 10.203.0.{place + 1}/32 dev lo")
            lines[router].append(f"ip route add {HUB}/32 dev hub")
            for there in range(places):
                to = "web" if there == place else routers[next_place(places, place, there)]
                lines[router].append(f"ip route add 10.{1 + there}.0.0/16 dev {to}")
        for name in gateways + routers:
            lines[name].append("sysctl -qw net.ipv4.ip_forward=1")
        for name in names:
            mini.inside(self.pids[name], "sh", "-ec", "\n".join(lines[name]))
        self.start_carrier(list(ways), lambda device, packet: (0, None) if device in walled and is_probe(packet) else ways[device])


def is_probe(packet):
    """ICMP, UDP, or TCP to the port that is probed; pages are at another one."""
    after = 4 * (packet[0] & 15)
    return packet[9] != 6 or packet[after + 2:after + 4] == b"\x00\x50"


def next_place(places, here, there):
    """The neighbour on the shorter way around the ring."""
    ahead = (there - here) % places
    return (here + (1 if 2 * ahead <= places else -1)) % places


def by_address(places, robots, devices):
    """How long a packet takes from its source to its target, and where that is."""

    def where(address):
        kind = address[1]
        if kind == 200:
            return f"robot-{address[3]}", robots[address[3] - 1] if address[3] <= len(robots) else None
        if kind == 201:
            return "hub", "hub"
        return "web", kind - 1 if kind <= places else "hub"

    delays = {}

    def way(_, packet):
        key = (packet[12:16], packet[16:20])
        if key not in delays:
            (_, a), (to, b) = where(key[0]), where(key[1])
            far = TO_HUB if "hub" in (a, b) else one_way(places, a, b)
            delays[key] = (far, devices.get(to))
        return delays[key]

    return way


def carry(devices, way):
    """Moves packets for ever, each as `way` says of the device that it came from."""
    selector = selectors.DefaultSelector()
    for device in devices:
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
                    far, target = way(key.data, packet)
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
