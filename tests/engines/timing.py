"""Times the engines that `.ci/engines` has built, as processes that are started in
turn: tokens per second of ferrox 0.25 (tg32), candle 0.9's quantised products, and
the token on candle 0.11's barrier pool.

    tests/engines/timing.py PROGRAMS MODEL ROUNDS [FILTER] [--test]

PROGRAMS is the directory of them, MODEL a GGUF file for ferrox, and the filters are
`ferrox`, `candle` and `barrier_pool`. With `--test` turns are short: the figures mean
nothing then."""

import argparse
import contextlib
import math
import os
import statistics
import subprocess
import sys
import time

NAN = math.nan
ROWPOOL = "rowpool"
# What engines read; none of it comes from outside.
PREFIXES = ("ROWPOOL_", "RAYON_", "FERROX_", "CANDLE_")
ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith(PREFIXES)}
# Others disturb when they use this much of one CPU; attempts at one turn; how long to
# wait for a quiet machine, all in all, in s.
DISTURBED, ATTEMPTS = 0.02, 4
patience = float(os.environ.get("ROWPOOL_BENCH_PATIENCE", 60))
TICK = 1 / os.sysconf("SC_CLK_TCK")


class Case:
    """What is measured, on whom; `compared`: how it is faster than others, as (what,
    measure, candidate, the least that the project asks)."""

    def __init__(self, measure, candidate, unit, turn, compared=()):
        self.measure, self.candidate, self.unit = measure, candidate, unit
        self.turn, self.compared = turn, compared
        self.figures, self.dropped = [], 0


def run(program, arguments, settings=()):
    """What a program prints, standard output and standard error; `None`, with a line,
    where it fails."""
    done = subprocess.run(
        [program, *arguments], env={**ENVIRONMENT, **dict(settings)}, capture_output=True, text=True
    )
    if done.returncode != 0:
        print(f"{program}: {done.returncode}: {done.stderr}")
        return None
    return done.stdout, done.stderr


def built(*programs):
    """Their paths, or `None`, with a line, where one is missing."""
    paths = [os.path.join(options.programs, program) for program in programs]
    missing = [path for path in paths if not os.path.isfile(path)]
    for path in missing:
        print(f"{path} is not built")
    return None if missing else paths


def ferrox():
    if not (paths := built("engine-ferrox", "engine-ferrox-patched")):
        return
    on_rayon, on_spin = "ferrox 0.25 on rayon", "ferrox 0.25 on its spin pool"
    on_rowpool = "ferrox 0.25 on rowpool, patched"
    right = set()

    def turn(threads, path, pool):
        settings = {"RAYON_NUM_THREADS": str(threads), "FERROX_CPU_POOL": pool}
        if not (said := run(path, [options.model, "2" if options.test else "32"], settings)):
            return NAN
        right.add(said[0])
        if len(right) > 1 or not said[0]:
            sys.exit(f"{path} computes something else")
        return float(said[1].rpartition("generation ")[2].split()[0])

    for threads in (1, 2, 4):
        measure = f"ferrox tg32, T = {threads}"
        for name, path, pool in (
            (on_rayon, paths[0], "rayon"),
            (on_spin, paths[0], "spin"),
            (on_rowpool, paths[1], "rayon"),
        ):
            compared = []
            if name == on_rowpool:
                asked = (1.0, 1.1) if threads == 2 else (None, None)
                compared.append(("speed over rayon", measure, on_rayon, asked[0]))
                compared.append(("over spin", measure, on_spin, asked[1]))
            if threads == 4:
                least = 0.95 if name == on_rowpool else None
                compared.append(("over its T = 2", "ferrox tg32, T = 2", name, least))
            how = lambda threads=threads, path=path, pool=pool: turn(threads, path, pool)
            yield Case(measure, name, "tokens/s", how, compared)


# Shapes, kind, and what is asked of the patched engine.
PASSES = [
    ("135m", "Q8_0", 1.1),
    ("1b", "Q8_0", 1.0),
    ("1b", "Q4K", 1.0),
    ("8b", "Q8_0", None),
    ("8b", "Q4K", None),
]


def candle():
    if not (paths := built("engine-candle", "engine-candle-patched")):
        return
    names = ["candle 0.9 on rayon", "candle 0.9 on rowpool, patched"]

    def turn(path, model, kind):
        said = run(path, [model, kind, seconds(0.7)], {"RAYON_NUM_THREADS": "2"})
        return float(said[0]) if said else NAN

    for model, kind, least in PASSES[: 1 if options.test else None]:
        measure = f"candle {kind} products, {model}"
        compared = [], [("speed over rayon", measure, names[0], least)]
        for name, path, compared in zip(names, paths, compared):
            how = lambda path=path, model=model, kind=kind: turn(path, model, kind)
            yield Case(measure, name, "ms", how, compared)


