"""ConvertToUniformReg, computations: what is the same in all threads of a warp is computed once, in uniform registers.

Block numbers, loop counters, bases of shared memory and descriptors made of them take a vector register each although all
threads hold the same.  Where the warp runs as a whole their computations move to the uniform datapath: as many as their users take
from there, and more where it keeps a vector register free in the blocks of highest pressure.
A value that only the vector datapath can make (what a lane has told the others, a word of shared memory) is moved to a uniform
register for them, where vector registers are short.
Conditions of branches move too where the target has branches on uniform predicates (``BRA.U``, sm_100 and later), and
conversions, whose results are late on the vector datapath (sm_120 and later have uniform ones).
What no user takes as a uniform operand is copied to a vector register before its uses, once for each block.
"""

from typing import Final, final

from orias.analysis.divergence import Divergence, divergence
from orias.analysis.liveness import Liveness, liveness
from orias.isa.isa_table import IsaTable, load
from orias.isa.op import F_CALL, F_CONVERGENT, F_DISTANT, F_PSEUDO, Op, op
from orias.isa.operand import (
    FIRST_VIRTUAL,
    K_CONST,
    K_IMM,
    K_NONE,
    K_P,
    K_R,
    K_UP,
    K_UR,
    K_WORD,
    PT,
    RZ,
    UPT,
    URZ,
    Opnd,
    flags_of,
    has_flags,
    has_lane,
    in_file,
    is_const,
    is_imm,
    is_true_pred,
    is_vreg,
    is_zero_reg,
    kind_of,
    lane_of,
    reg,
    ur,
    vreg,
    with_file,
    with_lane,
    with_reg,
    word_text,
)
from orias.isa.roles import MOVE_TO_UNIFORM
from orias.ori.decisions import UNIFORM, Decision
from orias.ori.ir import OP_BRA, OP_COPY, OP_PACK, OP_PHI, Block, Func, Inst
from orias.passes.remat import words_needed
from orias.passes.uniform_operands import base_sums, fold_bases, has_wide_bases, take_uniform
from orias.target import features
from orias.target.fixed_registers import FIXED_SPECIALS
from orias.target.register_steps import free_words, registers_for, registers_of
from orias.timing.latency import Latency, latency
from orias.timing.units import NEEDS_WRITE

_ANY: Final = ur(FIRST_VIRTUAL)
_S2UR: Final = op("S2UR")
_UIADD3: Final = op("UIADD3")
_BRANCH: Final = op("BRA.U")
_NOT_LIFTED: Final = F_PSEUDO | F_DISTANT
"""What global memory holds is data more often than addresses and counts: work on it stays on the vector datapath."""


def compute_uniformly(fn: Func) -> bool:
    """Move chains of computations to the uniform datapath; True if any moved.

    Only kernels are looked at that call nothing but helpers which leave the uniform registers alone, and those whose need of registers costs
    no occupancy for the conditions of branches only: a uniform operation takes longer.
    """
    if fn.kind != "entry" or fn.spares_uniform or not all(keeps_uniform(fn, i) for i in fn.insts()):
        return False
    if sum(len(b.insts) for b in fn.blocks) > fn.knobs.urf_max_inst:
        return False
    lv = liveness(fn)
    needs = words_needed(fn, lv)
    top = max(needs.values())
    free = free_words(fn.target, fn.max_regs)
    fits = top <= free
    if fn.target.has(features.UNIFORM_BRANCHES):
        free = min(free, fn.knobs.urf_free_words)
    if top <= free:
        return _Chains(fn, lv, set(), needs).run()
    hot = {b for b, n in needs.items() if n >= max(free, top - fn.knobs.urf_peak_slack)}
    return _Chains(fn, lv, hot, needs, fn.knobs.urf_saved_words if fits else 0).run()


def keeps_uniform(fn: Func, inst: Inst) -> bool:
    """True unless an instruction calls what is not known to leave uniform registers alone and to return with the threads that called it."""
    if not inst.op.flags & F_CALL:
        return True
    info = fn.calls.get(inst.uid)
    return info is not None and info.kind == "helper" and info.exact and not info.clobber_ur and not info.clobber_up


