"""Records of ``.nv.info`` sections (EIATTR): the table of codes, decoding and encoding.

A record is a format byte, a code byte and a 16-bit word.  Format 1 (NVAL) has no value, 2 (BVAL) a byte and 3 (HVAL) a
half-word in the word; format 4 (SVAL) has a payload of that many bytes, padded to four.  Source of codes, formats and
payloads: ``docs/facts/cubin.md``, "Attributes"; codes that no measured file has are named but have no format.
"""

from collections.abc import Sequence
from struct import pack, unpack_from
from typing import Final, final

from orias.cubin.cubin_error import CubinError

NVAL: Final = 1
BVAL: Final = 2
HVAL: Final = 3
SVAL: Final = 4

CTAIDZ_USED: Final = 0x04
MAX_THREADS: Final = 0x05
SAMPLER_INIT: Final = 0x09
SAMPLER_FORCE_UNNORMALIZED: Final = 0x13
PARAM_CBANK: Final = 0x0A
EXTERNS: Final = 0x0F
REQNTID: Final = 0x10
FRAME_SIZE: Final = 0x11
MIN_STACK_SIZE: Final = 0x12
BINDLESS_TEXTURE_BANK: Final = 0x15
BINDLESS_SURFACE_BANK: Final = 0x16
KPARAM_INFO: Final = 0x17
CBANK_PARAM_SIZE: Final = 0x19
MAXREG_COUNT: Final = 0x1B
EXIT_INSTR_OFFSETS: Final = 0x1C
CRS_STACK_SIZE: Final = 0x1E
MAX_STACK_SIZE: Final = 0x23
COOP_GROUP_INSTR_OFFSETS: Final = 0x28
COOP_GROUP_MASK_REGIDS: Final = 0x29
WMMA_USED: Final = 0x2B
TOOLS_PATCH_FUNC: Final = 0x4B
ATOM16_EMUL_INSTR_REG_MAP: Final = 0x2E
REGCOUNT: Final = 0x2F
INT_WARP_WIDE_INSTR_OFFSETS: Final = 0x31
SHARED_SCRATCH: Final = 0x32
INDIRECT_BRANCH_TARGETS: Final = 0x34
SW2861232_WAR: Final = 0x35
SW_WAR: Final = 0x36
CUDA_API_VERSION: Final = 0x37
NUM_MBARRIERS: Final = 0x38
MBARRIER_INSTR_OFFSETS: Final = 0x39
CTA_PER_CLUSTER: Final = 0x3D
EXPLICIT_CLUSTER: Final = 0x3E
MAX_CLUSTER_RANK: Final = 0x3F
INSTR_REG_MAP: Final = 0x40
RESERVED_SMEM_USED: Final = 0x41
UNUSED_LOAD_BYTE_OFFSET: Final = 0x44
KPARAM_INFO_V2: Final = 0x45
SYSCALL_OFFSETS: Final = 0x46
VRC_CTA_INIT_COUNT: Final = 0x4A
NUM_BARRIERS: Final = 0x4C
TEXMODE_INDEPENDENT: Final = 0x4D
AT_ENTRY_FRAGMENTS: Final = 0x4F
SPARSE_MMA_MASK: Final = 0x50
TCGEN05_1CTA_USED: Final = 0x51
TCGEN05_2CTA_USED: Final = 0x52
GEN_ERRBAR_AT_EXIT: Final = 0x53
REG_RECONFIG: Final = 0x54
ANNOTATIONS: Final = 0x55
NOTE_SPILL: Final = 1
"""Kind of a note in ANNOTATIONS: a spill or its reload; its word is the byte address."""
NOTE_FUNCTION: Final = 3
"""Kind of a note on the function: length in bytes, text with its zero byte, padded to a word."""
STACK_CANARY_TRAP_OFFSETS: Final = 0x57
STUB_FUNCTION_KIND: Final = 0x58
BLOCKS_ARE_CLUSTERS: Final = 0x5B
MERCURY_FINALIZER_OPTIONS: Final = 0x5A
SANITIZE: Final = 0x5C
MERCURY_ISA_VERSION: Final = 0x5F
LANGUAGE: Final = 0x66
LANGUAGE_TILE: Final = 7
"""The value of LANGUAGE for a kernel of CUDA Tile IR."""

