"""Reads a cubin of Orias or of ptxas: kernels with code, registers, parameters, memory, constant banks, variables.

Every malformed input raises :class:`CubinError`.  The disassembler and the simulator load a :class:`Reader`;
``Reader(data).module`` is the whole file as the writer's model, for programs that change a file.
"""

import re
from itertools import combinations
from struct import unpack_from
from typing import Final, final

from orias.cubin import elf
from orias.cubin import nvinfo as nv
from orias.cubin.cubin_error import CubinError
from orias.cubin.debugframe_read import FrameReader
from orias.cubin.elf import ElfFile, Section, Symbol
from orias.cubin.elf_values import CubinFacts
from orias.cubin.model import (
    GLOBAL,
    LOCAL,
    RESERVED_BEGIN,
    RESERVED_CAP,
    RESERVED_OFFSET,
    WEAK,
    BankSlot,
    BranchTargets,
    CallEdge,
    CubinModule,
    ExternFunction,
    KernelCode,
    Param,
    Reloc,
    SubFunction,
    Variable,
)
from orias.cubin.nvinfo import Record
from orias.cubin.relocs import R_FUNC_DESC_64
from orias.target.profile import Target, profile_of_sm

_SPACES: Final = {
    0: "",
    1: "local",
    2: "shared",
    3: "const",
    4: "global",
    5: "generic",
    6: "texref",
    7: "surfref",
    8: "samplerref",
}
"""Reserved bytes at the start of ``.nv.shared`` sections of sm_90 and later."""


_ERASABLE: Final = (RESERVED_OFFSET, RESERVED_BEGIN, RESERVED_CAP)
_GAPS: Final = re.compile(rb"\0{2,}")
_ACCELERATED: Final = 0x800
"""Flag of accelerated targets before that ABI version."""
_COMPAT_CLASS: Final = 11
_BY_SYMBOL: Final = (
    nv.REGCOUNT, nv.FRAME_SIZE, nv.MIN_STACK_SIZE, nv.MAX_STACK_SIZE, nv.SAMPLER_INIT, nv.SAMPLER_FORCE_UNNORMALIZED,
)  # fmt: skip
"""Attributes of a symbol, whose payload is the symbol index and a word."""


def _erased_names(strtab: bytes) -> set[str]:
    """Symbols of reserved shared memory whose names are gaps in a string table: each run of zeros is as long as some of them together."""
    out: set[str] = set()
    for run in _GAPS.findall(strtab):
        for k in range(1, len(_ERASABLE) + 1):
            for names in combinations(_ERASABLE, k):
                if 1 + sum(len(n) + 1 for n in names) == len(run):
                    out.update(names)
    return out


def _profile(sm: int) -> Target:
    try:
        return profile_of_sm(sm)
    except KeyError:
        raise CubinError(f"cubins of sm_{sm} are not known") from None