def uniform_operand(o: Opnd) -> Opnd:
    """The operand of the uniform datapath that stands for one of the vector datapath."""
    kind = kind_of(o)
    if kind == K_R:
        return URZ | flags_of(o) if is_zero_reg(o) else with_file(o, K_UR)
    if kind == K_P:
        return UPT | flags_of(o) if is_true_pred(o) else with_file(o, K_UP)
    return o


@final
class _Chains:
    __slots__ = (
        "div", "forms", "fn", "held", "home", "hot", "lat", "lifted", "made", "least", "peak", "short", "table", "top",
        "users",
    )  # fmt: skip

    def __init__(self, fn: Func, lv: Liveness, hot: set[int], needs: dict[int, int], least: int = 0) -> None:
        self.least: Final[int] = least
        """Words that the fullest block must hold less if vector registers are not short, or all that stays there does."""
        self.fn: Final[Func] = fn
        self.table: Final[IsaTable] = load(fn.target.table)
        self.div: Final[Divergence] = divergence(fn)
        self.lat: Final[Latency] = latency(fn.target.latency_class)
        self.hot: int = 0
        """Registers live into or out of blocks that need most."""
        self.peak: int = 1
        """Weight of the deepest of them."""
        self.forms: Final[dict[int, Op]] = {}
        """Uniform operation of each instruction (uid) that moves."""
        self.made: Final[dict[int, Inst]] = {}
        """Definition of each register that moves."""
        self.lifted: Final[dict[int, Inst]] = {}
        """Copies that may become moves from a vector register to a uniform one (uid), and what makes the vector register."""
        self.home: Final[dict[int, Block]] = {}
        """Block of each instruction, by uid."""
        self.users: Final[dict[int, list[tuple[Inst, Block]]]] = {}
        """Readers of each register, with the block where they read it (a phi: the predecessor)."""
        self.short: Final[bool] = bool(hot)
        """True if vector registers are short."""
        fullest = max(needs, key=lambda b: needs[b])
        self.top: Final[int] = needs[fullest]
        """Words that the fullest block needs; ``held``: registers live into or out of it."""
        self.held: Final[int] = lv.live_in[fullest] | lv.live_out[fullest]
        for b in fn.blocks:
            if b.id in hot:
                self.hot |= lv.live_in[b.id] | lv.live_out[b.id]
                self.peak = max(self.peak, self._weight(b))

    def run(self) -> bool:
        self._collect()
        if self.short:
            self._lift()
        changed = self._move()
        for b in self.fn.blocks if self.lifted else ():
            if any(i.uid in self.lifted and i.op is OP_COPY for i in b.insts):
                b.insts = [i for i in b.insts if not self._laid_down(i)]
        return changed

    def _move(self) -> bool:
        """Choose among what can move, and move it."""
        self._keep_closed()
        if not self.forms:
            return False
        self._index_users()
        all_forms, all_made = dict(self.forms), dict(self.made)
        if self.short:
            self._choose(all_forms, all_made)
        if not self.short or self.top - self._words_left() < self.least:
            self.forms.clear()
            self.made.clear()
        if self.fn.target.has(features.UNIFORM_BRANCHES):
            self._take_conditions(all_forms, all_made)
        self._take_bases(all_forms, all_made)
        if has_wide_bases(self.fn):
            self._take_addresses(all_forms, all_made)
        self._take_late(all_forms, all_made)
        if not self.forms:
            return False
        if self.fn.decisions is not None:
            for inst in self.made.values():
                text = f"{inst.op.name} is the same in all threads of a warp: it runs on the uniform datapath"
                self.fn.decisions.append(Decision(UNIFORM, inst.loc, text))
        self._rewrite()
        fold_bases(self.fn, self.table)
        return True

    # --- which computations can move ---------------------------------------------------------------------------------

    def _collect(self) -> None:
        regions = self.div.regions
        for b in self.fn.blocks:
            for inst in b.insts:
                self.home[inst.uid] = b
                if regions[b.id] or inst.guard != PT or inst.old != K_NONE or not inst.dst:
                    continue
                if inst.op is OP_PHI and any(regions[p.id] for p in b.preds):
                    continue
                if any(not self._result(d) for d in inst.dst):
                    continue
                form = self._form(inst)
                if form is not None:
                    self.forms[inst.uid] = form
                    for d in inst.dst:
                        if is_vreg(d):
                            self.made[vreg(d)] = inst
        for b in self.fn.blocks:
            for inst in b.insts:
                if _is_value(inst.old) and vreg(inst.old) in self.made:
                    self._drop(self.made[vreg(inst.old)])

    def _lift(self) -> None:
        """Put a copy after each value that the vector datapath makes for operations that can move, or that the fullest blocks hold."""
        wanted = self.hot
        kept = 0
        for b in self.fn.blocks:
            for inst in b.insts:
                if _is_value(inst.old):
                    kept |= 1 << vreg(inst.old)
                if inst.uid in self.forms or inst.op is MOVE_TO_UNIFORM:
                    for s in inst.src:
                        if _is_value(s):
                            wanted |= 1 << vreg(s)
        wanted &= ~kept
        for b in self.fn.blocks:
            if self.div.regions[b.id]:
                continue
            out: list[Inst] = []
            for inst in b.insts:
                out.append(inst)
                if inst.dst and self._may_be_lifted(inst):
                    out += self._lifts(inst, b, wanted)
            b.insts = out

    def _may_be_lifted(self, inst: Inst) -> bool:
        """True for what a lane tells the others or near memory holds: what begins a chain, while arithmetic stands in the midst of one."""
        o = inst.op
        if o.flags & _NOT_LIFTED or inst.guard != PT or inst.old != K_NONE:
            return False
        return o.loads() or o.flags & F_CONVERGENT != 0

    def _lifts(self, inst: Inst, b: Block, wanted: int) -> list[Inst]:
        """Copies of those results of an instruction that are wanted in uniform registers."""
        out: list[Inst] = []
        for k, d in enumerate(inst.dst):
            if not is_vreg(d) or vreg(d) in self.made or not wanted >> vreg(d) & 1:
                continue
            if in_file(d, K_R) and self.fn.width(d) == 1 and self._result(d):
                inst.dst[k] = self.fn.new_vreg(K_R)
                copy = self.fn.new_inst(OP_COPY, [d], [inst.dst[k]], loc=inst.loc)
                self.lifted[copy.uid] = inst
                self.forms[copy.uid] = MOVE_TO_UNIFORM
                self.made[vreg(d)] = copy
                self.home[copy.uid] = b
                out.append(copy)
        return out

    def _laid_down(self, copy: Inst) -> bool:
        """Take back a copy that stays in a vector register; False if it does not."""
        made = self.lifted.get(copy.uid)
        if made is None or copy.op is not OP_COPY:
            return False
        made.dst = [copy.dst[0] if d == copy.src[0] else d for d in made.dst]
        return True

    def _result(self, d: Opnd) -> bool:
        """True for a result that is the same in all threads, or is not wanted."""
        if not is_vreg(d):
            return is_zero_reg(d) or is_true_pred(d)
        return kind_of(d) in (K_R, K_P) and not has_lane(d) and not self.div.is_varying(d)

    def _form(self, inst: Inst) -> Op | None:
        """The uniform operation that does what an instruction does."""
        o = inst.op
        if o is OP_PHI or o is OP_PACK or o is OP_COPY:
            if o is OP_COPY and kind_of(inst.src[0]) not in (K_R, K_IMM, K_CONST):
                return None
            plain = all(not has_flags(s) for s in inst.src)
            return o if plain and in_file(inst.dst[0], K_R) and self.fn.width(inst.dst[0]) <= 2 else None
        if o.base == "S2R":
            s = inst.src[0]
            known = kind_of(s) == K_WORD and word_text(s).startswith(FIXED_SPECIALS)
            return _S2UR if known and self.table.accepts(_S2UR, PT, [_ANY], inst.src) else None
        if not o.uniform:
            return None
        form = op(".".join((o.uniform, *o.mods)))
        dst = [uniform_operand(d) for d in inst.dst]
        src = [_ANY if is_const(s) else uniform_operand(s) for s in inst.src]
        if self.table.accepts(form, PT, dst, src):
            return form
        # Legalisation moves immediates that do not fit to registers.
        places = [k for k, s in enumerate(src[:3]) if is_imm(s)]
        for moved in [[k] for k in places] + [places]:
            if self.table.accepts(form, PT, dst, [_ANY if k in moved else s for k, s in enumerate(src)]):
                return form
        return None

    def _keep_closed(self) -> None:
        """Leave out what has a source that does not move, and what reads that in turn."""
        readers: dict[int, list[Inst]] = {}
        work: list[Inst] = []
        for b in self.fn.blocks:
            for inst in b.insts:
                if inst.uid in self.forms:
                    for s in inst.src:
                        if _is_value(s):
                            readers.setdefault(vreg(s), []).append(inst)
                    if inst.uid not in self.lifted and not all(self._source(s) for s in inst.src):
                        work.append(inst)
        while work:
            inst = work.pop()
            if inst.uid in self.forms:
                self._drop(inst)
                for d in inst.dst:
                    if _is_value(d):
                        work.extend(readers.get(vreg(d), ()))

    def _source(self, o: Opnd) -> bool:
        kind = kind_of(o)
        if kind in (K_R, K_P):
            ident = vreg(o)
            return ident in self.made if ident >= FIRST_VIRTUAL else is_zero_reg(o) or is_true_pred(o)
        return True

    def _drop(self, inst: Inst) -> None:
        self.forms.pop(inst.uid, None)
        for d in inst.dst:
            self.made.pop(vreg(d), None)

    # --- which of them should ----------------------------------------------------------------------------------------

    def _index_users(self) -> None:
        for b in self.fn.blocks:
            for inst in b.insts:
                for k, o in enumerate(inst.src):
                    if _is_value(o) and vreg(o) in self.made:
                        reader = b.preds[k] if inst.op is OP_PHI else b
                        self.users.setdefault(vreg(o), []).append((inst, reader))
                if _is_value(inst.guard) and vreg(inst.guard) in self.made:
                    self.users.setdefault(vreg(inst.guard), []).append((inst, b))

    def _choose(self, forms: dict[int, Op], made: dict[int, Inst]) -> None:
        """Move what pays; with values of the vector datapath only if more warps fit then, or fewer words are spilled."""
        self._give_back()
        if not any(uid in self.lifted for uid in self.forms):
            return
        lifted_forms, lifted_made = dict(self.forms), dict(self.made)
        need = self._registers_left()
        self._restore(forms, made)
        for b in self.fn.blocks:
            for inst in b.insts:
                if inst.uid in self.lifted:
                    self._drop(inst)
        self._keep_closed()
        alone_forms, alone_made = dict(self.forms), dict(self.made)
        self._give_back()
        if need < self._registers_left():
            self._restore(lifted_forms, lifted_made)
            return
        # Neither may a condition of a branch or a base of an address be made of them.
        forms.clear()
        forms.update(alone_forms)
        made.clear()
        made.update(alone_made)

    def _restore(self, forms: dict[int, Op], made: dict[int, Inst]) -> None:
        """Take what moves from a copy."""
        self.forms.clear()
        self.forms.update(forms)
        self.made.clear()
        self.made.update(made)

    def _registers_left(self) -> tuple[int, int]:
        """The words of the fullest block that find no register once the others have moved, and the registers of its occupancy."""
        words = self._words_left()
        return max(0, words - self.fn.max_regs), max(registers_of(words), registers_for(self.fn.warps()))

    def _words_left(self) -> int:
        """The words of the fullest block once the others have moved."""
        words = self.top
        for v in self.made:
            if self.held >> v & 1 and self.fn.vkind[v] == K_R:
                words -= self.fn.vwidth[v]
        return words

    def _give_back(self) -> None:
        """Users first: leave in vector registers what costs more moves as a uniform value than it saves."""
        order = [inst for b in self.fn.blocks for inst in b.insts if inst.uid in self.forms]
        for _ in range(self.fn.knobs.urf_rounds):
            left = len(self.forms)
            for inst in reversed(order):
                if inst.uid in self.forms and self._costs_more(inst):
                    self._drop(inst)
            if len(self.forms) == left:
                break

    def _take_conditions(self, forms: dict[int, Op], made: dict[int, Inst]) -> None:
        """Move the conditions of branches, with what they are made of, where that takes no more moves than it saves."""
        for b in self.fn.blocks:
            t = b.terminator()
            if t is None or not self._branches_uniformly(t, b):
                continue
            condition = made.get(vreg(t.guard))
            if condition is not None:
                # The branch itself waits less for its condition, which counts in loops.
                self._take(condition, self._weight(b) * self.fn.knobs.urf_branch_gain >> 3, forms, made)

    def _take_bases(self, forms: dict[int, Op], made: dict[int, Inst]) -> None:
        """Move what sums add to bases of addresses, where it takes fewer moves than there are sums: addresses add it themselves."""
        gains: dict[int, int] = {}
        for total, _ in base_sums(self.fn, self.table):
            terms = [s for s in total.src if _is_value(s)]
            uniform = [s for s in terms if vreg(s) in made and not has_flags(s) and self.fn.width(s) == 1]
            uniform = [s for s in uniform if not _is_constant(made[vreg(s)])]
            plain = len(terms) == 2 and all(is_vreg(s) or s == RZ for s in total.src)
            if plain and len(uniform) == 1 and not any(has_lane(s) for s in terms):
                v = vreg(uniform[0])
                gains[v] = gains.get(v, 0) + self._weight(self.home[total.uid])
        for v, gain in gains.items():
            self._take(made[v], gain - 1, forms, made)

    def _take_addresses(self, forms: dict[int, Op], made: dict[int, Inst]) -> None:
        """Move addresses of 64 bits that accesses take whole, where it takes no more moves than it saves."""
        for b in self.fn.blocks:
            for inst in b.insts:
                for a in inst.op.addr:
                    root = made.get(vreg(inst.src[a + 1])) if _is_value(inst.src[a + 1]) else None
                    if root is None or _is_constant(root) or self.fn.width(root.dst[0]) == 1:
                        continue
                    if take_uniform(self.fn, self.table, inst, a + 1) is not None:
                        self._take(root, 0, forms, made)

    def _take_late(self, forms: dict[int, Op], made: dict[int, Inst]) -> None:
        """Move conversions and counts of bits, where that takes no more moves: the uniform datapath has their results at a fixed time, and soon."""
        for b in self.fn.blocks:
            for inst in b.insts:
                form = forms.get(inst.uid)
                if form is None or inst.uid in self.forms or inst.op.flags & F_PSEUDO:
                    continue
                if self.lat.barriers(inst.op) & NEEDS_WRITE and not self.lat.barriers(form) & NEEDS_WRITE:
                    self._take(inst, 0, forms, made)

    def _take(self, root: Inst, gain: int, forms: dict[int, Op], made: dict[int, Inst]) -> None:
        """Move a computation with all that it is made of, unless that takes more moves than it saves and `gain`."""
        more: dict[int, Inst] = {}
        work = [root]
        readers = 0
        while work and len(more) + readers < self.fn.knobs.urf_condition_budget:
            inst = work.pop()
            if inst.uid in more or inst.uid in self.forms:
                continue
            more[inst.uid] = inst
            readers += sum(len(self.users.get(vreg(d), ())) for d in inst.dst)
            if inst.uid not in self.lifted:
                work += [made[vreg(s)] for s in inst.src if _is_value(s)]
        if work:
            return
        saved = gain + sum(self._needed_back(inst) for inst in more.values())
        for inst in more.values():
            self.forms[inst.uid] = forms[inst.uid]
            for d in inst.dst:
                if is_vreg(d):
                    self.made[vreg(d)] = inst
        for inst in more.values():
            cost, won, _ = self._balance(inst)
            # A constant that vector operations need too is loaded twice.
            saved += won - (min(cost, 1) if _is_constant(inst) else cost)
        if saved < 0:
            for inst in more.values():
                self._drop(inst)

    def _branches_uniformly(self, inst: Inst, b: Block) -> bool:
        """True for a branch on a predicate that may be a uniform one: the warp reaches it as a whole."""
        return (
            self.fn.target.has(features.UNIFORM_BRANCHES)
            and inst.op is OP_BRA
            and not inst.src
            and _is_value(inst.guard)
            and len(b.succs) == 2
            and not self.div.regions[b.id]
        )

    def _costs_more(self, inst: Inst) -> bool:
        cost, gain, wanted = self._balance(inst)
        if _is_constant(inst):
            # Those that take no uniform register read a constant where it is.
            return not wanted
        return not wanted and cost > gain + self._needed_back(inst)

    def _balance(self, inst: Inst) -> tuple[int, int, bool]:
        """Weight of the copies that an instruction causes if it moves and of what it saves; True if one that moves reads it."""
        fn = self.fn
        cost = self._weight(self.home[inst.uid]) if inst.uid in self.lifted else 0
        gain = 0
        wanted = False
        for d in inst.dst:
            v = vreg(d)
            copied: set[int] = set()
            for user, b in self.users.get(v, ()):
                if user.uid in self.forms:
                    wanted = True
                    continue
                if vreg(user.guard) == v and self._branches_uniformly(user, b):
                    continue
                moved = self._takes(user, v)
                if moved is not None:
                    gain += moved * self._weight(b)
                elif b.id not in copied:
                    copied.add(b.id)
                    cost += self._weight(b) * fn.vwidth[v]
            if v >= FIRST_VIRTUAL and self.hot >> v & 1 and fn.vkind[v] == K_R:
                gain += fn.vwidth[v] * self.peak
        return cost, gain, wanted

    def _weight(self, b: Block) -> int:
        """How often a block runs, roughly."""
        return 1 << self.fn.knobs.loop_weight_bits * min(b.depth, 4)

    def _needed_back(self, inst: Inst) -> int:
        """Weight of the copies that an instruction needs if it stays: vector operations take one operand that is no vector register."""
        here = self._weight(self.home[inst.uid])
        pseudo = inst.op.flags & F_PSEUDO
        total = 0
        taken = False
        for k, s in enumerate(inst.src):
            d = self.made.get(vreg(s)) if _is_value(s) else None
            if d is None or _is_constant(d):
                continue
            total += here * self.fn.vwidth[vreg(s)]
            if not taken and not pseudo and in_file(s, K_R):
                if take_uniform(self.fn, self.table, inst, k) is not None:
                    taken = True
                    total -= here
        return total

    def _takes(self, user: Inst, v: int) -> int | None:
        """Instructions saved where an instruction reads a register that is uniform; None if that takes a copy."""
        places = [k for k, s in enumerate(user.src) if vreg(s) == v and in_file(s, K_R)]
        if not places or user.op is OP_PHI or vreg(user.guard) == v:
            return None
        if user.op.base == "R2UR":
            return 1 if len(user.dst) == 1 else None
        if user.dst and in_file(user.dst[0], K_UR) and user.op.flags & F_PSEUDO:
            return len(places)
        if len(places) > 1:
            return None
        return 0 if take_uniform(self.fn, self.table, user, places[0]) is not None else None

    # --- rewriting ---------------------------------------------------------------------------------------------------

    def _rewrite(self) -> None:
        fn = self.fn
        twins: dict[int, int] = {}
        for b in fn.blocks:
            out: list[Inst] = []
            for inst in b.insts:
                out.append(inst)
                form = self.forms.get(inst.uid)
                if form is None:
                    continue
                if _is_constant(inst):
                    # Readers of the vector register keep it.
                    v = vreg(inst.dst[0])
                    twin = fn.new_vreg(K_UR, fn.vwidth[v])
                    twins[v] = vreg(twin)
                    out.append(fn.new_inst(OP_COPY, [twin], list(inst.src), loc=inst.loc))
                else:
                    inst.op = form
                    inst.dst = [uniform_operand(d) for d in inst.dst]
                    for d in inst.dst:
                        if is_vreg(d):
                            fn.vkind[vreg(d)] = kind_of(d)
            b.insts = out
        self.made.update({t: self.made[v] for v, t in twins.items()})
        copies: dict[tuple[int, int], Opnd] = {}
        for b in fn.blocks:
            out = []
            for inst in b.insts:
                if inst.uid in self.forms:
                    if kind_of(inst.dst[0]) in (K_UR, K_UP) and inst.uid not in self.lifted:
                        inst.src = [_renamed(uniform_operand(s), twins) for s in inst.src]
                elif inst.op is not OP_PHI:
                    self._feed(inst, b, twins, copies, out)
                out.append(inst)
            b.insts = out
        self._feed_phis(copies)

    def _moved(self, o: Opnd) -> bool:
        """True for an operand that still names a register as a vector one that is uniform now."""
        v = vreg(o)
        return _is_value(o) and v in self.made and self.fn.vkind[v] in (K_UR, K_UP)

    def _feed(
        self, inst: Inst, b: Block, twins: dict[int, int], copies: dict[tuple[int, int], Opnd], out: list[Inst]
    ) -> None:
        """Give an instruction that stays its uniform sources, as they are or as copies."""
        fn = self.fn
        if inst.op.base == "IADD3":
            self._add_first(inst, b, out)
        for k in range(len(inst.src)):
            s = inst.src[k]
            v = vreg(s)
            moved = self._moved(s)
            if not moved and not (v in twins and in_file(s, K_R)):
                continue
            if inst.op.base == "R2UR" and len(inst.dst) == 1 and not has_flags(s):
                inst.op, inst.guard = OP_COPY, PT
                inst.src = [_renamed(uniform_operand(s), twins)]
            elif inst.op.flags & F_PSEUDO and inst.dst and in_file(inst.dst[0], K_UR) and not has_flags(s):
                inst.src[k] = _renamed(uniform_operand(s), twins)
            elif moved:
                found = take_uniform(fn, self.table, inst, k) if in_file(s, K_R) else None
                if found is not None:
                    inst.op, inst.src = found
        for k, s in enumerate(inst.src):
            if self._moved(s):
                inst.src[k] = self._copy(s, b, copies, out)
        if self._moved(inst.guard) and self._branches_uniformly(inst, b):
            inst.op, inst.src, inst.guard = _BRANCH, [uniform_operand(inst.guard)], PT
        elif self._moved(inst.guard):
            inst.guard = self._copy(inst.guard, b, copies, out)

    def _add_first(self, inst: Inst, b: Block, out: list[Inst]) -> None:
        """Of three addends two of which are uniform, those two are added before."""
        if len(inst.src) != 3 or len(inst.dst) != 1 or self.div.regions[b.id] or inst.op.mods:
            return
        both = [k for k, s in enumerate(inst.src) if self._moved(s)]
        if len(both) == 2 and not any(has_flags(inst.src[k]) for k in both):
            rest = next(s for k, s in enumerate(inst.src) if k not in both)
            if in_file(rest, K_R) and not is_zero_reg(rest):
                u = self.fn.new_vreg(K_UR)
                parts = [uniform_operand(inst.src[k]) for k in both]
                out.append(self.fn.new_inst(_UIADD3, [u], [*parts, URZ], loc=inst.loc))
                inst.src = [rest, u, RZ]

    def _copy(self, o: Opnd, b: Block, copies: dict[tuple[int, int], Opnd], out: list[Inst]) -> Opnd:
        """A vector register with the value of a uniform one, made once for each block."""
        fn = self.fn
        v = vreg(o)
        kind = kind_of(o)
        found = copies.get((v, b.id))
        if found is None:
            found = copies[v, b.id] = fn.new_vreg(kind, fn.vwidth[v])
            source = reg(K_UR if kind == K_R else K_UP, v)
            out.append(fn.new_inst(OP_COPY, [found], [source]))
        return with_lane(found | flags_of(o), lane_of(o))

    def _feed_phis(self, copies: dict[tuple[int, int], Opnd]) -> None:
        """Copies for phis that stay, at the ends of the predecessors."""
        for b in self.fn.blocks:
            for inst in b.insts:
                if inst.op is not OP_PHI:
                    break
                if kind_of(inst.dst[0]) not in (K_R, K_P):
                    continue
                for k, s in enumerate(inst.src):
                    if self._moved(s):
                        p = b.preds[k]
                        new: list[Inst] = []
                        inst.src[k] = self._copy(s, p, copies, new)
                        at = len(p.insts) - (1 if p.terminator() is not None else 0)
                        p.insts[at:at] = new


def _is_value(o: Opnd) -> bool:
    """True for a virtual vector register or predicate."""
    return is_vreg(o) and kind_of(o) in (K_R, K_P)


def _is_constant(inst: Inst) -> bool:
    return inst.op is OP_COPY and kind_of(inst.src[0]) in (K_IMM, K_CONST)


def _renamed(o: Opnd, twins: dict[int, int]) -> Opnd:
    twin = twins.get(vreg(o)) if in_file(o, K_UR) else None
    return o if twin is None else with_reg(o, twin)
