/**
 * The instructions of XXH64 for the kernel in kernel.ts. The names are those of xxHash's
 * specification.
 */
import {
  add,
  add64,
  atMostSigned,
  equal64,
  exclusiveOr64,
  extend,
  get,
  i32,
  i64,
  increase,
  lessSigned,
  load32,
  load64,
  load8,
  multiply64,
  or64,
  repeatWhile,
  rotateLeft64,
  set,
  shiftLeft64,
  shiftRight64,
  subtract,
  when,
  type Code,
  type KernelFunction,
} from './assembler.js'

const prime1 = i64(0x9e37_79b1_85eb_ca87n)
const prime2 = i64(0xc2b2_ae3d_27d4_eb4fn)
const prime3 = i64(0x1656_67b1_9e37_79f9n)
const prime4 = i64(0x85eb_ca77_c2b2_ae63n)
const prime5 = i64(0x27d4_eb2f_1656_67c5n)
const minusPrime1 = i64(-0x9e37_79b1_85eb_ca87n)

/** Bytes of a stripe: one word for each accumulator. */
const stripeBytes = 32

/** Indexes of the parameters and local variables. */
const [start, end, seedLow, seedHigh, at] = [0, 1, 2, 3, 4]
const [seed, hash] = [5, 6]
const accumulators = [7, 8, 9, 10]

function round(accumulator: Code, word: Code): Code {
  const sum = add64(accumulator, multiply64(word, prime2))
  return multiply64(rotateLeft64(sum, i64(31n)), prime1)
}

function mergeRound(accumulator: number): Code {
  const merged = exclusiveOr64(get(hash), round(i64(0n), get(accumulator)))
  return set(hash, add64(multiply64(merged, prime1), prime4))
}

/** Mixes a part of the rest into the hash. */
function mix(part: Code, rotation: bigint, factor: Code, summand: Code): Code {
  const rotated = rotateLeft64(exclusiveOr64(get(hash), part), i64(rotation))
  return set(hash, add64(multiply64(rotated, factor), summand))
}

function mixHigh(shift: bigint): Code {
  return exclusiveOr64(get(hash), shiftRight64(get(hash), i64(shift)))
}

const rotations = [1n, 7n, 12n, 18n]

const stripes: readonly Code[] = [
  set(accumulators[0], add64(add64(get(seed), prime1), prime2)),
  set(accumulators[1], add64(get(seed), prime2)),
  set(accumulators[2], get(seed)),
  set(accumulators[3], add64(get(seed), minusPrime1)),
  repeatWhile(atMostSigned(add(get(at), i32(stripeBytes)), get(end)), [
    ...accumulators.map((one, i) => set(one, round(get(one), load64(get(at), i * 8)))),
    increase(at, i32(stripeBytes)),
  ]),
  set(
    hash,
    accumulators
      .map((one, i) => rotateLeft64(get(one), i64(rotations[i])))
      .reduce((sum, one) => add64(sum, one)),
  ),
  ...accumulators.map(mergeRound),
]

/**
 * matches(start, end, seedLow, seedHigh): whether the eight bytes at `end` are XXH64 of the bytes
 * before them; 1 or 0.
 */
export function checksumMatchesFunction(): KernelFunction {
  const length = subtract(get(end), get(start))
  const body = [
    set(seed, or64(extend(get(seedLow)), shiftLeft64(extend(get(seedHigh)), i64(32n)))),
    set(at, get(start)),
    when(lessSigned(length, i32(stripeBytes)), [set(hash, add64(get(seed), prime5))], stripes),
    set(hash, add64(get(hash), extend(length))),
    repeatWhile(atMostSigned(add(get(at), i32(8)), get(end)), [
      mix(round(i64(0n), load64(get(at))), 27n, prime1, prime4),
      increase(at, i32(8)),
    ]),
    when(atMostSigned(add(get(at), i32(4)), get(end)), [
      mix(multiply64(extend(load32(get(at))), prime1), 23n, prime2, prime3),
      increase(at, i32(4)),
    ]),
    repeatWhile(lessSigned(get(at), get(end)), [
      mix(multiply64(extend(load8(get(at))), prime5), 11n, prime1, i64(0n)),
      increase(at, i32(1)),
    ]),
    set(hash, multiply64(mixHigh(33n), prime2)),
    set(hash, multiply64(mixHigh(29n), prime3)),
    set(hash, mixHigh(32n)),
    equal64(get(hash), load64(get(end))),
  ]
  return { name: 'checksumMatches', parameters: 4, locals32: 1, locals64: 6, body }
}
