/**
 * The instructions of the LZ4 kernel (kernel.ts). They repeat lz4.ts and lz4-decompress.ts,
 * with the same names. Two things differ. Words have eight bytes. Copies by words touch up to seven
 * bytes after the end of their range, for which the memory has space. The hash table begins at
 * address 0.
 */
import {
  add,
  again,
  and,
  atMostSigned,
  choose,
  divideUnsigned,
  equal,
  exclusiveOr64,
  get,
  greaterSigned,
  greaterUnsigned,
  i32,
  increase,
  isZero64,
  leaveWith,
  lessSigned,
  load16,
  load32,
  load64,
  load8,
  multiply,
  notEqual,
  or,
  repeatAsLongAs,
  repeatWhile,
  set,
  shiftLeft,
  shiftRight,
  store16,
  store32,
  store64,
  store8,
  subtract,
  trailingZeros64,
  when,
  wrap,
  zero64,
  type Code,
  type KernelFunction,
} from './assembler.js'
import {
  distanceMax,
  hashMultiplier,
  hashShift,
  lastLiterals,
  lastSequenceLengthMin,
  lz4PrefixLength,
  matchLengthMin,
  matchStartMargin,
  skipShift,
} from './lz4.js'

/** Copies eight bytes at a time from `from` to `to` until `to` reaches `end`; advances both. */
function copyWords(from: number, to: number, end: Code): Code {
  return repeatWhile(lessSigned(get(to), end), [
    store64(get(to), load64(get(from))),
    increase(from, i32(8)),
    increase(to, i32(8)),
  ])
}

/** Indexes of the compressor's parameters and local variables. */
const [source, end, target, targetEnd, base] = [0, 1, 2, 3, 4]
const [at, anchor, out, probes, sequence, slot] = [5, 6, 7, 8, 9, 10]
const [distance, candidate, literals, rest, from, to] = [11, 12, 13, 14, 15, 16]
const [needed, matchEnd] = [17, 18]
const difference = 19

function slotOf(word: Code): Code {
  const hash = shiftRight(multiply(word, i32(hashMultiplier)), i32(hashShift))
  return shiftLeft(hash, i32(3))
}

/** Stores in the hash table that `word` is at `position`. */
function remember(slotNumber: number, position: Code, word: number): readonly Code[] {
  return [
    store32(get(slotNumber), add(position, get(base))),
    store32(get(slotNumber), get(word), 4),
  ]
}

/** Adds to `needed` the bytes that a length takes outside the token. */
function countLength(length: number): Code {
  const bytes = add(i32(1), divideUnsigned(subtract(get(length), i32(15)), i32(255)))
  return when(greaterSigned(get(length), i32(14)), [increase(needed, bytes)])
}

function writeByte(value: Code): Code {
  return [...store8(get(out), value), ...increase(out, i32(1))]
}

function writeLength(length: number): Code {
  return when(greaterSigned(get(length), i32(14)), [
    set(from, subtract(get(length), i32(15))),
    repeatWhile(greaterSigned(get(from), i32(254)), [
      writeByte(i32(255)),
      increase(from, i32(-255)),
    ]),
    writeByte(get(from)),
  ])
}

/** The part of a length that is in the token. */
function nibble(length: number): Code {
  return choose(lessSigned(get(length), i32(15)), get(length), i32(15))
}

/**
 * Writes the token and the literals from `anchor` on; `matchBits` are the token's bits for the
 * match.
 */
function writeLiterals(matchBits: Code): readonly Code[] {
  return [
    writeByte(or(shiftLeft(nibble(literals), i32(4)), matchBits)),
    writeLength(literals),
    set(from, get(anchor)),
    set(to, get(out)),
    increase(out, get(literals)),
    copyWords(from, to, get(out)),
  ]
}

/** Looks up the word at `at`. Unless a match begins there, continues with the next position. */
function findMatch(): readonly Code[] {
  return [
    set(sequence, load32(get(at))),
    set(slot, slotOf(get(sequence))),
    set(distance, subtract(add(get(at), get(base)), load32(get(slot)))),
    set(candidate, load32(get(slot), 4)),
    ...remember(slot, get(at), sequence),
    when(
      or(notEqual(get(candidate), get(sequence)), greaterUnsigned(get(distance), i32(distanceMax))),
      [increase(at, shiftRight(get(probes), i32(skipShift))), increase(probes, i32(1)), again(1)],
    ),
  ]
}

/** Extends the match: moves `at` back, and `matchEnd` forward, while bytes are equal. */
function extendMatch(): readonly Code[] {
  const sameBefore = equal(
    load8(subtract(get(at), i32(1))),
    load8(subtract(subtract(get(at), get(distance)), i32(1))),
  )
  const mayGoBack = and(
    greaterSigned(get(at), get(anchor)),
    greaterSigned(subtract(get(at), get(distance)), get(source)),
  )
  const limit = subtract(get(end), i32(lastLiterals))
  const opposite = subtract(get(matchEnd), get(distance))
  return [
    set(matchEnd, add(get(at), i32(matchLengthMin))),
    repeatWhile(and(mayGoBack, sameBefore), [increase(at, i32(-1))]),
    set(difference, zero64),
    repeatWhile(and(isZero64(get(difference)), atMostSigned(add(get(matchEnd), i32(8)), limit)), [
      set(difference, exclusiveOr64(load64(get(matchEnd)), load64(opposite))),
      when(
        isZero64(get(difference)),
        [increase(matchEnd, i32(8))],
        [increase(matchEnd, shiftRight(wrap(trailingZeros64(get(difference))), i32(3)))],
      ),
    ]),
    when(isZero64(get(difference)), [
      repeatWhile(
        and(lessSigned(get(matchEnd), limit), equal(load8(get(matchEnd)), load8(opposite))),
        [increase(matchEnd, i32(1))],
      ),
    ]),
  ]
}

