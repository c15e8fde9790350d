"""Orders of a piece before allocation: by latency, within a limit on live registers, each found once."""

from typing import Final, final

from orias.isa.op import F_MATRIX, F_PSEUDO
from orias.isa.operand import K_P
from orias.ori.ir import Func, Inst
from orias.schedule.arrivals import Arrivals
from orias.schedule.deps import Graph
from orias.schedule.piece_body import Body, Node, SharedFacts
from orias.schedule.pieces import first_cycles, is_far_load, is_shared_load, leads_to_loads, record_arrivals, release
from orias.schedule.word_counts import register_of
from orias.timing.latency import Latency

_UNBOUNDED: Final = 1 << 30
_PREDICATES: Final = _UNBOUNDED + 1
"""More words than any limit: predicates are what does not suffice."""
_TRIED: Final = 3
"""Instructions that lead to loads of which one may come before the best of all: bounds the time that the search takes."""


@final
class Reach:
    """The limits on live words that give the same order of a function: from ``least`` on, less than ``above``.

    ``cycles``: what each block of the function takes in that order, as far as the scheduler knows.
    """

    __slots__ = ("above", "cycles", "least")

    def __init__(self) -> None:
        self.least: int = 0
        self.above: int = _UNBOUNDED
        self.cycles: list[int] = []

    def holds(self, limit: int) -> bool:
        """True if a limit gives the order for which this was found."""
        return self.least <= limit < self.above

    @property
    def is_bounded(self) -> bool:
        """True if a higher limit gives another order: there an instruction waits for a register."""
        return self.above < _UNBOUNDED

    def narrow(self, other: "Reach") -> None:
        """Keep the limits that give another order too."""
        self.least = max(self.least, other.least)
        self.above = min(self.above, other.above)


