#!/usr/bin/env python3
"""Checks that one rule (hardware.md, "Tensor core sums") reproduces the recorded tensor core results bit for bit.

Inputs are made again from the programs' seeds, sums are integers of any size: nothing here shares code with the emulator.
"""
import pathlib
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
MASK = (1 << 64) - 1
BF16, F16, F32 = (8, 7), (5, 10), (8, 23)  # exponent bits, mantissa bits
E4M3, E5M2 = (4, 3), (5, 2)


class Random:
    """splitmix64, as capture.h."""

    def __init__(self, seed):
        self.state = seed

    def word(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return (z ^ (z >> 31)) >> 32

    def below(self, limit):
        return (self.word() * limit) >> 32


def decode(bits, form):
    """(significand, exponent of its last bit, exponent of the value as the format writes it)."""
    exponent_bits, mantissa_bits = form
    exponent = bits >> mantissa_bits & ((1 << exponent_bits) - 1)
    significand = bits & ((1 << mantissa_bits) - 1)
    if exponent:
        significand |= 1 << mantissa_bits
    else:
        exponent = 1
    exponent -= (1 << (exponent_bits - 1)) - 1
    negative = bits >> (exponent_bits + mantissa_bits) & 1
    return (-significand if negative else significand), exponent - mantissa_bits, exponent


def fused_sum(a, b, c, kept_bits):
    """The exact sum of the aligned, truncated addends as (integer, exponent of its last bit)."""
    terms = [(x[0] * y[0], x[1] + y[1], x[2] + y[2]) for x, y in zip(a, b) if x[0] * y[0]]
    if c[0]:
        terms.append(c)
    if not terms:
        return 0, 0
    last = max(t[2] for t in terms) - kept_bits
    total = 0
    for significand, low, _ in terms:
        shift = low - last
        magnitude = abs(significand) << shift if shift >= 0 else abs(significand) >> -shift
        total += magnitude if significand > 0 else -magnitude
    return total, last


def to_f32_toward_zero(total, last):
    if total == 0:
        return 0
    sign, magnitude = (0x80000000 if total < 0 else 0), abs(total)
    top = magnitude.bit_length() - 1 + last
    low = max(top - 23, -149)
    shift = low - last
    magnitude = magnitude >> shift if shift >= 0 else magnitude << -shift
    if top > 127:
        return sign | 0x7F800000
    return sign | (magnitude if top < -126 else (top + 127) << 23 | (magnitude & 0x7FFFFF))


def to_f16_nearest(total, last):
    if total == 0:
        return 0
    sign, magnitude = (0x8000 if total < 0 else 0), abs(total)
    top = max(magnitude.bit_length() - 1 + last, -14)
    shift = top - 10 - last
    if shift > 0:
        kept, lost, half = magnitude >> shift, magnitude & ((1 << shift) - 1), 1 << (shift - 1)
        kept += lost > half or (lost == half and kept & 1)
    else:
        kept = magnitude << -shift
    # A carry out of the mantissa moves on into the exponent field by itself.
    bits = kept if top == -14 else ((top + 14) << 10) + kept
    return sign | min(bits, 0x7C00)


def recording(topic):
    lines = {}
    for line in (HERE / f"{topic}.h200.txt").read_text().splitlines():
        if not line.startswith("#"):
            name, _, words = line.partition(": ")
            lines[name.split(" ")[-1]] = words.split()
    return lines


def fold(words, letter):
    value = 0xCBF29CE484222325
    for byte in struct.pack(f"<{len(words)}{letter}", *words):
        value = ((value ^ byte) * 0x100000001B3) & MASK
    return (value ^ value >> 32) & 0xFFFFFFFF


def agrees(words, recorded, letter):
    samples = [t for t in recorded if not t.startswith("#")]
    hashes = [t for t in recorded if t.startswith("#")]
    good = all(int(t, 16) == w for t, w in zip(samples, words))
    for i, t in enumerate(hashes):
        part = words[len(words) * i // len(hashes):len(words) * (i + 1) // len(hashes)]
        good = good and int(t[1:], 16) == fold(part, letter)
    return good and len(recorded) > 0


def wgmma_random(kind, spread, big_c):
    """random_inputs() of wgmma_numerics.cu; kinds in its order."""
    random = Random(spread * 7 + kind + (1000 if big_c else 0))
    form = BF16 if kind in (0, 3) else F16
    bias = (1 << (form[0] - 1)) - 1

    def half():
        exponent = random.below(spread) - spread // 2 if spread else 0
        sign = random.word() & 0x8000
        return sign | (bias + exponent) << form[1] | (random.word() & ((1 << form[1]) - 1))

    a = [[decode(half(), form) for _ in range(16)] for _ in range(64)]
    b = [[decode(half(), form) for _ in range(8)] for _ in range(16)]
    out = []
    c = []
    for _ in range(64 * 8):
        exponent = random.below(2 * spread + 1) - spread + (6 if big_c else 0)
        word = random.word()
        c.append(decode(half(), F16) if kind == 2 else decode((word & 0x807FFFFF) | (127 + exponent) << 23, F32))
    for m in range(64):
        for n in range(8):
            total = fused_sum(a[m], [row[n] for row in b], c[8 * m + n], 25)
            out.append(to_f16_nearest(*total) if kind == 2 else to_f32_toward_zero(*total))
    return out


def typed_random(name, with_c):
    """The random cases of wgmma_types.cu."""
    random = Random(31 + with_c)
    form, k_size, kept = {"tf32": (F32, 8, 25), "e4m3": (E4M3, 32, 13), "e5m2": (E5M2, 32, 13)}[name]

    def value():
        word = random.word()
        if name == "tf32":
            return ((word & 0x807FFFFF) | (120 + random.below(14)) << 23) & ~0x1FFF
        if name == "e4m3":
            return word & 0x80 if word & 0x7F == 0x7F else word & 0xFF
        return word & 0x83 if word & 0x7C == 0x7C else word & 0xFF

    a = [[decode(value(), form) for _ in range(k_size)] for _ in range(64)]
    b = [decode(value(), form) for _ in range(k_size)]
    c = [0] * 64
    if with_c:
        for i in range(64):
            word = random.word()
            c[i] = (word & 0x807FFFFF) | (120 + random.below(24)) << 23
    drop = 0 if name == "tf32" else 0x3FF
    return [to_f32_toward_zero(*fused_sum(row, b, decode(ci, F32), kept)) & ~drop for row, ci in zip(a, c)]


def mma_random(shape, bf16, k_size, f16_result, spread):
    """random_sums() of mma.cu: four batches of fragments in lane order."""
    random = Random(spread)
    form = BF16 if bf16 else F16
    bias = (1 << (form[0] - 1)) - 1
    batch, registers_a, registers_b, registers_c = 4, k_size // 4, k_size // 8, 2 if f16_result else 4

    def half():
        exponent = random.below(spread)
        word = random.word()
        return (word & (0x8000 | (1 << form[1]) - 1)) | (bias - spread // 2 + exponent) << form[1]

    def pairs(count):
        words = []
        for _ in range(count):
            low = half()
            words.append(low | half() << 16)
        return words

    a, b = pairs(batch * 32 * registers_a), pairs(batch * 32 * registers_b)
    if f16_result:
        c = pairs(batch * 32 * registers_c)
    else:
        c = []
        for _ in range(batch * 32 * registers_c):
            word = random.word()
            c.append((word & 0x807FFFFF) | (127 - spread + random.below(2 * spread)) << 23)
    out = [0] * len(c)
    for g in range(batch):
        rows = [[None] * k_size for _ in range(16)]
        columns = [[None] * k_size for _ in range(8)]
        for lane in range(32):
            for half_index in range(2):
                k = lane % 4 * 2 + half_index
                for r in range(registers_a):
                    word = a[(g * 32 + lane) * registers_a + r]
                    rows[lane // 4 + 8 * (r & 1)][k + 8 * (r >> 1)] = decode(word >> 16 * half_index & 0xFFFF, form)
                for r in range(registers_b):
                    word = b[(g * 32 + lane) * registers_b + r]
                    columns[lane // 4][k + 8 * r] = decode(word >> 16 * half_index & 0xFFFF, form)
        for lane in range(32):
            for i in range(4):
                row, column = rows[lane // 4 + 8 * (i >> 1)], columns[lane % 4 * 2 + (i & 1)]
                if f16_result:
                    at = (g * 32 + lane) * 2 + (i >> 1)
                    start = decode(c[at] >> 16 * (i & 1) & 0xFFFF, F16)
                    out[at] |= to_f16_nearest(*fused_sum(row, column, start, 25)) << 16 * (i & 1)
                else:
                    at = (g * 32 + lane) * 4 + i
                    out[at] = to_f32_toward_zero(*fused_sum(row, column, decode(c[at], F32), 25))
    return out


def cases():
    numerics, types, mma = recording("wgmma_numerics"), recording("wgmma_types"), recording("mma")
    for kind, kind_name in enumerate(("bf16", "f16", "f16f16", "bf16-rs")):
        spreads = (0, 4, 8, 12, 24, 40, 60) if kind == 0 else (0, 4, 8, 12)
        for spread in spreads:
            for big_c in (0, 1) if spread <= 12 else (0,):
                name = f"random-{kind_name}-spread{spread}" + ("-c" if big_c else "")
                yield name, wgmma_random(kind, spread, big_c), numerics.get(name, []), "H" if kind == 2 else "I"
    for type_name in ("e4m3", "e5m2", "tf32"):
        for with_c in (0, 1):
            name = f"random-{type_name}" + ("-c" if with_c else "")
            yield name, typed_random(type_name, with_c), types.get(name, []), "I"
    for shape, bf16, k_size, f16_result in (("m16n8k16-bf16", 1, 16, 0), ("m16n8k16-f16", 0, 16, 0),
                                            ("m16n8k16-f16f16", 0, 16, 1), ("m16n8k8-bf16", 1, 8, 0),
                                            ("m16n8k8-f16", 0, 8, 0), ("m16n8k8-f16f16", 0, 8, 1)):
        for spread in (2, 12):
            name = f"mma-random-{shape}-spread{spread}"
            yield name, mma_random(shape, bf16, k_size, f16_result, spread), mma.get(name, []), "I"


def main():
    checked = failed = 0
    for name, words, recorded, letter in cases():
        checked += 1
        if not agrees(words, recorded, letter):
            failed += 1
            print(f"{name}: the rule gives {' '.join('%x' % w for w in words[:8])} ..., recorded {' '.join(recorded[:8])} ...")
    print(f"{checked} cases, {failed} differ")
    return 1 if failed or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
