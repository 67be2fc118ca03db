"""Runs our partitioner and its peers on one graph: EDGES.tsv.gz OURS GRAPH-FILE-TO-WRITE.

Undirected; edge weight = links between two hosts, vertex weight = links of a host to itself plus
one, at most 10,000; balance 3 %. Each peer runs in a process of its own, so that user time and
peak memory are its own; both include what the process needs to read the graph.
"""

import gzip
import multiprocessing
import resource
import subprocess
import sys
import time

import numpy as np

EPSILON = 0.03
PARTS = (8, 30)
SEEDS = (1, 2, 3)


def read(path):
    numbers, own, between = {}, {}, {}
    for line in gzip.open(path, "rt"):
        a, b, links = line.rstrip("\n").split("\t")
        a, b = (numbers.setdefault(host, len(numbers)) for host in (a, b))
        if a == b:
            own[a] = own.get(a, 0) + int(links)
        else:
            edge = (min(a, b), max(a, b))
            between[edge] = between.get(edge, 0) + int(links)
    pages = [min(own.get(v, 0) + 1, 10_000) for v in range(len(numbers))]
    return pages, list(between), list(between.values())


def rows(pages, edges, weights):
    adjacent = [[] for _ in pages]
    for (a, b), w in zip(edges, weights):
        adjacent[a].append((b, w))
        adjacent[b].append((a, w))
    return adjacent


def write(path, pages, adjacent, edges):
    with open(path, "w") as out:
        out.write(f"{len(pages)} {edges} 011\n")
        for load, links in zip(pages, adjacent):
            out.write(" ".join([str(load)] + [f"{b + 1} {w}" for b, w in links]) + "\n")


def flat(adjacent):
    starts = np.cumsum([0] + [len(links) for links in adjacent]).tolist()
    ends = [b for links in adjacent for b, _ in links]
    weights = [w for links in adjacent for _, w in links]
    return starts, ends, weights


def metis(graph, parts, seed):
    import pymetis

    pages, adjacent, _, _ = graph
    starts, ends, weights = flat(adjacent)
    options = pymetis.Options(ufactor=round(EPSILON * 1000), seed=seed)
    begun = time.perf_counter()
    _, part = pymetis.part_graph(
        parts,
        adjacency=pymetis.CSRAdjacency(starts, ends),
        vweights=pages,
        eweights=weights,
        recursive=False,
        options=options,
    )
    return part, time.perf_counter() - begun


def kahip(graph, parts, seed):
    import kahip

    pages, adjacent, _, _ = graph
    starts, ends, weights = flat(adjacent)
    social = 4  # the mode "eco social"
    begun = time.perf_counter()
    _, part = kahip.kaffpa(pages, starts, weights, ends, parts, EPSILON, True, seed, social)
    return part, time.perf_counter() - begun


def mtkahypar(graph, parts, seed, preset="DEFAULT"):
    import mtkahypar

    pages, _, edges, weights = graph
    library = mtkahypar.initialize(2)
    mtkahypar.set_seed(seed)
    context = library.context_from_preset(getattr(mtkahypar.PresetType, preset))
    context.set_partitioning_parameters(parts, EPSILON, mtkahypar.Objective.CUT)
    context.logging = False
    hypergraph = library.create_graph(context, len(pages), len(edges), edges, pages, weights)
    begun = time.perf_counter()
    part = hypergraph.partition(context).get_partition()
    return part, time.perf_counter() - begun


def mtkahypar_quality(graph, parts, seed):
    return mtkahypar(graph, parts, seed, "QUALITY")


def run_peer(queue, peer, graph, parts, seed):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    part, seconds = peer(graph, parts, seed)
    usage = resource.getrusage(resource.RUSAGE_SELF)
    pages, _, edges, weights = graph
    part, ends = np.array(part), np.array(edges)
    cut = int(np.array(weights)[part[ends[:, 0]] != part[ends[:, 1]]].sum())
    heaviest = np.bincount(part, weights=pages, minlength=parts).max() * parts / sum(pages)
    queue.put((cut, heaviest, seconds, usage.ru_utime - before, usage.ru_maxrss / 1024))


def measure_peer(peer, graph, parts, seed):
    queue = multiprocessing.Queue()
    process = multiprocessing.Process(target=run_peer, args=(queue, peer, graph, parts, seed))
    process.start()
    result = queue.get()
    process.join()
    return result


def measure_ours(program, path, parts, seed):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    run = subprocess.run(
        [program, path, str(parts), str(seed)], check=True, capture_output=True, text=True
    )
    user = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    cut, _, heaviest, seconds, mebibytes = map(float, run.stdout.split())
    return int(cut), heaviest, seconds, user, mebibytes


def main():
    edge_file, program, path = sys.argv[1:]
    pages, edges, weights = read(edge_file)
    adjacent = rows(pages, edges, weights)
    write(path, pages, adjacent, len(edges))
    graph = pages, adjacent, edges, weights
    total = sum(weights)
    print(f"{len(pages)} hosts, {len(edges)} edges, {total} links between hosts; mean of {len(SEEDS)} seeds")
    print("parts  partitioner          cut   ratio  heaviest  seconds  user s    MiB")
    for parts in PARTS:
        methods = [("ours", lambda seed: measure_ours(program, path, parts, seed))]
        for name, peer in [
            ("METIS k-way", metis),
            ("KaHIP eco social", kahip),
            ("Mt-KaHyPar default", mtkahypar),
            ("Mt-KaHyPar quality", mtkahypar_quality),
        ]:
            methods.append((name, lambda seed, peer=peer: measure_peer(peer, graph, parts, seed)))
        ours = None
        for name, method in methods:
            runs = np.array([method(seed) for seed in SEEDS])
            cut, _, seconds, user, _ = runs.mean(axis=0)
            heaviest, mebibytes = runs[:, 1].max(), runs[:, 4].max()
            ours = ours or cut
            print(
                f"{parts:5}  {name:18} {cut / total:.4f}  {cut / ours:6.3f}  {heaviest:8.4f}"
                f"  {seconds:7.2f} {user:7.2f} {mebibytes:6.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