@final
class _Virtual:
    """The scheduler of one piece before allocation, which also limits register pressure.

    What is counted in the piece, registers or words of them, has numbers from 0 up here; ``read`` and ``written`` name registers as
    the function does.
    """

    __slots__ = (
        "condition_reads",
        "condition_writes",
        "cycles",
        "fn",
        "gains",
        "given_on",
        "graph",
        "height",
        "intervals",
        "is_test",
        "kept",
        "lat",
        "leads",
        "left",
        "limit",
        "live_p",
        "more",
        "need",
        "nodes",
        "pipes",
        "patient",
        "peak",
        "placed",
        "predicates",
        "present",
        "read",
        "readers_left",
        "reads",
        "rest",
        "short",
        "sparing",
        "start_left",
        "start_live_p",
        "start_more",
        "start_need",
        "start_tests",
        "steady",
        "stuck",
        "tests",
        "unread",
        "urgent",
        "users",
        "waiting",
        "ways",
        "word_reads",
        "word_writes",
        "words",
        "work",
        "writes",
        "written",
    )

    def __init__(self, body: Body, graph: Graph, nodes: list[Node], lat: Latency, facts: SharedFacts) -> None:
        fn = body.fn
        insts = graph.insts
        self.fn: Final[Func] = fn
        self.lat: Final[Latency] = lat
        self.graph: Final[Graph] = graph
        self.nodes: Final[list[Node]] = nodes
        self.read: Final[list[list[int]]] = [node.read for node in self.nodes]
        self.written: Final[list[list[int]]] = [node.written for node in self.nodes]
        numbers: dict[int, int] = {}
        for node in self.nodes:
            for s, _ in node.reads:
                numbers.setdefault(s, len(numbers))
            for d in node.writes:
                numbers.setdefault(d, len(numbers))
        self.reads: Final[list[list[tuple[int, int]]]] = [[(numbers[s], n) for s, n in x.reads] for x in self.nodes]
        """(register, number of times it is read) of each instruction."""
        self.writes: Final[list[list[int]]] = [[numbers[d] for d in node.writes] for node in self.nodes]
        self.words: Final[list[int]] = [facts.counting.words(x) for x in numbers]
        """Words of R registers of each; 0 for other files."""
        self.predicates: Final[list[int]] = [1 if fn.vkind[register_of(x)] == K_P else 0 for x in numbers]
        """1 for each predicate, else 0."""
        self.kept: Final[list[bool]] = [body.needed_after >> register_of(x) & 1 != 0 for x in numbers]
        """Whether each is live after the piece."""
        self.word_reads: Final[list[list[tuple[int, int, int]]]] = self._ended(self.words)
        """(register, number of times it is read, words) of what each instruction reads in R and only the piece reads."""
        self.word_writes: Final[list[list[tuple[int, int]]]] = self._made(self.words)
        """(register, words) of each result in R of each instruction."""
        self.condition_reads: Final[list[list[tuple[int, int, int]]]] = self._ended(self.predicates)
        """As ``word_reads``, of predicates, which count as 1."""
        self.condition_writes: Final[list[list[tuple[int, int]]]] = self._made(self.predicates)
        self.gains: Final[list[bool]] = [node.gains for node in self.nodes]
        self.users: Final[list[list[int]]] = [[] for _ in numbers]
        """Readers of each in the piece."""
        for k, reads in enumerate(self.reads):
            for s, _ in reads:
                self.users[s].append(k)
        self.given_on: Final[list[bool]] = [
            any(self.predicates[d] and self.kept[d] and not self.users[d] for d in writes) for writes in self.writes
        ]
        """Whether an instruction makes a predicate that only what follows the piece reads: the condition of its branch, for example."""
        products = any(i.op.flags & F_MATRIX for i in insts)
        self.is_test: Final[list[bool]] = [
            not products and any(not self.kept[d] for d, _ in made) for made in self.condition_writes
        ]
        """Whether an instruction makes a predicate that only the piece itself reads; none does beside products of matrices, which hide their time."""
        self.start_tests: Final[int] = sum(self.is_test)
        """How many do."""
        self.start_left: Final[list[int]] = [0] * len(numbers)
        """Number of reads of each register in the piece."""
        live = list(self.kept)
        now = facts.words.count(body.needed_after)
        predicates = facts.predicates.count(body.needed_after)
        self.start_need: Final[list[int]] = [0] * len(insts)
        """Words of R registers live before each instruction in the order as given."""
        for k in range(len(insts) - 1, -1, -1):
            for d in self.writes[k]:
                if live[d]:
                    live[d] = False
                    now -= self.words[d]
                    predicates -= self.predicates[d]
            for s, count in self.reads[k]:
                self.start_left[s] += count
                if not live[s]:
                    live[s] = True
                    now += self.words[s]
                    predicates += self.predicates[s]
            self.start_need[k] = now
        self.start_live_p: Final[int] = predicates
        self.steady: Final[list[bool]] = self._find_steady()
        self.left: list[int] = self.start_left
        """Number of reads of each register that are not placed yet."""
        self.present: bytearray = bytearray(len(numbers))
        """1 for the registers that placed instructions have defined."""
        self.start_more: Final[list[int]] = [
            self._change(writes, reads) for writes, reads in zip(self.word_writes, self.word_reads, strict=True)
        ]
        """Change of the live words if each is placed first."""
        height, far = graph.heights(), leads_to_loads(graph)[0]
        self.ways: Final[list[tuple[bytearray, list[int]]]] = [(far, height)]
        """What ``leads`` and ``height`` may be: what leads to loads that may be far, and the cycles to the end of the piece, then others."""
        if any(map(is_shared_load, insts)) and not products:
            # Not beside products of matrices, whose fragments need all registers.
            near = leads_to_loads(graph, True)[0]
            if near != far:
                self.ways.append((near, height))
        if sum(map(is_far_load, insts)) >= fn.knobs.sched_many_loads:
            self.ways.append((far, _load_by_load(graph, height, far)))
        self.height: list[int] = height
        """Of two instructions that could issue at the same time, the higher goes first."""
        self.leads: bytearray = bytearray()
        """What comes before others that need registers, if it can issue soon."""
        self.intervals: Final[list[int]] = [0 if i.op.flags & F_PSEUDO else lat.interval(i.op) for i in insts]
        pipes: dict[str, int] = {"": 0}
        self.pipes: Final[list[int]] = [
            0 if i.op.flags & F_PSEUDO else pipes.setdefault(lat.pipe_key(i.op), len(pipes)) for i in insts
        ]
        """The number of the pipe of each instruction; 0: it takes none."""
        self.rest: list[int] = []
        """The least number of cycles from each instruction to the end of an order, itself included; found for the second order."""
        self.work: list[int] = []
        """The same from the start of the first instruction of each pipe on, because of the pipe."""
        self.limit: int = 0
        self.more: list[int] = []
        """Change of the live words if each instruction is placed now; of those that are ``steady``."""
        self.readers_left: list[int] = []
        """How many readers of each register are not placed yet."""
        self.live_p: int = 0
        self.cycles: Final[list[int]] = height
        """The cycles from each instruction to the end of the piece."""
        self.patient: bool = False
        """Whether tests that are not urgent leave predicates to others."""
        self.urgent: int = 0
        """Cycles to the end from which on a test is urgent."""
        self.short: bool = False
        """Whether one of several tests had to wait for a predicate."""
        self.sparing: bool = False
        """Whether the last predicate is left to those whose reader waits for nothing else, and more are made than fit rather than waited for."""
        self.stuck: bool = False
        """Whether all that could issue needed predicates beyond the limit."""
        self.tests: int = 0
        """Those of ``start_tests`` that are not placed yet."""
        self.unread: list[int] = []
        """For each register the index in ``users`` of its last reader that is not placed yet; the last of all if there is none here."""
        self.need: list[int] = []
        """Words of R registers live before each unplaced instruction if the unplaced ones keep their present order."""
        self.peak: int = -1
        """Where the words were most when registers last did not suffice."""
        self.placed: bytearray = bytearray()
        self.waiting: list[int] = []
        """For each instruction, how many are not placed that must come before."""

    def _restart(self, limit: int, leads: bytearray, height: list[int]) -> None:
        """Nothing is placed; `limit`: live words."""
        self.limit = limit
        self.leads = leads
        self.height = height
        self.left = list(self.start_left)
        self.more = list(self.start_more)
        self.readers_left = [len(users) for users in self.users]
        self.live_p = self.start_live_p
        self.tests = self.start_tests
        self.present = bytearray(len(self.words))
        self.unread = [len(users) - 1 for users in self.users]
        self.need = list(self.start_need)
        self.peak = -1
        self.placed = bytearray(len(self.nodes))

    def _find_rest(self) -> None:
        """Find ``rest`` and ``work``."""
        succs = self.graph.succs
        rest = self.rest = [1] * len(succs)
        for k in range(len(succs) - 1, -1, -1):
            for s, cycles in succs[k].items():
                if cycles + rest[s] > rest[k]:
                    rest[k] = cycles + rest[s]
        work = self.work = [1] * (max(self.pipes, default=0) + 1)
        longest = [0] * len(work)
        for pipe, interval in zip(self.pipes, self.intervals, strict=True):
            work[pipe] += interval
            longest[pipe] = max(longest[pipe], interval)
        # The last instruction of a pipe ends an order when it issues.
        for pipe, interval in enumerate(longest):
            work[pipe] -= interval

    def _ended(self, counts: list[int]) -> list[list[tuple[int, int, int]]]:
        """(register, number of times it is read, count) of what each instruction reads, where it has a count and is not live after the piece."""
        kept = self.kept
        return [[(s, n, counts[s]) for s, n in reads if counts[s] and not kept[s]] for reads in self.reads]

    def _made(self, counts: list[int]) -> list[list[tuple[int, int]]]:
        """(register, count) of what each instruction writes, where it has a count."""
        return [[(d, counts[d]) for d in writes if counts[d]] for writes in self.writes]

    def _find_steady(self) -> list[bool]:
        """For each instruction whether what it makes live depends on no other: all that it writes is written once, and read only later."""
        seen = bytearray(len(self.words))
        once = bytearray(b"\x01" * len(self.words))
        for reads, writes in zip(self.reads, self.writes, strict=True):
            for s, _ in reads:
                seen[s] = 1
            for d in writes:
                if seen[d]:
                    once[d] = 0
                seen[d] = 1
        return [all(once[d] for d in writes) for writes in self.writes]

    def _change(self, writes: list[tuple[int, int]], reads: list[tuple[int, int, int]]) -> int:
        """Change of the live registers if an instruction is placed that writes and reads these."""
        left = self.left
        change = 0
        for d, count in writes:
            if not self.present[d] and (left[d] or self.kept[d]):
                change += count
        for s, times, count in reads:
            if left[s] == times:
                change -= count
        return change

    def _place(self, k: int, first: int) -> None:
        """Place an instruction; `first` is the first unplaced one in the present order."""
        if self.condition_writes[k] or self.condition_reads[k]:
            self.live_p += self._change(self.condition_writes[k], self.condition_reads[k])
        if self.is_test[k]:
            self.tests -= 1
        left, present, placed, need = self.left, self.present, self.placed, self.need
        placed[k] = 1
        if k > first:
            more = 0
            for d, words in self.word_writes[k]:
                if not present[d] and (self.start_left[d] or self.kept[d]):
                    more += words
            if more:
                need[first:k] = [n + more for n in need[first:k]]
        for s, count in self.reads[k]:
            left[s] -= count
        for s, _, words in self.word_reads[k]:
            users = self.users[s]
            at = self.unread[s]
            readers = self.readers_left[s] = self.readers_left[s] - 1
            if users[at] == k:
                while at >= 0 and placed[users[at]]:
                    at -= 1
                self.unread[s] = at
                if k > first:
                    start = users[at] + 1 if at >= 0 else first
                    if start < k:
                        need[start:k] = [n - words for n in need[start:k]]
            if readers == 1:
                # The last one will free it.
                self.more[users[at]] -= words
        for d in self.writes[k]:
            present[d] = 1

    def _fits(self, k: int, first: int, reach: Reach, limited: bool = True) -> bool:
        """True if an instruction may be placed now: registers suffice for its results up to its present position.

        `limited`: predicates have to suffice too.
        """
        words = self._words(k, first, reach, limited)
        if words > self.limit:
            self._note_failed(words, reach)
            return False
        reach.least = max(reach.least, words)
        return True

    def _note_failed(self, words: int, reach: Reach) -> None:
        """Note what an instruction would need that may not be placed, as :meth:`_words` says it."""
        if words == _PREDICATES:
            self.short = self.short or self.tests > 1
        elif words < reach.above:
            reach.above = words

    def _words(self, k: int, first: int, reach: Reach, limited: bool) -> int:
        """Words of R registers that are live at once if an instruction is placed now, up to its present position; 0 if no more than are live
        in any case, ``_PREDICATES`` if predicates do not suffice (`limited`), and ``_UNBOUNDED`` if limits below `reach` are too low too.
        """
        if not self.gains[k]:
            return 0
        if limited and self.condition_writes[k]:
            more = self._change(self.condition_writes[k], self.condition_reads[k])
            if more > 0:
                most = self.fn.knobs.sched_predicate_limit
                if self.tests > 1 and (self.given_on[k] or self.cycles[k] < self.urgent):
                    most -= self.fn.knobs.sched_spared_predicates
                elif self.sparing and self.live_p + more == most and not self._serves(k):
                    # Loads whose guards were made first would all lack the predicate of the carry in their addresses.
                    most -= 1
                if self.live_p + more > most:
                    return _PREDICATES
        if k == first:
            return 0
        more = self.more[k] if self.steady[k] else self._change(self.word_writes[k], self.word_reads[k])
        if more <= 0:
            return 0
        need, peak = self.need, self.peak
        if first <= peak < k and need[peak] + more >= reach.above:
            # What most often decides: a limit that suffices here is no news either.
            return _UNBOUNDED
        top = max(need[first:k])
        words = top + more
        if words > self.limit:
            self.peak = need.index(top, first, k)
        return words

    def _serves(self, k: int) -> bool:
        """True if one that reads a predicate of an instruction waits for nothing else and makes none itself, as the sum of a carry."""
        for d, _ in self.condition_writes[k]:
            for reader in self.users[d]:
                if self.waiting[reader] == 1 and not self.condition_writes[reader]:
                    return True
        return False

    def _choose(self, best: int, at: int, starts: list[int], ready: list[int], near: int, reach: Reach) -> int:
        """The next instruction: the best that fits, but what leads to a load and can issue by `near` before others that need registers.

        `best` can issue at cycle `at`, and is the best of all; `starts`: when the ready instructions can, as far as they are asked for.
        """
        height, leads, first = self.height, self.leads, ready[0]
        if self.patient:
            cycles = self.cycles
            self.urgent = max([cycles[k] for k in ready[: len(starts)]]) - self.fn.knobs.sched_test_slack
        rank = (at, -height[best], best)
        if not self._fits(best, first, reach):
            i = self._first_that_fits(best, starts, ready, reach)
            if i < 0:
                # Nothing fits: the present order is known to stay within its words, but not within its predicates, each of
                # which would need a word and two instructions more.
                writes, reads = self.condition_writes, self.condition_reads
                more = self._change(writes[first], reads[first])
                if more > 0 and self.live_p >= self.fn.knobs.sched_predicate_limit:
                    ranks = self._ranks(starts, ready)
                    return next((k for _, _, k in ranks if self._change(writes[k], reads[k]) < 0), first)
                return first
            rank = (starts[i], -height[ready[i]], ready[i])
            if rank[0] > at + self.fn.knobs.sched_predicate_wait:
                # What fits waits for data, which frees no predicate: make those for which others wait rather than wait.
                ranks = self._ranks(starts, ready)
                other = next((x for x in ranks if x[0] <= near and self._fits(x[2], first, reach, False)), rank)
                self.stuck = self.stuck or other != rank
                if self.sparing:
                    rank = other
        best = rank[2]
        if leads[best] or not self.nodes[best].gains_words:
            return best
        others: list[tuple[int, int, int]] = []
        for i in range(len(starts)):
            k = ready[i]
            if leads[k] and starts[i] <= near:
                other = (starts[i], -height[k], k)
                if other > rank:
                    others.append(other)
        others.sort()
        for _, _, k in others[:_TRIED]:
            if self._fits(k, first, reach):
                return k
        return best

    def _ranks(self, starts: list[int], ready: list[int]) -> list[tuple[int, int, int]]:
        """The cycle, the height with a minus, and the place of each instruction that is ready, the best first."""
        height = self.height
        return sorted([(starts[i], -height[ready[i]], ready[i]) for i in range(len(starts))])

    def _first_that_fits(self, best: int, starts: list[int], ready: list[int], reach: Reach) -> int:
        """The best of the ready instructions after `best` that fits, as an index into `ready`, -1 if none does; those before it narrow `reach`."""
        height, limit, first = self.height, self.limit, ready[0]
        found, words, found_at, found_height = -1, 0, _UNBOUNDED, 0
        failed: list[int] = []
        needed: list[int] = []
        more, peak = self.more, self.peak
        lacking = max(1, reach.above - self.need[peak]) if peak >= first else _UNBOUNDED
        """Words with which what comes after the peak does not fit, as :meth:`_words` knows without a look."""
        for i, at in enumerate(starts):
            k = ready[i]
            if (more[k] >= lacking and k > peak and self.steady[k] and not self.condition_writes[k]) or k == best:
                continue
            if at > found_at or (at == found_at and height[k] <= found_height):
                continue
            need = self._words(k, first, reach, True)
            if need <= limit:
                found, words, found_at, found_height = i, need, at, height[k]
            elif need != _UNBOUNDED:
                failed.append(i)
                needed.append(need)
        for i, need in zip(failed, needed, strict=True):
            at, k = starts[i], ready[i]
            if found < 0 or at < found_at or (at == found_at and (-height[k], k) < (-found_height, ready[found])):
                self._note_failed(need, reach)
        reach.least = max(reach.least, words)
        return found

    def run(self, limit: int, arrivals: Arrivals, reach: Reach) -> tuple[list[int], int]:
        """The order under a limit on live words, as indices into the piece, and its cycles; `reach` is narrowed to the limits that give the same.

        Where registers are short it is the best of several: in another one, what leads to loads of shared memory comes early too
        (where registers suffice it does so anyway), and in one, what many loads wait for comes load by load.  Where predicates are
        short, in one the tests off the longest path wait for others; where they are so short that the first order waits for data instead,
        in one the last of them is kept for those that are read at once, and more are made than fit rather than waited for.
        """
        before = arrivals.now
        leads, height = self.ways[0]
        self.short = self.stuck = False
        order, cycles = self._run(limit, leads, height, arrivals, reach, _UNBOUNDED)
        others = self.ways[1:] if reach.is_bounded else []
        patient = 1 if self.short else 0
        sparing = 1 if self.stuck else 0
        others = [(leads, height)] * (patient + sparing) + others
        knobs = self.fn.knobs
        for k, (leads, height) in enumerate(others):
            self.patient = k < patient
            self.sparing = patient <= k < patient + sparing
            gain = knobs.sched_test_gain if self.patient else knobs.sched_shared_load_gain
            if self.sparing:
                gain = knobs.sched_predicate_gain
            after = arrivals.now
            arrivals.now = before
            below = cycles - cycles * gain // 100
            other, fewer = self._run(limit, leads, height, arrivals, reach, below)
            self.patient, self.sparing, self.urgent = False, False, 0
            if fewer < below:
                order, cycles = other, fewer
            else:
                arrivals.now = after
        return order, cycles

    def run_below(self, limit: int, arrivals: Arrivals, reach: Reach, below: int) -> tuple[list[int], int]:
        """As :meth:`run`, the first of its orders; an empty one and `below` if that takes as many cycles or more."""
        self.short = self.stuck = False
        return self._run(limit, *self.ways[0], arrivals, reach, below)

    def _run(
        self, limit: int, leads: bytearray, height: list[int], arrivals: Arrivals, reach: Reach, below: int
    ) -> tuple[list[int], int]:
        """As :meth:`run`, one order; it ends, with as many cycles as `below`, once it is certain to take that many or more.

        The next instruction is the best that fits, but what leads to a load (`leads`) and can issue soon comes before others that
        need registers.
        """
        graph, pipes = self.graph, self.pipes
        n = len(graph.insts)
        earliest = first_cycles(arrivals, self.read, self.written)
        bounded = below < _UNBOUNDED
        if bounded:
            if not self.rest:
                self._find_rest()
            if n >= below or any(e + rest >= below for e, rest in zip(earliest, self.rest, strict=True)):
                return [], below
        rest, work = self.rest, list(self.work)
        self._restart(limit, leads, height)
        waiting = self.waiting = list(graph.preds)
        ready = [k for k in range(n) if waiting[k] == 0]
        at_cycle = [0] * n
        pipe_free = [0] * (max(pipes, default=0) + 1)
        out: list[int] = []
        window, ahead = self.fn.knobs.sched_ready_window, self.fn.knobs.sched_move_up_limit
        held = self.fn.knobs.sched_held_cycles
        now = 0
        while ready:
            first = ready[0]
            farthest = first + ahead
            best, best_at, best_height = -1, 1 << 60, 0
            starts: list[int] = []
            for k in ready[:window]:
                if k > farthest:
                    break
                at = earliest[k]
                free = pipe_free[pipes[k]]
                if free > at:
                    at = free
                if now > at:
                    at = now
                starts.append(at)
                if at < best_at or (at == best_at and height[k] > best_height):
                    best, best_at, best_height = k, at, height[k]
            best = self._choose(best, best_at, starts, ready, now + held, reach)
            ready.remove(best)
            pipe = pipes[best]
            now = max(now, earliest[best], pipe_free[pipe])
            if bounded:
                if now + max(rest[best], n - len(out), work[pipe]) >= below:
                    return [], below
                work[pipe] -= self.intervals[best]
            at_cycle[best] = now
            out.append(best)
            self._place(best, first)
            if pipe:
                pipe_free[pipe] = now + self.intervals[best]
            release(graph, best, now, earliest, waiting, ready)
            now += 1
        record_arrivals(arrivals, self.lat, graph, out, at_cycle, now, self.read, self.written)
        return out, now


