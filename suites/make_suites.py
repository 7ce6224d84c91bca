#!/usr/bin/env python3
"""Writes definitions/ and workloads/ beside this file (FlashInfer Trace folder layout, with ptxbench's additions).

The JSON files are what counts and are committed; this script keeps some forty of them consistent. --check writes
nothing and fails when a file differs from what it would write, or a reference is no Python with run(inputs in order).
"""
import ast
import json
import pathlib
import sys
import uuid

ROOT = pathlib.Path(__file__).resolve().parent

# UUIDs of the public data set. Backward workloads there follow a rule (bwd_uuid); all others are listed here, or are
# ours by the same kind of rule (own_uuid).
PUBLIC = {
    ("gemm_n7168_k5120", 8192): "94920358-01a8-4c5b-9209-3103fd490e94",
    ("mha_with_lse_d128", 4096): "bc38b351-d595-451b-9153-8e225702e53b",
    ("mha_with_lse_d128_causal", 4096): "6d2f67a7-225a-4af5-87d3-cbb99b496325",
}
HEADLINE = {"gemm_n7168_k5120", "mha_with_lse_d128", "mha_with_lse_d128_causal", "mha_bwd_d128", "mha_bwd_d128_causal"}
TARGET_FAMILIES = {"hopper": ["wgmma", "tma"], "blackwell": ["tcgen05.mma", "tma"]}

# (N, K): the headline pair, projections of 8B and 70B class models, and the pairs of a public mixture-of-experts model.
GEMMS = [(7168, 5120), (4096, 4096), (4096, 14336), (28672, 4096), (24576, 1536), (32768, 512), (7168, 16384),
         (4096, 7168), (7168, 2048)]
FORWARD_DIMS, BACKWARD_DIMS = (64, 96, 128, 256), (64, 96, 128)
FORWARD_LENGTHS, BACKWARD_LENGTHS = (2048, 4096), (512, 1024, 2048, 4096)
EMULATOR_M, EMULATOR_S = 128, 512

GEMM_REFERENCE = """\
import torch


def run(A, B):
    return (A.double() @ B.double().T).to(torch.bfloat16)
"""

FORWARD_REFERENCE = """\
import math

import torch


def run(Q, K, V):
    group = Q.shape[1] // K.shape[1]  # query heads that share a head of K and V
    Q, K, V = Q.double(), K.double().repeat_interleave(group, 1), V.double().repeat_interleave(group, 1)
    scores = Q @ K.mT / math.sqrt(Q.shape[-1])
{mask}    LSE = torch.logsumexp(scores, -1)
    O = torch.exp(scores - LSE[..., None]) @ V
    return O.to(torch.bfloat16), LSE.float()
"""

BACKWARD_REFERENCE = """\
import math

import torch


def run(Q, K, V, O, dO, L):
    B, heads, S, D = K.shape
    group = Q.shape[1] // heads  # query heads that share a head of K and V
    scale = 1 / math.sqrt(D)
    Q, O, dO, L = Q.double(), O.double(), dO.double(), L.double()
    K, V = K.double().repeat_interleave(group, 1), V.double().repeat_interleave(group, 1)
    scores = Q @ K.mT * scale
{mask}    P = torch.exp(scores - L[..., None])
    delta = (dO * O).sum(-1, keepdim=True)
    dS = P * (dO @ V.mT - delta)
    dQ = dS @ K * scale
    dK = (dS.mT @ Q * scale).view(B, heads, group, S, D).sum(2)
    dV = (P.mT @ dO).view(B, heads, group, S, D).sum(2)
    return tuple(x.to(torch.bfloat16) for x in (dQ, dK, dV))
"""

CAUSAL_MASK = """\
    later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
    scores = scores.masked_fill(later, -math.inf)
"""


def own_uuid(definition, axis, value):
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"ptxbench://{definition}/{axis}={value}"))


