#!/usr/bin/env python3
"""First visits in the order of how long the contents of a page's folders have lasted: a model of the default policy.

  orders.py NAME=CHANGES.csv …      items are PACKAGE/PATH; prints rows

Visits come evenly, tell when a page last changed, and go to pages never visited first, in random order or to the folder
whose pages' ages at their first visits have the greatest geometric mean; then to the largest index of a Poisson page.
World `all`: every page is there from the start, as in the simulator. World `made`: a page is there from its first change
on, which makes it, and freshness is that of pages that are there.
"""

import bisect
import csv
import math
import multiprocessing
import random
import sys
from collections import defaultdict

RUNS = 10
STUDENT = 2.262  # of nine degrees, 95 %
PARENT = 4.0  # what is around a folder counts as so many pages
LEAD = 3.0  # natural logarithms by which folders have to foretell better before they are followed
SHAPE = 2.0  # of the tail of ages, in that test


def load(file):
    changes = defaultdict(list)
    for row in csv.DictReader(open(file)):
        changes[row["item_id"]].append(int(row["timestamp_seconds"]))
    return {name: sorted(at) for name, at in changes.items()}


def folders(name):
    parts = name.split("/")[:-1]
    return ["/".join(parts[: k + 1]) for k in range(len(parts))]


def simulate(history, per_change, order, made, seed):
    rng = random.Random(seed)
    names = list(history)
    rng.shuffle(names)
    start, end = min(at[0] for at in history.values()), max(at[-1] for at in history.values())
    visits = int(per_change * sum(map(len, history.values())))
    step, pages = (end - start) / visits, len(names)
    changes, within = [history[name] for name in names], [folders(name) for name in names]
    round_ = pages * step
    sums, counts, total = defaultdict(float), defaultdict(float), [math.log(round_), 1.0]
    groups = defaultdict(list)
    for page in reversed(range(pages)):
        groups[within[page][-1] if within[page] else ""].append(page)
    events, exposure, last, visited = [0.0] * pages, [0.0] * pages, [None] * pages, []
    all_events = all_exposure = fresh = ahead = 0.0
    waiting = list(range(pages))

    def lasted(page):
        mean = total[0] / total[1]
        for folder in within[page]:
            mean = (PARENT * mean + sums[folder]) / (PARENT + counts[folder])
        return mean

    for visit in range(visits):
        now = start + (visit + 0.5) * step
        is_there = lambda page: not made or changes[page][0] <= now
        page = None
        if order == "random" or (order == "tested" and ahead < LEAD):
            page = next((p for p in waiting if last[p] is None and is_there(p)), None)
            while waiting and last[waiting[0]] is not None:
                waiting.pop(0)
        else:
            best = None
            for own in groups.values():
                there = [p for p in own if is_there(p)]
                if there and (best is None or (lasted(there[-1]), -there[-1]) > best):
                    best = (lasted(there[-1]), -there[-1])
            page = -best[1] if best else None
        if page is None:
            mean, most = (all_events + 1.0) / (all_exposure + round_), -1.0
            for p in visited:
                rate, since = (1 + events[p]) / (1 / mean + exposure[p]), now - last[p]
                gain = 1 / rate - (since + 1 / rate) * math.exp(-rate * since)
                if gain > most:
                    page, most = p, gain
        if page is None:
            continue
        at = changes[page]
        upcoming = bisect.bisect_right(at, now)
        until = at[upcoming] if upcoming < len(at) else end
        seen = 0.0
        if last[page] is None:
            groups[within[page][-1] if within[page] else ""].remove(page)
            visited.append(page)
            fresh += until - now
            if upcoming > 0:
                seen = age = now - at[upcoming - 1]
                log = math.log(max(age, 1.0))
                foretold = [-m - (SHAPE + 1) * math.log1p(age / math.exp(m)) for m in (lasted(page), total[0] / total[1])]
                ahead += foretold[0] - foretold[1]
                for folder in within[page]:
                    sums[folder] += log
                    counts[folder] += 1
                total[0] += log
                total[1] += 1
                events[page] += 1
                all_events += 1
        elif upcoming > bisect.bisect_right(at, last[page]):
            fresh += until - now
            seen = now - at[upcoming - 1]
            events[page] += 1
            all_events += 1
        else:
            seen = now - last[page]
        exposure[page] += seen
        all_exposure += seen
        last[page] = now
    return fresh / sum(end - (at[0] if made else start) for at in changes)


def optimal(rates, lives, visits):
    """Frequencies of CHO: the same price for all, of pages that live so long."""

    def frequency(rate, price):
        if rate <= 0 or price * rate >= 1:
            return 0.0
        low, high = 1e-9, 60.0
        for _ in range(50):
            middle = (low + high) / 2
            low, high = (middle, high) if 1 - (1 + middle) * math.exp(-middle) < price * rate else (low, middle)
        return rate / low

    alike = defaultdict(float)
    for rate, life in zip(rates, lives):
        alike[rate] += life
    low, high = 1e-3, 1e13
    for _ in range(60):
        price = math.sqrt(low * high)
        if sum(life * frequency(rate, price) for rate, life in alike.items()) > visits:
            low = price
        else:
            high = price
    known = {rate: frequency(rate, price) for rate in alike}
    return [known[rate] for rate in rates]


def hindsight(history, per_change, made, seed):
    rng = random.Random(seed)
    start, end = min(at[0] for at in history.values()), max(at[-1] for at in history.values())
    visits = int(per_change * sum(map(len, history.values())))
    pages = list(history.values())
    begins = [at[0] if made else start for at in pages]
    lives = [max(end - begin, 1.0) for begin in begins]
    # a page that is made and never changes has half a change
    changes = [max(len(at) - 1, 0.5) if made else len(at) for at in pages]
    fresh = 0.0
    for at, begin, often in zip(pages, begins, optimal([c / l for c, l in zip(changes, lives)], lives, visits)):
        now = begin + rng.random() / often if often else end
        while now < end:
            upcoming = bisect.bisect_right(at, now)
            fresh += min(at[upcoming] if upcoming < len(at) else end, end, now + 1 / often) - now
            now += 1 / often
    return fresh / sum(lives)


def row(task):
    name, file, per_change, world, policy = task
    history, made = load(file), world == "made"
    if policy == "merge-cho":
        found = [hindsight(history, per_change, made, seed) for seed in range(1, RUNS + 1)]
    else:
        found = [simulate(history, per_change, policy, made, seed) for seed in range(1, RUNS + 1)]
    mean = sum(found) / RUNS
    spread = math.sqrt(sum((one - mean) ** 2 for one in found) / (RUNS - 1) / RUNS)
    return f"{name},{per_change},{world},{policy},{mean:.5f},{STUDENT * spread:.5f}"


if __name__ == "__main__":
    files = [argument.partition("=")[::2] for argument in sys.argv[1:]]
    if not files:
        sys.exit(__doc__)
    tasks = [
        (name, file, per_change, world, policy)
        for name, file in files
        for per_change in (0.1, 0.25)
        for world in ("all", "made")
        for policy in ("random", "folders", "tested", "merge-cho")
    ]
    print("history,visits_per_change,world,policy,freshness,ci95")
    with multiprocessing.Pool(2) as pool:
        for line in pool.imap(row, tasks):
            print(line, flush=True)