def _load_by_load(graph: Graph, height: list[int], leads: bytearray) -> list[int]:
    """Heights with which instructions that lead to loads go by the height of the load, and the nearest to its load goes first.

    By their own height, all addresses are begun before the first is complete, and hold registers that the loads need.
    """
    most = max(height, default=0) + 1
    out = [0] * len(height)
    load = [0] * len(height)
    """For each instruction that leads to loads, the height of the highest that waits for no other of these."""
    for k in range(len(height) - 1, -1, -1):
        if not leads[k]:
            out[k] = height[k] * most
            continue
        if is_far_load(graph.insts[k]):
            load[k] = height[k]
        else:
            load[k] = max(load[s] for s in graph.succs[k])
        out[k] = load[k] * most + most - 1 - (height[k] - load[k])
    return out


@final
class _Found:
    """An order of a piece: what was under way when it began and when it had ended, and the limits on live words that give it."""

    __slots__ = ("after", "before", "cycles", "order", "reach")

    def __init__(
        self, before: dict[int, int], after: dict[int, int], reach: Reach, order: list[int], cycles: int
    ) -> None:
        self.cycles: Final[int] = cycles
        self.before: Final[dict[int, int]] = before
        self.after: Final[dict[int, int]] = after
        self.reach: Final[Reach] = reach
        self.order: Final[list[int]] = order


