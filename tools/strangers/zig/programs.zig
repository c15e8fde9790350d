//! Programs of Zig's standard library: 8 words from a seed.  The module `chosen` names one, and the seed of the first thread.

const std = @import("std");
const builtin = @import("builtin");
const on_device = builtin.cpu.arch == .nvptx64;
pub const panic = std.debug.no_panic;
const Words = [8]u64;

fn bytes(seed: u64, buffer: []u8) void {
    var s = seed *% 0x9E3779B97F4A7C15 +% 1;
    for (buffer) |*b| {
        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
        b.* = @truncate(s >> 24);
    }
}

fn hash(comptime H: type, seed: u64, out: *Words) void {
    var data: [200]u8 = undefined;
    bytes(seed, &data);
    var h = H.init(.{});
    h.update(data[0 .. seed % 150]);
    h.update(data[3 .. 3 + seed % 90]);
    var d: [H.digest_length]u8 = undefined;
    h.final(&d);
    @memset(std.mem.asBytes(out), 0);
    const n = @min(d.len, 64);
    @memcpy(std.mem.asBytes(out)[0..n], d[0..n]);
}

const programs = struct {
    pub fn md5(seed: u64, out: *Words) void { hash(std.crypto.hash.Md5, seed, out); }
    pub fn sha1(seed: u64, out: *Words) void { hash(std.crypto.hash.Sha1, seed, out); }
    pub fn sha256(seed: u64, out: *Words) void { hash(std.crypto.hash.sha2.Sha256, seed, out); }
    pub fn sha512(seed: u64, out: *Words) void { hash(std.crypto.hash.sha2.Sha512, seed, out); }
    pub fn sha3(seed: u64, out: *Words) void { hash(std.crypto.hash.sha3.Sha3_256, seed, out); }
    pub fn blake2(seed: u64, out: *Words) void { hash(std.crypto.hash.blake2.Blake2b256, seed, out); }
    pub fn blake3(seed: u64, out: *Words) void { hash(std.crypto.hash.Blake3, seed, out); }
    pub fn small_hashes(seed: u64, out: *Words) void {
        var data: [100]u8 = undefined;
        bytes(seed, &data);
        const d = data[0 .. seed % 100];
        out.* = .{
            std.hash.Wyhash.hash(seed, d), std.hash.XxHash64.hash(seed, d), std.hash.XxHash32.hash(@truncate(seed), d),
            std.hash.Murmur2_64.hashWithSeed(d, seed), std.hash.CityHash64.hash(d), std.hash.Crc32.hash(d),
            std.hash.Adler32.hash(d), std.hash.Fnv1a_64.hash(d),
        };
    }
    pub fn siphash(seed: u64, out: *Words) void {
        var data: [64]u8 = undefined;
        bytes(seed, &data);
        const S = std.crypto.auth.siphash.SipHash64(2, 4);
        const T = std.crypto.auth.siphash.SipHash128(2, 4);
        const t = T.toInt(data[0 .. seed % 60], data[40..56]);
        out.* = .{ S.toInt(data[0 .. seed % 60], data[40..56]), @truncate(t), @truncate(t >> 64), 0, 0, 0, 0, 0 };
    }
    pub fn chacha(seed: u64, out: *Words) void {
        var data: [128]u8 = undefined;
        bytes(seed, &data);
        const A = std.crypto.aead.chacha_poly.ChaCha20Poly1305;
        var tag: [16]u8 = undefined;
        var c: [48]u8 = undefined;
        A.encrypt(&c, &tag, data[0..48], data[48..60], data[60..72].*, data[72..104].*);
        @memcpy(std.mem.asBytes(out)[0..48], &c);
        @memcpy(std.mem.asBytes(out)[48..64], &tag);
    }
    pub fn aes(seed: u64, out: *Words) void {
        var data: [64]u8 = undefined;
        bytes(seed, &data);
        const ctx = std.crypto.core.aes.Aes128.initEnc(data[0..16].*);
        const dec = std.crypto.core.aes.Aes128.initDec(data[0..16].*);
        var c: [64]u8 = undefined;
        ctx.encrypt(c[0..16], data[16..32]);
        ctx.encrypt(c[16..32], data[32..48]);
        dec.decrypt(c[32..48], data[16..32]);
        dec.decrypt(c[48..64], c[0..16]);
        @memcpy(std.mem.asBytes(out), &c);
    }
    pub fn ascon(seed: u64, out: *Words) void {
        var data: [64]u8 = undefined;
        bytes(seed, &data);
        var tag: [16]u8 = undefined;
        var c: [32]u8 = undefined;
        const A = std.crypto.aead.aegis.Aegis128L;
        A.encrypt(&c, &tag, data[0..32], data[32..40], data[40..56].*, data[48..64].*);
        @memset(out, 0);
        @memcpy(std.mem.asBytes(out)[0..32], &c);
        @memcpy(std.mem.asBytes(out)[32..48], &tag);
    }
    pub fn field(seed: u64, out: *Words) void {
        var data: [64]u8 = undefined;
        bytes(seed, &data);
        const Fe = std.crypto.ecc.Edwards25519.Fe;
        const a = Fe.fromBytes(data[0..32].*);
        const b = Fe.fromBytes(data[32..64].*);
        const r = a.mul(b).add(a.sq()).sub(b).invert().toBytes();
        const q = a.mul(b).mul(a).sub(b.mul32(12345)).toBytes();
        @memcpy(std.mem.asBytes(out)[0..32], &r);
        @memcpy(std.mem.asBytes(out)[32..64], &q);
    }
    pub fn scalars(seed: u64, out: *Words) void {
        var data: [96]u8 = undefined;
        bytes(seed, &data);
        const s = std.crypto.ecc.Edwards25519.scalar;
        const r = s.mulAdd(data[0..32].*, data[32..64].*, data[64..96].*);
        const q = s.reduce64(data[0..64].*);
        @memcpy(std.mem.asBytes(out)[0..32], &r);
        @memcpy(std.mem.asBytes(out)[32..64], &q);
    }
    pub fn p256(seed: u64, out: *Words) void {
        var data: [64]u8 = undefined;
        bytes(seed, &data);
        data[31] &= 127;
        data[63] &= 127;
        data[0] &= 127;
        data[32] &= 127;
        const Fe = std.crypto.ecc.P256.Fe;
        const a = Fe.fromBytes(data[0..32].*, .little) catch Fe.one;
        const b = Fe.fromBytes(data[32..64].*, .little) catch Fe.one;
        const r = a.mul(b).add(a.sq()).sub(b).toBytes(.little);
        const q = a.mul(b).neg().mul(b.dbl()).toBytes(.big);
        @memcpy(std.mem.asBytes(out)[0..32], &r);
        @memcpy(std.mem.asBytes(out)[32..64], &q);
    }
    pub fn wide(seed: u64, out: *Words) void {
        const a: u128 = (@as(u128, seed *% 0xD1B54A32D192ED03) << 64) | (seed *% 0x9E3779B97F4A7C15);
        const b: u128 = (@as(u128, seed *% 0xABCDEF) << 17) | 77;
        const c: i128 = @bitCast(a);
        const m = a *% b;
        const q = a / b;
        const r = a % (b >> 30 | 1);
        const d = @divFloor(c, @as(i128, @bitCast(b)));
        const w = @addWithOverflow(a, m);
        const s: u7 = @truncate(seed);
        out.* = .{ @truncate(m), @truncate(m >> 64), @truncate(q ^ (q >> 64)), @truncate(r), @truncate(@as(u128, @bitCast(d)) ^ (r >> 64)),
            @truncate(w[0] >> 64 ^ w[1]), @truncate((a << s) ^ (a >> s) >> 32), @popCount(a) + @as(u64, @clz(a >> s)) * 256 + @as(u64, @ctz(a << s)) * 65536 };
    }
    pub fn odd_widths(seed: u64, out: *Words) void {
        const a: u24 = @truncate(seed *% 77777);
        const b: i37 = @bitCast(@as(u37, @truncate(seed *% 0x9E3779B97F4A7C15)));
        const c: u3 = @truncate(seed >> 1);
        const d: i5 = @bitCast(@as(u5, @truncate(seed *% 7)));
        const e: u200 = @as(u200, seed *% 0x1234567) *% (@as(u200, 1) << 130 | seed);
        const f: i65 = @as(i65, b) * 1000003;
        out.* = .{ a +| 0xfff000, @bitCast(@as(i64, b -| (1 << 35))), @as(u64, @bitReverse(a)) ^ (@as(u64, @byteSwap(a)) << 24), c *% 3,
            @bitCast(@as(i64, d *| 3)), @truncate(e >> 100), @truncate(@as(u65, @bitCast(f)) >> 1), @as(u64, @intCast(@mod(b, 1000))) ^ @as(u64, @bitCast(@as(i64, @divTrunc(b, 37)))) };
    }
    const Packed = packed struct { a: u3, b: i11, c: bool, d: u17, e: i20, f: u12 };
    pub fn packed_fields(seed: u64, out: *Words) void {
        var table: [16]Packed = undefined;
        var s = seed;
        for (&table) |*p| {
            s = s *% 6364136223846793005 +% 1442695040888963407;
            p.* = @bitCast(s);
            p.b = p.b *% 3 +% @as(i11, @truncate(p.e));
            p.c = p.c != (p.a > 3);
            p.d +|= p.f;
        }
        for (out, 0..) |*o, i| {
            const p = table[(seed + i * 5) % 16];
            o.* = @as(u64, @bitCast(p)) ^ @as(u64, @bitCast(table[i]));
        }
    }
    const Tree = union(enum) { leaf: i32, add: [2]u8, mul: [2]u8, neg: u8 };
    fn eval(t: []const Tree, i: u8, depth: u32) i32 {
        if (depth > 12) return 1;
        return switch (t[i]) {
            .leaf => |v| v,
            .add => |k| eval(t, k[0], depth + 1) +% eval(t, k[1], depth + 1),
            .mul => |k| eval(t, k[0], depth + 1) *% eval(t, k[1], depth + 1),
            .neg => |k| -%eval(t, k, depth + 1),
        };
    }
    pub fn tree(seed: u64, out: *Words) void {
        var t: [24]Tree = undefined;
        var s = seed;
        for (&t, 0..) |*p, i| {
            s = s *% 6364136223846793005 +% 1442695040888963407;
            const n: u8 = @intCast(i);
            const k: u8 = if (n == 0) 0 else @intCast((s >> 40) % n);
            const l: u8 = if (n == 0) 0 else @intCast((s >> 50) % n);
            p.* = if (i < 4) .{ .leaf = @bitCast(@as(u32, @truncate(s >> 20))) } else switch (s >> 62) {
                0 => .{ .add = .{ k, l } },
                1 => .{ .mul = .{ k, l } },
                2 => .{ .neg = k },
                else => .{ .leaf = @intCast((s >> 33) & 0xffff) },
            };
        }
        for (out, 0..) |*o, i| o.* = @as(u32, @bitCast(eval(&t, @intCast(23 - i), 7)));
    }
    pub fn sorts(seed: u64, out: *Words) void {
        var a: [40]u32 = undefined;
        bytes(seed, std.mem.sliceAsBytes(&a));
        for (&a) |*x| x.* %= 97;
        var b = a;
        std.sort.heap(u32, &b, {}, std.sort.asc(u32));
        var c = a;
        std.sort.insertion(u32, c[0..20], {}, std.sort.desc(u32));
        std.sort.pdq(u32, c[10..], {}, std.sort.asc(u32));
        var d: [40]u32 = a;
        std.mem.sort(u32, &d, {}, std.sort.desc(u32));
        for (out, 0..) |*o, i| o.* = @as(u64, b[i * 5]) << 40 | @as(u64, c[i * 5 + 1]) << 20 | d[i * 5 + 2];
    }
    pub fn numbers(seed: u64, out: *Words) void {
        var buffer: [64]u8 = undefined;
        @memset(out, 0);
        const s = std.fmt.bufPrint(&buffer, "{d}:{x}:{b}", .{ seed *% 0x1234567, @as(u32, @truncate(seed *% 77)), @as(u8, @truncate(seed)) }) catch unreachable;
        for (s, 0..) |c, i| out[i % 4] = out[i % 4] *% 31 +% c;
        out[4] = std.fmt.parseInt(u64, s[0..4], 16) catch 99;
        const colon = std.mem.indexOfScalar(u8, s, ':') orelse 0;
        out[5] = std.fmt.parseInt(u64, s[0..colon], 10) catch 98;
        out[6] = std.mem.lastIndexOfScalar(u8, s, '1') orelse 97;
        out[7] = @bitCast(std.fmt.parseFloat(f64, s[0..@min(colon, 9)]) catch 96);
    }
    pub fn base64(seed: u64, out: *Words) void {
        var data: [40]u8 = undefined;
        bytes(seed, &data);
        var line: [64]u8 = undefined;
        const e = std.base64.standard.Encoder.encode(&line, data[0 .. seed % 40]);
        var back: [48]u8 = undefined;
        @memset(&back, 0);
        std.base64.standard.Decoder.decode(back[0 .. seed % 40], e) catch {};
        @memset(out, 0);
        for (e, 0..) |c, i| out[i % 4] = out[i % 4] *% 131 +% c;
        for (back, 0..) |c, i| out[4 + i % 4] = out[4 + i % 4] *% 131 +% c;
    }
    pub fn randoms(seed: u64, out: *Words) void {
        var x = std.Random.DefaultPrng.init(seed);
        const r = x.random();
        var p = std.Random.Pcg.init(seed);
        var i = std.Random.Isaac64.init(seed);
        var s = std.Random.Sfc64.init(seed);
        out.* = .{ r.int(u64), r.uintLessThan(u32, 1000), @bitCast(r.float(f64)), @as(u32, @bitCast(r.float(f32))), p.random().int(u32),
            i.random().int(u64), s.random().int(u64), r.intRangeAtMost(u16, 5, 5000) };
    }
    pub fn bigint(seed: u64, out: *Words) void {
        var b1: [16]std.math.big.Limb = undefined;
        var b2: [16]std.math.big.Limb = undefined;
        var b3: [40]std.math.big.Limb = undefined;
        var a = std.math.big.int.Mutable.init(&b1, seed *% 0x9E3779B97F4A7C15);
        var b = std.math.big.int.Mutable.init(&b2, seed +% 12345);
        a.shiftLeft(a.toConst(), 70);
        a.addScalar(a.toConst(), 0xFFFFFFFFFFFFFFFF);
        b.shiftLeft(b.toConst(), 35);
        var c = std.math.big.int.Mutable.init(&b3, 0);
        c.mulNoAlias(a.toConst(), b.toConst(), null);
        c.sub(c.toConst(), a.toConst());
        @memset(out, 0);
        for (c.limbs[0..@min(c.len, 7)], 0..) |l, i| out[i] = l;
        out[7] = c.len;
    }
    pub fn floats(seed: u64, out: *Words) void {
        const x: f64 = @floatFromInt(@as(i64, @bitCast(seed *% 0x9E3779B97F4A7C15)));
        const y = x / 1e15;
        const h: f16 = @floatCast(y);
        const s: f32 = @floatCast(y);
        out.* = .{ @bitCast(std.math.cbrt(y)), @bitCast(std.math.atan(y)), @bitCast(std.math.expm1(y / 1e4)), @as(u16, @bitCast(h + h * h)),
            @as(u32, @bitCast(std.math.atan2(s, 3))), @bitCast(std.math.hypot(x, y)), @bitCast(std.math.ldexp(y, -300) * 1e-250), @bitCast(@as(i64, @trunc(y)) +% @as(i32, @intFromFloat(@mod(s, 1000)))) };
    }
    pub fn vectors(seed: u64, out: *Words) void {
        const V = @Vector(8, u16);
        var data: [16]u8 = undefined;
        bytes(seed, &data);
        const v: V = @bitCast(data);
        const w = v +| @as(V, @splat(40000));
        const m = @select(u16, v > w, v *% w, v -% w);
        const sh = @shuffle(u16, v, m, @Vector(8, i32){ 0, -1, 3, -4, 7, -8, 2, -3 });
        const b: @Vector(16, u8) = @bitCast(m);
        const r = @bitReverse(b) & ~@as(@Vector(16, u8), @bitCast(sh));
        const u: @Vector(2, u64) = @bitCast(r);
        const least: i16 = @reduce(.Min, @as(@Vector(8, i16), @bitCast(sh)));
        out.* = .{ @reduce(.Add, m), @reduce(.Max, w), @reduce(.Xor, b), u[0], u[1], @as(u16, @bitCast(least)), @intFromBool(@reduce(.Or, v > w)), @as(u8, @bitCast(@as(@Vector(8, bool), v < m))) };
    }
    pub fn text(seed: u64, out: *Words) void {
        var data: [60]u8 = undefined;
        bytes(seed, &data);
        for (&data) |*c| c.* = if (c.* % 5 == 0) ' ' else 'a' + c.* % 26;
        @memset(out, 0);
        var words = std.mem.tokenizeScalar(u8, &data, ' ');
        while (words.next()) |w| {
            out[0] +%= w.len * w[0];
            out[1] = out[1] *% 7 +% @as(u64, if (std.mem.startsWith(u8, w, "b")) 3 else 1);
            if (std.mem.order(u8, w, "hello") == .lt) out[2] += 1;
            if (std.mem.indexOf(u8, w, "a")) |i| out[3] = out[3] *% 5 +% i;
        }
        const n = std.mem.replace(u8, &data, "a", "a", &data);
        out[4] = n;
        std.mem.reverse(u8, &data);
        std.mem.rotate(u8, &data, seed % 60);
        out[5] = std.hash.Fnv1a_64.hash(&data);
        out[6] = std.unicode.utf8CountCodepoints(&data) catch 95;
        var upper: [60]u8 = undefined;
        out[7] = std.hash.Fnv1a_64.hash(std.ascii.upperString(&upper, &data));
    }
    pub fn maps(seed: u64, out: *Words) void {
        var memory: [6000]u8 = undefined;
        var fixed = std.heap.FixedBufferAllocator.init(&memory);
        const A = fixed.allocator();
        var map = std.AutoHashMap(u32, u64).init(A);
        var s = seed;
        @memset(out, 0);
        for (0..24) |i| {
            s = s *% 6364136223846793005 +% 1442695040888963407;
            const e = map.getOrPut(@truncate((s >> 33) % 17)) catch return;
            if (e.found_existing) e.value_ptr.* += i else e.value_ptr.* = s >> 50;
            if (i % 7 == 3) _ = map.remove(@truncate((s >> 40) % 17));
        }
        var it = map.iterator();
        while (it.next()) |e| {
            out[0] +%= e.key_ptr.* *% e.value_ptr.*;
            out[1] ^= e.value_ptr.*;
        }
        out[2] = map.count();
        var set = std.StaticBitSet(100).empty;
        for (0..20) |i| set.toggle((seed *% (i + 3)) % 100);
        out[3] = set.count();
        out[4] = set.findFirstSet() orelse 94;
        var iterate = set.iterator(.{ .direction = .reverse });
        while (iterate.next()) |i| out[5] = out[5] *% 101 +% i;
    }
};

const chosen = @import("chosen");
const program = @field(programs, chosen.name);

fn kernel(out: [*]addrspace(.global) u64) callconv(.kernel) void {
    const tid = asm volatile ("mov.u32 %[r], %tid.x;"
        : [r] "=r" (-> u32),
    );
    var words: Words = undefined;
    program(chosen.seed +% tid, &words);
    for (words, 0..) |w, i| out[tid * 8 + i] = w;
}

fn host(out: [*]u64, threads: u32) callconv(.c) void {
    for (0..threads) |tid| {
        var words: Words = undefined;
        program(chosen.seed +% tid, &words);
        for (words, 0..) |w, i| out[tid * 8 + i] = w;
    }
}

comptime {
    if (on_device) @export(&kernel, .{ .name = "k" }) else @export(&host, .{ .name = "run" });
}