NAMES: Final[dict[int, str]] = {
    0x00: "ERROR",
    0x01: "PAD",
    0x02: "IMAGE_SLOT",
    0x03: "JUMPTABLE_RELOCS",
    0x04: "CTAIDZ_USED",
    0x05: "MAX_THREADS",
    0x06: "IMAGE_OFFSET",
    0x07: "IMAGE_SIZE",
    0x08: "TEXTURE_NORMALIZED",
    0x09: "SAMPLER_INIT",
    0x0A: "PARAM_CBANK",
    0x0B: "SMEM_PARAM_OFFSETS",
    0x0C: "CBANK_PARAM_OFFSETS",
    0x0D: "SYNC_STACK",
    0x0E: "TEXID_SAMPID_MAP",
    0x0F: "EXTERNS",
    0x10: "REQNTID",
    0x11: "FRAME_SIZE",
    0x12: "MIN_STACK_SIZE",
    0x13: "SAMPLER_FORCE_UNNORMALIZED",
    0x14: "BINDLESS_IMAGE_OFFSETS",
    0x15: "BINDLESS_TEXTURE_BANK",
    0x16: "BINDLESS_SURFACE_BANK",
    0x17: "KPARAM_INFO",
    0x18: "SMEM_PARAM_SIZE",
    0x19: "CBANK_PARAM_SIZE",
    0x1A: "QUERY_NUMATTRIB",
    0x1B: "MAXREG_COUNT",
    0x1C: "EXIT_INSTR_OFFSETS",
    0x1D: "S2RCTAID_INSTR_OFFSETS",
    0x1E: "CRS_STACK_SIZE",
    0x1F: "NEED_CNP_WRAPPER",
    0x20: "NEED_CNP_PATCH",
    0x21: "EXPLICIT_CACHING",
    0x22: "ISTYPEP_USED",
    0x23: "MAX_STACK_SIZE",
    0x24: "SUQ_USED",
    0x25: "LD_CACHEMOD_INSTR_OFFSETS",
    0x26: "LOAD_CACHE_REQUEST",
    0x27: "ATOM_SYS_INSTR_OFFSETS",
    0x28: "COOP_GROUP_INSTR_OFFSETS",
    0x29: "COOP_GROUP_MASK_REGIDS",
    0x2A: "SW1850030_WAR",
    0x2B: "WMMA_USED",
    0x2C: "HAS_PRE_V10_OBJECT",
    0x2D: "ATOMF16_EMUL_INSTR_OFFSETS",
    0x2E: "ATOM16_EMUL_INSTR_REG_MAP",
    0x2F: "REGCOUNT",
    0x30: "SW2393858_WAR",
    0x31: "INT_WARP_WIDE_INSTR_OFFSETS",
    0x32: "SHARED_SCRATCH",
    0x33: "STATISTICS",
    0x34: "INDIRECT_BRANCH_TARGETS",
    0x35: "SW2861232_WAR",
    0x36: "SW_WAR",
    0x37: "CUDA_API_VERSION",
    0x38: "NUM_MBARRIERS",
    0x39: "MBARRIER_INSTR_OFFSETS",
    0x3A: "COROUTINE_RESUME_OFFSETS",
    0x3B: "SAM_REGION_STACK_SIZE",
    0x3C: "PER_REG_TARGET_PERF_STATS",
    0x3D: "CTA_PER_CLUSTER",
    0x3E: "EXPLICIT_CLUSTER",
    0x3F: "MAX_CLUSTER_RANK",
    0x40: "INSTR_REG_MAP",
    0x41: "RESERVED_SMEM_USED",
    0x42: "RESERVED_SMEM_0_SIZE",
    0x43: "UCODE_SECTION_DATA",
    0x44: "UNUSED_LOAD_BYTE_OFFSET",
    0x45: "KPARAM_INFO_V2",
    0x46: "SYSCALL_OFFSETS",
    0x47: "SW_WAR_MEMBAR_SYS_INSTR_OFFSETS",
    0x48: "GRAPHICS_GLOBAL_CBANK",
    0x49: "SHADER_TYPE",
    0x4A: "VRC_CTA_INIT_COUNT",
    0x4B: "TOOLS_PATCH_FUNC",
    0x4C: "NUM_BARRIERS",
    0x4D: "TEXMODE_INDEPENDENT",
    0x4E: "PERF_STATISTICS",
    0x4F: "AT_ENTRY_FRAGEMENTS",
    0x50: "SPARSE_MMA_MASK",
    0x51: "TCGEN05_1CTA_USED",
    0x52: "TCGEN05_2CTA_USED",
    0x53: "GEN_ERRBAR_AT_EXIT",
    0x54: "REG_RECONFIG",
    0x55: "ANNOTATIONS",
    0x56: "UNKNOWN",
    0x57: "STACK_CANARY_TRAP_OFFSETS",
    0x58: "STUB_FUNCTION_KIND",
    0x59: "LOCAL_CTA_ASYNC_STORE_OFFSETS",
    0x5A: "MERCURY_FINALIZER_OPTIONS",
    0x5B: "BLOCKS_ARE_CLUSTERS",
    0x5C: "SANITIZE",
    0x5D: "SYSCALLS_FALLBACK",
    0x5E: "CUDA_REQ",
    0x5F: "MERCURY_ISA_VERSION",
    0x60: "ERROR_LAST",
    0x66: "LANGUAGE",
}