@final
class _LoadsFirst:
    """A piece in which all that leads to loads that may be far comes before the rest, for orders where registers are short.

    What else needs registers, such as the fragments of a product that are read from shared memory while an address arrives, then
    comes after the addresses of the loads.
    """

    __slots__ = ("least", "places", "scheduler")

    def __init__(self, body: Body, places: list[int], lat: Latency, facts: SharedFacts) -> None:
        self.places: Final[list[int]] = places
        nodes = [body.nodes[k] for k in places]
        self.scheduler: Final[_Virtual] = _Virtual(body, body.graph.reordered(places), nodes, lat, facts)
        self.least: Final[int] = max(self.scheduler.start_need)
        """Live words that it needs as it is."""


@final
class PieceOrders:
    """A piece of a block before allocation, from instruction ``first`` on, and the orders that it had so far."""

    __slots__ = ("_facts", "_found", "_lat", "_loads_first", "_scheduler", "body", "first", "insts")

    def __init__(self, first: int, body: Body, lat: Latency, facts: SharedFacts) -> None:
        self.first: Final[int] = first
        self.body: Final[Body] = body
        self.insts: Final[list[Inst]] = body.graph.insts
        self._lat: Final[Latency] = lat
        self._facts: Final[SharedFacts] = facts
        self._scheduler: Final[_Virtual] = _Virtual(body, body.graph, body.nodes, lat, facts)
        self._loads_first: list[_LoadsFirst] | None = None
        """The piece with its loads first, if that is another order; None as long as nobody asked."""
        self._found: Final[list[_Found]] = []

    def order(self, limit: int, arrivals: Arrivals, reach: Reach) -> tuple[list[int], int]:
        """The order under a limit on live words, as indices into ``insts``, and its cycles; `reach` is narrowed to the limits that give the same."""
        found = next((x for x in self._found if x.reach.holds(limit) and x.before == arrivals.now), None)
        if found is None:
            before = arrivals.now
            own = Reach()
            order, cycles = self._scheduler.run(limit, arrivals, own)
            if own.is_bounded:
                order, cycles = self._with_loads_first(limit, arrivals, own, before, order, cycles)
            found = _Found(before, arrivals.now, own, order, cycles)
            self._found.append(found)
        else:
            arrivals.now = found.after
        reach.narrow(found.reach)
        return found.order, found.cycles

    def _with_loads_first(
        self, limit: int, arrivals: Arrivals, reach: Reach, before: dict[int, int], order: list[int], cycles: int
    ) -> tuple[list[int], int]:
        """The better of an order and one with the loads first, and its cycles; `before`: what is under way when the piece begins."""
        if self._loads_first is None:
            self._loads_first = self._find_loads_first()
        for early in self._loads_first:
            if early.least > limit:
                reach.above = min(reach.above, early.least)
                continue
            reach.least = max(reach.least, early.least)
            after = arrivals.now
            arrivals.now = before
            own = Reach()
            below = cycles - cycles * self.body.fn.knobs.sched_loads_first_gain // 100
            other, fewer = early.scheduler.run_below(limit, arrivals, own, below)
            reach.narrow(own)
            if fewer < below:
                order, cycles = [early.places[k] for k in other], fewer
            else:
                arrivals.now = after
        return order, cycles

    def _find_loads_first(self) -> list[_LoadsFirst]:
        if sum(map(is_far_load, self.insts)) < self.body.fn.knobs.sched_many_loads:
            return []
        leads = leads_to_loads(self.body.graph)[0]
        n = len(leads)
        places = [k for k in range(n) if leads[k]] + [k for k in range(n) if not leads[k]]
        return [_LoadsFirst(self.body, places, self._lat, self._facts)] if places != list(range(n)) else []