def barrier_pool():
    if not (paths := built("engine-barrier-pool")):
        return
    pools = ["candle 0.11 BarrierPool", "candle 0.11 BarrierPool, chunked"]
    quiet = "token, T = 2"

    def turn(pool, threads, cpus):
        with contextlib.ExitStack() as neighbours:
            for cpu in cpus:
                neighbours.enter_context(busy(cpu))
            form = "--test" if options.test else "--bench"
            said = run(paths[0], [pool, str(threads), seconds(1.0), form])
        return float(said[0].split()[0]) if said else NAN

    # Threads, and the CPUs of busy neighbours.
    for measure, threads, cpus in (
        (quiet, 2, []),
        ("token, 4 threads", 4, []),
        ("token, T = 2, one hog", 2, [1]),
    ):
        for pool in ("serial", ROWPOOL, *pools):
            compared = []
            if pool == ROWPOOL:
                compared.append(("speed over candle's", measure, pools[0], 1.0))
                compared.append(("its chunked", measure, pools[1], 1.0))
            if measure != quiet:
                compared.append(("over its own quiet", quiet, pool, None))
            how = lambda pool=pool, threads=threads, cpus=cpus: turn(pool, threads, cpus)
            yield Case(measure, pool, "ms", how, compared)


@contextlib.contextmanager
def busy(cpu):
    """A busy loop on one CPU; ends with its block."""
    loop = f"import os; os.sched_setaffinity(0, [{cpu}]); print(flush=True)\nwhile True: pass"
    with subprocess.Popen([sys.executable, "-c", loop], stdout=subprocess.PIPE) as process:
        try:
            if not process.stdout.readline():
                sys.exit(f"a neighbour could not be bound to CPU {cpu}")
            yield
        finally:
            process.kill()


def seconds(usual):
    return str(usual / 50 if options.test else usual)


def times():
    """The clock, CPU time of the whole machine, what a hypervisor took away included,
    and of this process and the children that have ended."""
    with open("/proc/stat") as stat:
        ticks = [int(field) for field in stat.readline().split()[1:9]]
    own = os.times()
    machine = (sum(ticks) - ticks[3] - ticks[4]) * TICK
    return time.monotonic(), machine, sum(own[:4])


def foreign(before):
    """Others' part of one CPU since then; two ticks may be a reading's blur."""
    took, machine, own = (now - then for now, then in zip(times(), before))
    return (machine - own - 2 * TICK) / took


def wait():
    """Sleeps while others are busy."""
    global patience
    while patience > 0 and not options.test:
        before = times()
        time.sleep(0.2)
        if foreign(before) <= DISTURBED:
            break
        patience -= time.monotonic() - before[0]


def attempt(case):
    """A turn in which others used the CPUs is tried again, and dropped in the end."""
    for _ in range(ATTEMPTS):
        wait()
        before = times()
        figure = case.turn()
        if options.test or foreign(before) <= DISTURBED:
            return figure
        case.dropped += 1
    return NAN


def outside(n):
    """How many of n sorted values may lie outside the interval of 95% of their median
    on each side: none where all of them enclose less."""
    below = 0.0
    for heads in range(n):
        below += math.comb(n, heads) / 2**n
        if below > 0.025:
            return max(heads - 1, 0)
    return 0


def digits(value):
    size = abs(value)
    return f"{value:.{0 if size >= 100 else 1 if size >= 10 else 2 if size >= 1 else 3}f}"


def shown(values, unit=""):
    """Their median and its interval."""
    values = sorted(values)
    if not values:
        return "not measured"
    out = outside(len(values))
    low, high = values[out], values[len(values) - 1 - out]
    return f"{digits(statistics.median(values))}{unit} [{digits(low)}, {digits(high)}]"


def judged(ratios, least):
    """What is asked of their median; nothing fails by it."""
    if least is None:
        return ""
    verdict = "(short run)" if options.test else "not measured"
    if not options.test and len(ratios) >= 5:
        verdict = "met" if statistics.median(ratios) >= least else "MISSED"
    return f" (≥ {digits(least)}: {verdict})"


def row(case, cases):
    kept = [figure for figure in case.figures if not math.isnan(figure)]
    parts = [shown(kept, f" {case.unit}")]
    for what, measure, candidate, least in case.compared:
        [other] = [it for it in cases if (it.measure, it.candidate) == (measure, candidate)]
        # Of the rounds that have both.
        pairs = [(own, its) for own, its in zip(case.figures, other.figures)]
        pairs = [pair for pair in pairs if not any(map(math.isnan, pair))]
        ratios = [its / own if case.unit == "ms" else own / its for own, its in pairs]
        parts.append(f"{what} {shown(ratios)}{judged(ratios, least)}")
    tally = f"{len(kept)}/{len(case.figures)} kept, {case.dropped} dropped"
    return f"| {case.measure} | {case.candidate} | {'; '.join(parts)} | {tally} |"


def main():
    parts = {"ferrox": ferrox, "candle": candle, "barrier_pool": barrier_pool}
    rows = []
    for name, part in parts.items():
        if options.filter not in name:
            continue
        print(f"measuring: {name}", file=sys.stderr)
        cases = list(part())
        for at in range(options.rounds):
            at %= max(len(cases), 1)
            for case in cases[at:] + cases[:at]:
                case.figures.append(attempt(case))
        rows += [row(case, cases) for case in cases]
    if rows:
        print("\n## Engines\n\n| measure | candidate | figures [95%] (asked) | rounds |")
        print("\n".join(["|---|---|---|---|", *rows]))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs")
    parser.add_argument("model")
    parser.add_argument("rounds", type=int)
    parser.add_argument("filter", nargs="?", default="")
    parser.add_argument("--test", action="store_true")
    options = parser.parse_args()
    main()