@final
class Record:
    """One record: ``value`` for BVAL and HVAL, ``payload`` for SVAL."""

    __slots__ = ("code", "format", "payload", "value")

    def __init__(self, code: int, format_: int, value: int = 0, payload: bytes = b"") -> None:
        self.code: int = code
        self.format: int = format_
        self.value: int = value
        self.payload: bytes = payload

    def name(self) -> str:
        """The attribute's name, or its code in hexadecimal."""
        return NAMES.get(self.code, f"{self.code:#04x}")

    def words(self) -> list[int]:
        """The payload as 32-bit words, without an incomplete last word."""
        return list(unpack_from(f"<{len(self.payload) // 4}I", self.payload))

    def __repr__(self) -> str:
        head = f"{self.name()}[{self.code:#04x}]"
        if self.format == NVAL:
            return head
        if self.format == SVAL:
            if len(self.payload) % 4:
                return f"{head} {self.payload.hex()}"
            return " ".join([head, *(f"{w:#x}" for w in self.words())])
        return f"{head} {self.value:#x}"


def nval(code: int) -> Record:
    """A record without value."""
    return Record(code, NVAL)


_MOST_WORDS: Final = 0xFFFF // 4
"""Words that the length of a record can count."""


def bval(code: int, value: int) -> Record:
    """A record with a byte."""
    return Record(code, BVAL, value)


def hval(code: int, value: int) -> Record:
    """A record with a half-word."""
    return Record(code, HVAL, value)


def sval(code: int, words: list[int]) -> Record:
    """A record with 32-bit words."""
    return Record(code, SVAL, 0, pack(f"<{len(words)}I", *(w & 0xFFFFFFFF for w in words)))


def svals(code: int, words: list[int], group: int = 1) -> list[Record]:
    """Records with a list of 32-bit words, none where there are no words; ``group`` words stay together.

    A record holds 16,383 words: a longer list takes several.  (ptxas 13.0.88 drops the words that its 16-bit length cannot count.)
    """
    most = _MOST_WORDS - _MOST_WORDS % group
    return [sval(code, words[i : i + most]) for i in range(0, len(words), most)]


def notes_of(words: Sequence[int]) -> tuple[list[int], list[str]]:
    """The byte addresses of spills, and the texts on the function, of an ANNOTATIONS record; notes of other kinds end the reading."""
    spills: list[int] = []
    texts: list[str] = []
    at = 0
    while at + 1 < len(words):
        kind, value = words[at], words[at + 1]
        at += 2
        if kind == NOTE_SPILL:
            spills.append(value)
        elif kind == NOTE_FUNCTION:
            count = -(-value // 4)
            data = b"".join([w.to_bytes(4, "little") for w in words[at : at + count]])
            texts.append(data[:value].rstrip(b"\0").decode("utf-8", "replace"))
            at += count
        else:
            break
    return spills, texts


def encode(records: list[Record]) -> bytes:
    """The section bytes of a list of records."""
    out = bytearray()
    for r in records:
        if r.format == SVAL:
            if len(r.payload) > 0xFFFF:
                raise CubinError(f"record {r.name()} of {len(r.payload)} bytes is too long")
            out += pack("<BBH", SVAL, r.code, len(r.payload))
            out += r.payload
            out += bytes(-len(r.payload) % 4)
        else:
            out += pack("<BBH", r.format, r.code, r.value)
    return bytes(out)


def decode(data: bytes, section: str = ".nv.info") -> list[Record]:
    """The records of a section; CubinError names ``section`` and the offset of the first malformed record."""
    out: list[Record] = []
    pos = 0
    while pos < len(data):
        if pos + 4 > len(data):
            raise CubinError(f"{section}: record at offset {pos} is cut off")
        fmt, code, value = unpack_from("<BBH", data, pos)
        pos += 4
        if fmt == SVAL:
            if pos + value > len(data):
                raise CubinError(f"{section}: payload of {value} bytes at offset {pos} is cut off")
            out.append(Record(code, SVAL, 0, data[pos : pos + value]))
            pos += (value + 3) & ~3
        elif fmt in (NVAL, BVAL, HVAL):
            out.append(Record(code, fmt, value))
        else:
            raise CubinError(f"{section}: unknown record format {fmt} at offset {pos - 4}")
    return out