def workload_uuid(definition, axis, value):
    if (definition, value) in PUBLIC:
        return PUBLIC[definition, value]
    if definition.startswith("mha_bwd_d"):  # the public data set's rule
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"accrl://{definition}/{axis}={value}"))
    return own_uuid(definition, axis, value)


def const(value, description):
    return {"type": "const", "value": value, "description": description}


def tensor(shape, dtype="bfloat16", description=None):
    return {"shape": shape, "dtype": dtype, **({"description": description} if description else {})}


def gemm(n, k):
    name = f"gemm_n{n}_k{k}"
    return {
        "name": name, "op_type": "gemm", "description": f"C = A B^T with N={n}, K={k}; FP32 accumulation, BF16 output.",
        "tags": ["status:headline"] if name in HEADLINE else [],
        "axes": {"M": {"type": "var", "description": "rows of A and C"}, "N": const(n, "rows of B, columns of C"),
                 "K": const(k, "summed over")},
        "inputs": {"A": tensor(["M", "K"]), "B": tensor(["N", "K"])}, "outputs": {"C": tensor(["M", "N"])},
        "reference": GEMM_REFERENCE,
        "ptxbench": {
            "operation": "gemm_nt", "causal": False, "required_flops": "2*M*N*K", "convention_flops": "2*M*N*K",
            "families": ["integer", "normal", "offset", "spikes", "scaled", "signature"],
            "target_families": TARGET_FAMILIES, **({"headline": True} if name in HEADLINE else {})},
    }


def attention_flops(causal, products, query_heads):
    """MMA FLOPs that no honest kernel can undercut, and those that throughput figures count.

    Causal: 64 query rows share a matrix instruction, so the r-th block of 64 rows needs 64 (r+1) keys; summed over the
    blocks that is S (S+64) / 2 products per head (exact when 64 divides S, a lower bound otherwise).
    """
    factor = 2 * products
    if not causal:
        return (f"{factor}*B*{query_heads}*S*S*D",) * 2
    return f"{factor // 2}*B*{query_heads}*S*(S+64)*D", f"{factor // 2}*B*{query_heads}*S*S*D"


def attention(name, op_type, d, causal, heads, kv_heads, batch, backward, sibling):
    grouped = kv_heads != heads
    q_axis, kv_axis = "H", "Hkv" if grouped else "H"
    q_shape, kv_shape, row_shape = ["B", q_axis, "S", "D"], ["B", kv_axis, "S", "D"], ["B", q_axis, "S"]
    axes = {"B": const(batch, "batch"), "H": const(heads, "query heads" if grouped else "heads")}
    if grouped:
        axes["Hkv"] = const(kv_heads, "heads of K and V, each shared by H / Hkv query heads")
    axes |= {"S": {"type": "var", "description": "sequence length"}, "D": const(d, "head dimension")}
    inputs = {"Q": tensor(q_shape), "K": tensor(kv_shape), "V": tensor(kv_shape)}
    lse = "natural logarithm of the sum of exponentials of the scaled scores (scale 1/sqrt(D))"
    if backward:
        inputs |= {"O": tensor(q_shape, description="output of the forward pass"), "dO": tensor(q_shape),
                   "L": tensor(row_shape, "float32", lse)}
        outputs = {"dQ": tensor(q_shape), "dK": tensor(kv_shape), "dV": tensor(kv_shape)}
    else:
        outputs = {"O": tensor(q_shape), "LSE": tensor(row_shape, "float32", lse)}
    required, convention = attention_flops(causal, 5 if backward else 2, "H")
    template = BACKWARD_REFERENCE if backward else FORWARD_REFERENCE
    kind = ("backward" if backward else "forward") + (" with causal mask" if causal else "")
    extension = {
        "operation": "attention_backward" if backward else "attention_forward", "causal": causal,
        "required_flops": required, "convention_flops": convention,
        "families": ["normal", "wide", "offset", "impulse"] if backward
        else ["normal", "wide", "offset", "spikes", "signature"],
        "target_families": TARGET_FAMILIES}
    if name in HEADLINE:
        extension["headline"] = True
    extension |= sibling
    size = " Small sibling for the emulator." if "full_sibling" in sibling else ""
    definition = {
        "name": name, "op_type": op_type,
        "description": f"Attention {kind}, head dimension {d}, tensors [B, H, S, D] contiguous.{size}",
        "tags": ["status:headline"] if name in HEADLINE else [], "axes": axes}
    if grouped:
        definition["constraints"] = ["H % Hkv == 0"]
    return definition | {"inputs": inputs, "outputs": outputs,
                         "reference": template.format(mask=CAUSAL_MASK if causal else ""), "ptxbench": extension}