@final
class Reader:
    """A parsed cubin.

    ``kernels``: entries by name; ``functions``: the other functions with a section of their own.  ``sm`` is the number
    in the header, ``target`` the target's name, with an ``a`` if the file asks for an accelerated target.
    ``param_base``: byte offset of the parameters in constant bank 0, by kernel.
    """

    __slots__ = ("elf", "facts", "functions", "kernels", "module", "param_base", "relocatable", "sm", "target")

    def __init__(self, data: bytes) -> None:
        self.elf: ElfFile = ElfFile(data)
        if self.elf.type not in (elf.ET_REL, elf.ET_EXEC, elf.ET_EXTENSIBLE):
            raise CubinError(f"ELF type {self.elf.type:#x} is neither an executable nor a relocatable cubin")
        self.sm: int = self.elf.sm
        self.relocatable: bool = self.elf.type == elf.ET_REL
        accelerated = self._accelerated()
        self.target: str = f"sm_{self.sm}{'a' if accelerated else ''}"
        self.facts: CubinFacts = CubinFacts(_profile(self.sm))
        self.module: CubinModule = CubinModule(self.target, self.relocatable)
        self.module.extensible = self.elf.type == elf.ET_EXTENSIBLE
        self.kernels: dict[str, KernelCode] = {}
        self.functions: dict[str, KernelCode] = {}
        self.param_base: dict[str, int] = {}
        self._notes()
        self._code()
        self._variables()
        codes = {k.name for k in self.module.kernels}
        texts = [s.name.removeprefix(".text.") for s in self.elf.sections if s.name.startswith(".text.")]
        self.module.section_order = [name for name in texts if name in codes]
        self._module_info()
        self._frames()
        self._graph()

    # -- banks and memory images -----------------------------------------------------------------------------------

    def bank(self, number: int, kernel: str = "") -> bytes:
        """Contents of constant bank 2 (of a kernel), 3 or 4, without relocations; empty if there is none."""
        section = self.elf.section(f".nv.constant{number}" + (f".{kernel}" if kernel else ""))
        return section.data if section else b""

    def global_init(self) -> bytes:
        """Initial contents of ``.nv.global.init``, without relocations."""
        section = self.elf.section(".nv.global.init")
        return section.data if section else b""

    def shared_size(self, kernel: str) -> int:
        """Static shared bytes of a kernel, including the part that the system reserves."""
        section = self.elf.section(f".nv.shared.{kernel}")
        return section.size if section else 0

    # -- parsing ---------------------------------------------------------------------------------------------------

    def _accelerated(self) -> bool:
        section = self.elf.section(".nv.compat")
        if section is None:
            return self.elf.is_old and bool(self.elf.flags & _ACCELERATED)
        return any(r.code == 9 and r.value == 1 for r in nv.decode(section.data, ".nv.compat"))

    def _notes(self) -> None:
        m = self.module
        cuinfo = self.elf.section(".note.nv.cuinfo")
        if cuinfo is not None and len(cuinfo.data) >= 32:
            m.ptx_sm = unpack_from("<H", cuinfo.data, 26)[0]
        tkinfo = self.elf.section(".note.nv.tkinfo")
        if tkinfo is not None and len(tkinfo.data) >= 48:
            words = unpack_from("<6I", tkinfo.data, 24)
            strings = tkinfo.data[48:]
            texts = [strings[at:].split(b"\0", 1)[0].decode("utf-8", "replace") for at in words[1:]]
            m.object_name, m.tool, m.tool_version, m.tool_build, m.options = texts
        host = self.elf.section(".nv.host")
        if host is not None:
            m.host = host.data
        compat = self.elf.section(".nv.compat")
        if compat is not None:
            for r in nv.decode(compat.data, ".nv.compat"):
                if r.code == 2:
                    m.isa_class = r.value
                elif r.code == 3:
                    m.tensor_map = r.value
                elif r.code == _COMPAT_CLASS:
                    lacking = self.facts.compat_class & ~int.from_bytes(r.payload, "little")
                    m.paced = lacking & self.facts.compat_paced != 0

    def _code(self) -> None:
        texts = [s for s in self.elf.sections if s.name.startswith(".text.") and s.type == elf.SHT_PROGBITS]
        found: list[KernelCode] = []
        names = {s.name for s in self.elf.symbols}
        erased = _erased_names(strtab.data) if (strtab := self.elf.section(".strtab")) is not None else set()
        for text in texts:
            name = text.name[len(".text.") :]
            symbol = self._function_symbol(text, name)
            k = KernelCode(name, text.data, symbol.other & elf.STO_ENTRY != 0)
            k.padded = True
            k.binding = symbol.bind
            if not self.facts.split_segments:
                k.num_regs = text.info >> 24
            for s in self.elf.symbols_of(text.index):
                if s.type == elf.STT_FUNC and s.name != name:
                    sub = SubFunction(s.name, s.value, s.size, "$__internal_" in s.name)
                    sub.binding = s.bind
                    k.subs.append(sub)
            k.subs.sort(key=lambda sub: sub.offset)
            at = 0
            for sub in k.subs:
                sub.alias = sub.offset == at
                at = sub.offset
            self._kernel_sections(k, text)
            info = self.elf.section(f".nv.info.{name}")
            if info is not None:
                self._kernel_info(k, nv.decode(info.data, info.name))
            if self.facts.mercury_layout:
                k.reserved_begin, k.reserved_cap = RESERVED_BEGIN in names, RESERVED_CAP in names
            elif k.reserved_smem_used:
                k.reserved_begin, k.reserved_cap = RESERVED_BEGIN in erased, RESERVED_CAP in erased
                k.reserved_offset = RESERVED_OFFSET in erased
            (self.kernels if k.is_entry else self.functions)[name] = k
            found.append(k)
        local = [k for k in found if not k.is_entry and k.binding == LOCAL]
        self.module.kernels = local + [k for k in found if k.is_entry or k.binding != LOCAL][::-1]

    def _function_symbol(self, text: Section, name: str) -> Symbol:
        for s in self.elf.symbols_of(text.index):
            if s.name == name and s.type == elf.STT_FUNC:
                return s
        raise CubinError(f"{text.name}: there is no function symbol {name}")

    def _relocs(self, section: Section) -> list[Reloc]:
        entries = self.elf.relocations(section)
        out = [Reloc(r.offset, r.type, self.elf.symbol_name(r.symbol, section.name), r.addend) for r in entries]
        out.sort(key=lambda r: r.offset)
        return out

    def _kernel_sections(self, k: KernelCode, text: Section) -> None:
        k.relocs = self._relocs(text)
        applied = (self.elf.section(prefix + k.name) for prefix in (".rel.text.", ".rela.text."))
        k.relocs_applied = any(s is not None and not s.data for s in applied)
        shared = self.elf.section(f".nv.shared.{k.name}")
        if shared is not None and not self.relocatable:
            reserved = 0 if self.module.extensible else self.facts.system_shared
            if shared.size < reserved:
                raise CubinError(f"{shared.name}: {shared.size} bytes are less than the reserved {reserved}")
            k.shared_size, k.shared_align = shared.size - reserved, shared.align
            if k.shared_size == 0:
                k.shared_dynamic.append(Variable("", "shared", 0, shared.align))
        if shared is not None and self.relocatable:
            for s in self.elf.symbols_of(shared.index):
                if s.type == elf.STT_CUDA_OBJECT:
                    k.shared.append(Variable(s.name, "shared", s.size, s.value))
        bank2 = self.elf.section(f".nv.constant2.{k.name}")
        if bank2 is not None:
            k.const2, k.const2_align = bank2.data, bank2.align
            if self.elf.section(f".rela.nv.constant2.{k.name}") is not None:
                k.const2_resolved = True
            for part in self.elf.symbols_of(bank2.index):
                if part.type == elf.STT_CUDA_OBJECT:
                    k.const2_parts.append((part.value, part.size))
        bank0 = self.elf.section(f".nv.constant0.{k.name}")
        if bank0 is not None:
            k.texture_relocs = self._relocs(bank0)

    def _kernel_info(self, k: KernelCode, records: list[Record]) -> None:
        for r in records:
            self._kernel_record(k, r)
        codes = [r.code for r in records]
        if nv.NUM_BARRIERS in codes and nv.MERCURY_ISA_VERSION in codes:
            k.barriers_of_callees = codes.index(nv.NUM_BARRIERS) > codes.index(nv.MERCURY_ISA_VERSION)
        k.params.reverse()

    def _kernel_record(self, k: KernelCode, r: Record) -> None:
        where = f".nv.info.{k.name}: {r.name()}"
        code = r.code
        if code == nv.BINDLESS_SURFACE_BANK:
            k.surface_named_again = k.bindless_surface or k.bindless_texture
            k.bindless_surface |= not k.bindless_texture
        elif code in _FLAGS:
            setattr(k, _FLAGS[code], True)
        elif code in _LISTS:
            setattr(k, _LISTS[code], [*getattr(k, _LISTS[code]), *r.words()])
        elif code == nv.SHARED_SCRATCH:
            k.shared_scratch = _word(r, 1, where)
        elif code == nv.ANNOTATIONS:
            spills, texts = nv.notes_of(r.words())
            k.spill_offsets += spills
            k.annotation += "".join(texts)
        elif code in _TRIPLES:
            setattr(k, _TRIPLES[code], _three(r, where))
        elif code == nv.PARAM_CBANK:
            place = _word(r, 1, where)
            k.param_bytes = place >> 16
            self.param_base[k.name] = place & 0xFFFF
        elif code == nv.CBANK_PARAM_SIZE:
            k.param_bytes = r.value
        elif code == nv.KPARAM_INFO:
            flags = _word(r, 2, where)
            self._param(k, r, where, flags >> 8 & 0xF, flags & 0xFF, flags >> 18)
        elif code == nv.KPARAM_INFO_V2:
            flags = _word(r, 2, where)
            self._param(k, r, where, flags >> 24 & 0xF, flags >> 16 & 0xFF, flags & 0xFFFF)
        elif code == nv.LANGUAGE:
            k.language = _word(r, 0, where)
        elif code == nv.SANITIZE:
            k.sanitize = r.value
        elif code == nv.MAXREG_COUNT:
            k.maxreg = r.value
        elif code == nv.NUM_BARRIERS:
            k.barriers = r.value
        elif code == nv.EXTERNS:
            k.externs += [self.elf.symbol_name(w, where) for w in r.words()]
        elif code == nv.COOP_GROUP_MASK_REGIDS:
            k.coop_mask_regs += [-1 if w == 0xFFFFFFFF else w & 0xFF for w in r.words()]
        elif code == nv.ATOM16_EMUL_INSTR_REG_MAP:
            k.atom16_regs += _pairs(r)
        elif code == nv.UNUSED_LOAD_BYTE_OFFSET:
            k.unused_load_bytes += _pairs(r)
        elif code == nv.INDIRECT_BRANCH_TARGETS:
            self._branches(k, r, where)
        elif code == nv.MBARRIER_INSTR_OFFSETS:
            w = r.words()
            k.mbarrier_records += [(w[i], w[i + 1], w[i + 2], w[i + 3]) for i in range(0, len(w) - 3, 4)]
        elif code == nv.NUM_MBARRIERS:
            k.mbarrier_count = r.value
        elif code == nv.INSTR_REG_MAP:
            k.instr_reg_map = r.payload
        elif code == nv.SPARSE_MMA_MASK:
            k.sparse_mma_mask = r.value
        elif code == nv.VRC_CTA_INIT_COUNT:
            k.init_count = r.value
        elif code == nv.MAX_CLUSTER_RANK:
            k.max_cluster_rank = _word(r, 0, where)

    def _param(self, k: KernelCode, r: Record, where: str, space: int, align: int, size: int) -> None:
        place = _word(r, 1, where)
        if space not in _SPACES:
            raise CubinError(f"{where}: unknown parameter space {space}")
        if align > 31:
            raise CubinError(f"{where}: impossible alignment 2**{align}")
        p = Param(place & 0xFFFF, place >> 16, size, _SPACES[space], 1 << align if align else 0)
        symbol = _word(r, 0, where)
        if symbol:
            p.symbol = self.elf.symbol_name(symbol, where)
        k.params.append(p)

    def _branches(self, k: KernelCode, r: Record, where: str) -> None:
        w = r.words()
        i = 0
        while i + 3 <= len(w):
            count = w[i + 2]
            if i + 3 + count > len(w):
                raise CubinError(f"{where}: {count} targets do not fit into the record")
            targets = w[i + 3 : i + 3 + count]
            if k.branch_targets and k.branch_targets[-1].offset == w[i]:  # the rest of a long list
                k.branch_targets[-1].targets.extend(targets)
            else:
                k.branch_targets.append(BranchTargets(w[i], targets))
            i += 3 + count

    def _variables(self) -> None:
        m = self.module
        spaces = {".nv.global": "global", ".nv.global.init": "global", ".nv.constant3": "const"}
        spaces[".nv_debug.shared"] = "shared"
        by_section: dict[int, Section] = {s.index: s for s in self.elf.sections if s.name in spaces}
        references = {elf.STT_TEXTURE: "texref", elf.STT_SAMPLER: "samplerref", elf.STT_SURFACE: "surfref"}
        for s in self.elf.symbols:
            if s.type in references and s.section == 0:
                m.variables.append(Variable(s.name, references[s.type], 0, 1, s.bind))
            if s.type not in (elf.STT_OBJECT, elf.STT_CUDA_OBJECT):
                continue
            section = by_section.get(s.section)
            if section is not None:
                m.variables.append(self._variable(s, section, spaces[section.name]))
            elif s.section in (0, elf.SHN_COMMON) and s.type == elf.STT_CUDA_OBJECT:
                space = {0x20: "global", 0x40: "shared", 0x80: "const"}.get(s.other & 0xE0, "global")
                v = Variable(s.name, space, s.size, max(s.value, 1), s.bind, None, s.section == 0)
                v.common = s.section == elf.SHN_COMMON
                m.variables.append(v)
        bank4 = self.elf.section(".nv.constant4")
        if bank4 is not None:
            m.bank4 = [BankSlot(r.offset, r.symbol, r.addend, r.type == R_FUNC_DESC_64) for r in self._relocs(bank4)]
        self._merge_weak()
        for s2 in self.elf.sections:
            if s2.name == ".rela.nv.global.init" and not s2.data:
                for v in m.variables:
                    v.relocs_applied = v.data is not None and v.space == "global"
        m.externs = [
            ExternFunction(s.name, s.bind) for s in self.elf.symbols if s.type == elf.STT_FUNC and s.section == 0
        ]

    def _merge_weak(self) -> None:
        """Move weak variables, which the file has among the local symbols, to the visible ones, by address or table slot."""
        m = self.module
        slots = {s.symbol: s.offset for s in m.bank4}
        out = [v for v in m.variables if v.binding == GLOBAL]
        for w in (v for v in m.variables if v.binding == WEAK):
            key = slots.get(w.name, w.offset)
            before = [i for i, v in enumerate(out) if v.space == w.space and slots.get(v.name, v.offset) < key]
            out.insert(before[-1] + 1 if before else 0, w)
        m.variables = out + [v for v in m.variables if v.binding not in (GLOBAL, WEAK)]

    def _variable(self, s: Symbol, section: Section, space: str) -> Variable:
        if section.type in elf.NO_BYTES:
            data = None
        else:
            if s.value + s.size > len(section.data):
                raise CubinError(f"variable {s.name} reaches beyond the end of {section.name}")
            data = section.data[s.value : s.value + s.size]
        align = s.value if space == "shared" else section.align
        v = Variable(s.name, space, s.size, align, s.bind, data)
        v.offset = -1 if space == "shared" else s.value
        v.managed = s.other & 0x1F == 0x04
        if data is not None:
            for r in self._relocs(section):
                if s.value <= r.offset < s.value + s.size:
                    v.relocs.append(Reloc(r.offset - s.value, r.type, r.symbol, r.addend))
        return v

    def _module_info(self) -> None:
        section = self.elf.section(".nv.info")
        if section is None:
            return
        m = self.module
        subs = {sub.name: sub for k in m.kernels for sub in k.subs}
        codes = {k.name: k for k in m.kernels}
        records = nv.decode(section.data)
        order: dict[str, int] = {}
        for r in reversed(records):
            if r.code == nv.FRAME_SIZE:
                order.setdefault(self.elf.symbol_name(_word(r, 0, ".nv.info"), ".nv.info"), len(order))
        for k in m.kernels:
            k.subs.sort(key=lambda sub: order.get(sub.name, len(order)))
        for r in records:
            if r.code in _BY_SYMBOL:
                where = f".nv.info: {r.name()}"
                name = self.elf.symbol_name(_word(r, 0, where), where)
                value = _word(r, 1, where)
                owner = codes.get(name)
                if r.code == nv.SAMPLER_INIT:
                    m.sampler_inits.append((name, value))
                elif r.code == nv.SAMPLER_FORCE_UNNORMALIZED:
                    m.sampler_unnormalized.append((name, value))
                elif r.code == nv.FRAME_SIZE and name in subs:
                    subs[name].frame_size = value
                elif owner is None:
                    continue
                elif r.code == nv.REGCOUNT:
                    owner.num_regs = value
                elif r.code == nv.FRAME_SIZE:
                    owner.frame_size = value
                elif r.code == nv.MIN_STACK_SIZE:
                    owner.min_stack_size = value
                else:
                    owner.max_stack_size = value
            elif r.code == nv.TEXMODE_INDEPENDENT:
                m.texmode_independent = True
            elif r.code == nv.GEN_ERRBAR_AT_EXIT:
                m.errbar_at_exit = True

    def _frames(self) -> None:
        """Frame rows; left empty if the model cannot express ``.debug_frame`` (code of ``-g``)."""
        section = self.elf.section(".debug_frame")
        if section is None:
            return
        try:
            entries = FrameReader(section.data).run()
        except CubinError:
            return
        by_text = {f".text.{k.name}": k for k in self.module.kernels}
        order = [by_text[s.name] for s in self.elf.sections if s.name in by_text]
        at = 0
        for k in order:
            if at < len(entries):
                k.frame = entries[at].frame
            own = [sub for sub in k.subs if not sub.alias]
            for i, sub in enumerate(own, at + 1):
                if i < len(entries):
                    sub.frame = entries[i].frame
            at += 1 + len(own)

    def _graph(self) -> None:
        m = self.module
        strtab = self.elf.section(".strtab")
        names = strtab.data if strtab else b""

        def text(offset: int) -> str:
            return names[offset:].split(b"\0", 1)[0].decode("utf-8", "replace")

        proto = self.elf.section(".nv.prototype")
        if proto is not None and len(proto.data) % 8 == 0:
            pairs = [unpack_from("<II", proto.data, pos) for pos in range(0, len(proto.data), 8)]
            pairs.sort(key=lambda pair: -pair[1])
            m.prototypes = [(self.elf.symbol_name(symbol, proto.name), text(offset)) for symbol, offset in pairs]
        section = self.elf.section(".nv.callgraph")
        if section is None:
            m.uses_texture_query = bool(m.kernels)
            return
        if len(section.data) % 8:
            raise CubinError(f".nv.callgraph: size {len(section.data)} is not a multiple of 8")
        part = 0
        for pos in range(0, len(section.data), 8):
            a, b = unpack_from("<Ii", section.data, pos)
            if a == 0 and b < 0:
                part = -b
                continue
            left = self.elf.symbol_name(a, section.name)
            if part == 1:
                m.calls.append(CallEdge(left, self.elf.symbol_name(b, section.name)))
            elif part == 2:
                m.address_taken.append((left, text(b)))
            elif part == 3:
                m.indirect_calls.append((left, text(b)))
            elif part == 4:
                m.address_uses.append(CallEdge(left, self.elf.symbol_name(b, section.name)))
            else:
                raise CubinError(".nv.callgraph: entry outside its lists")