/** Adds an entry near the end of the match, to find repetitions that begin inside it. */
function rememberInner(): readonly Code[] {
  const inner = subtract(get(at), i32(2))
  return [
    set(sequence, load32(inner)),
    set(slot, slotOf(get(sequence))),
    ...remember(slot, inner, sequence),
  ]
}

/**
 * compress(source, end, target, targetEnd, base): the end of the output, or -1 if there is no
 * space.
 */
export function compressFunction(): KernelFunction {
  const roomLeft = subtract(get(targetEnd), get(out))
  const startLimit = subtract(get(end), i32(matchStartMargin))
  const body = [
    store32(get(target), subtract(get(end), get(source))),
    set(out, add(get(target), i32(lz4PrefixLength))),
    set(anchor, get(source)),
    set(at, get(source)),
    set(probes, i32(1 << skipShift)),
    repeatWhile(atMostSigned(get(at), startLimit), [
      ...findMatch(),
      ...extendMatch(),
      set(literals, subtract(get(at), get(anchor))),
      set(rest, subtract(subtract(get(matchEnd), get(at)), i32(matchLengthMin))),
      set(needed, add(get(literals), i32(3 + lastSequenceLengthMin))),
      countLength(literals),
      countLength(rest),
      when(greaterSigned(get(needed), roomLeft), [leaveWith(i32(-1))]),
      ...writeLiterals(nibble(rest)),
      store16(get(out), get(distance)),
      increase(out, i32(2)),
      writeLength(rest),
      set(at, get(matchEnd)),
      set(anchor, get(matchEnd)),
      set(probes, i32(1 << skipShift)),
      ...rememberInner(),
    ]),
    set(literals, subtract(get(end), get(anchor))),
    set(needed, add(get(literals), i32(1))),
    countLength(literals),
    when(greaterSigned(get(needed), roomLeft), [leaveWith(i32(-1))]),
    ...writeLiterals(i32(0)),
    get(out),
  ]
  return { name: 'compress', parameters: 5, locals32: 14, locals64: 1, body }
}

/** decompress(source, end, target, targetEnd): 1, or 0 if the block is malformed. */
export function decompressFunction(): KernelFunction {
  const [at, out, token, length, partEnd, outEnd, distance, from, byte, period] = [
    4, 5, 6, 7, 8, 9, 10, 11, 12, 13,
  ]
  const failWhen = (condition: Code): Code => when(condition, [leaveWith(i32(0))])
  const readByte = (local: number): Code => [...set(local, load8(get(at))), ...increase(at, i32(1))]
  const readLength = (): Code =>
    when(equal(get(length), i32(15)), [
      repeatAsLongAs(
        [
          failWhen(greaterSigned(get(at), subtract(get(end), i32(1)))),
          readByte(byte),
          increase(length, get(byte)),
        ],
        equal(get(byte), i32(255)),
      ),
    ])
  /** Copies single bytes up to a multiple of the distance that is at least a word long. */
  const widenPeriod = [
    set(period, multiply(get(distance), divideUnsigned(add(get(distance), i32(7)), get(distance)))),
    set(partEnd, add(get(out), get(period))),
    when(greaterSigned(get(partEnd), get(outEnd)), [set(partEnd, get(outEnd))]),
    repeatWhile(lessSigned(get(out), get(partEnd)), [
      store8(get(out), load8(subtract(get(out), get(distance)))),
      increase(out, i32(1)),
    ]),
    set(distance, get(period)),
  ]
  const body = [
    set(at, add(get(source), i32(lz4PrefixLength))),
    set(out, get(target)),
    repeatWhile(lessSigned(get(at), get(end)), [
      readByte(token),
      set(length, shiftRight(get(token), i32(4))),
      readLength(),
      set(partEnd, add(get(at), get(length))),
      set(outEnd, add(get(out), get(length))),
      failWhen(greaterSigned(get(partEnd), get(end))),
      failWhen(greaterSigned(get(outEnd), get(targetEnd))),
      copyWords(at, out, get(outEnd)),
      set(at, get(partEnd)),
      set(out, get(outEnd)),
      when(equal(get(at), get(end)), [leaveWith(equal(get(out), get(targetEnd)))]),

      failWhen(greaterSigned(add(get(at), i32(2)), get(end))),
      set(distance, load16(get(at))),
      increase(at, i32(2)),
      failWhen(
        or(
          equal(get(distance), i32(0)),
          greaterSigned(get(distance), subtract(get(out), get(target))),
        ),
      ),
      set(length, and(get(token), i32(15))),
      readLength(),
      set(outEnd, add(add(get(out), get(length)), i32(matchLengthMin))),
      failWhen(greaterSigned(get(outEnd), get(targetEnd))),
      when(lessSigned(get(distance), i32(8)), widenPeriod),
      set(from, subtract(get(out), get(distance))),
      copyWords(from, out, get(outEnd)),
      set(out, get(outEnd)),
    ]),
    i32(0),
  ]
  return { name: 'decompress', parameters: 4, locals32: 10, locals64: 0, body }
}