def workloads(definition, axis, values, emulator):
    for value in values:
        body = {"uuid": workload_uuid(definition["name"], axis, value), "axes": {axis: value},
                "inputs": {name: {"type": "random"} for name in definition["inputs"]}}
        if emulator:
            body["ptxbench"] = {"emulator": True}
        yield {"definition": definition["name"], "solution": None, "workload": body, "evaluation": None}


def everything():
    """(definition, workload records) of the whole suite."""
    for n, k in GEMMS:
        definition = gemm(n, k)
        yield definition, [*workloads(definition, "M", [8192], False), *workloads(definition, "M", [EMULATOR_M], True)]
    kinds = [("mha_with_lse", "mha", FORWARD_DIMS, 48, 48, 4, False), ("mha_bwd", "mha_bwd", BACKWARD_DIMS, 48, 48, 4, True),
             ("gqa_with_lse", "gqa", (128,), 32, 8, 4, False), ("gqa_bwd", "gqa_bwd", (128,), 32, 8, 4, True)]
    for stem, op_type, dims, heads, kv_heads, batch, backward in kinds:
        shape = "" if heads == kv_heads else f"_h{heads}_kv{kv_heads}"
        small_kv = 4 if heads == kv_heads else 2
        small_shape = "_b1_h4" + ("" if heads == kv_heads else f"_kv{small_kv}")
        for d in dims:
            for causal in (False, True):
                tail = f"_d{d}" + ("_causal" if causal else "")
                full, small = stem + shape + tail, stem + small_shape + tail
                definition = attention(full, op_type, d, causal, heads, kv_heads, batch, backward, {"emulator_sibling": small})
                yield definition, list(workloads(definition, "S", BACKWARD_LENGTHS if backward else FORWARD_LENGTHS, False))
                definition = attention(small, op_type, d, causal, 4, small_kv, 1, backward, {"full_sibling": full})
                yield definition, list(workloads(definition, "S", [EMULATOR_S], True))


def reference_fault(definition):
    """Why a definition's reference is not what the format asks for; None when it is."""
    try:
        tree = ast.parse(definition["reference"])
    except SyntaxError as error:
        return f"reference does not parse: {error}"
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == "run":
            names = [argument.arg for argument in node.args.args]
            return None if names == list(definition["inputs"]) else f"run{tuple(names)} does not take the inputs in order"
    return "reference has no top-level run()"


def main():
    check, faults, written = "--check" in sys.argv[1:], [], set()
    for definition, records in everything():
        stem = f"{definition['op_type']}/{definition['name']}"
        if fault := reference_fault(definition):
            faults.append(f"{stem}: {fault}")
        if not definition["tags"]:
            del definition["tags"]
        files = {ROOT / f"definitions/{stem}.json": json.dumps(definition, indent=2) + "\n",
                 ROOT / f"workloads/{stem}.jsonl": "".join(json.dumps(r) + "\n" for r in records)}
        for path, text in files.items():
            written.add(path)
            if not check:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            elif not path.exists() or path.read_text() != text:
                faults.append(f"{path.relative_to(ROOT)}: differs from what make_suites.py writes")
    for path in sorted(ROOT.glob("*/*/*.json*")):
        if path not in written:
            faults.append(f"{path.relative_to(ROOT)}: not written by make_suites.py")
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f"{len(written)} files, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