_FLAGS: Final[dict[int, str]] = {
    nv.CTAIDZ_USED: "ctaidz_used",
    nv.WMMA_USED: "wmma_used",
    nv.TOOLS_PATCH_FUNC: "tools_patch",
    nv.RESERVED_SMEM_USED: "reserved_smem_used",
    nv.BINDLESS_TEXTURE_BANK: "bindless_texture",
    nv.CRS_STACK_SIZE: "crs_stack",
    nv.EXPLICIT_CLUSTER: "explicit_cluster",
    nv.BLOCKS_ARE_CLUSTERS: "blocks_are_clusters",
    nv.REG_RECONFIG: "reg_reconfig",
    nv.AT_ENTRY_FRAGMENTS: "tensor_allocation",
    nv.TCGEN05_1CTA_USED: "tensor_blocks",
    nv.TCGEN05_2CTA_USED: "tensor_pairs",
}
_LISTS: Final[dict[int, str]] = {
    nv.EXIT_INSTR_OFFSETS: "exit_offsets",
    nv.COOP_GROUP_INSTR_OFFSETS: "coop_offsets",
    nv.INT_WARP_WIDE_INSTR_OFFSETS: "int_warp_wide",
    nv.SYSCALL_OFFSETS: "syscall_offsets",
    nv.STACK_CANARY_TRAP_OFFSETS: "stack_traps",
}
_TRIPLES: Final[dict[int, str]] = {
    nv.MAX_THREADS: "maxntid",
    nv.REQNTID: "reqntid",
    nv.CTA_PER_CLUSTER: "cluster_dim",
}


def _word(r: Record, index: int, where: str) -> int:
    words = r.words()
    if index >= len(words):
        raise CubinError(f"{where}: payload of {len(r.payload)} bytes is too short")
    return words[index]


def _three(r: Record, where: str) -> tuple[int, int, int]:
    return _word(r, 0, where), _word(r, 1, where), _word(r, 2, where)


def _pairs(r: Record) -> list[tuple[int, int]]:
    w = r.words()
    return [(w[i], w[i + 1]) for i in range(0, len(w) - 1, 2)]
