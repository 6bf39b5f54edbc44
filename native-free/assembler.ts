/**
 * An assembler for small WebAssembly modules. Its functions return the bytes of an instruction with
 * its operands, so a kernel reads like the expressions that it computes.
 *
 * It has only the instructions that the kernels of this folder use: 32- and 64-bit integers, one
 * memory, loops and conditions. It checks nothing, since `WebAssembly.Module` refuses invalid code.
 */

/** Bytes of instructions that leave at most one value. */
export type Code = readonly number[]

/** Types of values, as modules encode them. */
export const ValueType = { i32: 0x7f, i64: 0x7e } as const

const emptyBlock = 0x40

function unsigned(value: number): Code {
  const bytes: number[] = []
  let rest = value
  for (; rest >= 0x80; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80)
  bytes.push(rest)
  return bytes
}

/** A 32-bit constant. */
export function i32(value: number): Code {
  const bytes = [0x41]
  let rest = value | 0
  for (; rest < -0x40 || rest > 0x3f; rest >>= 7) bytes.push((rest & 0x7f) | 0x80)
  bytes.push(rest & 0x7f)
  return bytes
}

/** A 64-bit constant. */
export function i64(value: bigint): Code {
  const bytes = [0x42]
  let rest = BigInt.asIntN(64, value)
  for (; rest < -0x40n || rest > 0x3fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80)
  bytes.push(Number(rest & 0x7fn))
  return bytes
}

/** The 64-bit constant 0. */
export const zero64: Code = i64(0n)

function operation(opcode: number): (...operands: readonly Code[]) => Code {
  return (...operands) => [...operands.flat(), opcode]
}

/** 1 if the operand is zero, else 0. */
export const isZero = operation(0x45)
/** 1 if the operands are equal, else 0; likewise for the other comparisons. */
export const equal = operation(0x46)
/** `a != b` */
export const notEqual = operation(0x47)
/** `a < b` */
export const lessSigned = operation(0x48)
/** `a > b` */
export const greaterSigned = operation(0x4a)
/** `a > b`, unsigned */
export const greaterUnsigned = operation(0x4b)
/** `a <= b` */
export const atMostSigned = operation(0x4c)
/** `a + b` */
export const add = operation(0x6a)
/** `a - b` */
export const subtract = operation(0x6b)
/** `a * b` */
export const multiply = operation(0x6c)
/** `a / b`, rounded down */
export const divideUnsigned = operation(0x6e)
/** `a & b`; for two comparisons: both hold */
export const and = operation(0x71)
/** `a | b`; for two comparisons: at least one holds */
export const or = operation(0x72)
/** `a << b` */
export const shiftLeft = operation(0x74)
/** `a >>> b` */
export const shiftRight = operation(0x76)
/** 1 for a 64-bit zero, else 0. */
export const isZero64 = operation(0x50)
/** 1 if two 64-bit operands are equal, else 0. */
export const equal64 = operation(0x51)
/** `a + b` of 64 bits */
export const add64 = operation(0x7c)
/** `a * b` of 64 bits */
export const multiply64 = operation(0x7e)
/** `a | b` of 64 bits */
export const or64 = operation(0x84)
/** `a << b` of 64 bits */
export const shiftLeft64 = operation(0x86)
/** `a >>> b` of 64 bits */
export const shiftRight64 = operation(0x88)
/** `a` rotated to the left by `b`, of 64 bits */
export const rotateLeft64 = operation(0x89)
/** A 32-bit value as the low half of a 64-bit one, whose high half is 0. */
export const extend = operation(0xad)
/** `a ^ b` of 64 bits */
export const exclusiveOr64 = operation(0x85)
/** Number of low zero bits of a 64-bit value; 64 for zero. */
export const trailingZeros64 = operation(0x7a)
/** The low half of a 64-bit value. */
export const wrap = operation(0xa7)

/** Loads from `address + offset`, which need not be aligned. */
function load(opcode: number): (address: Code, offset?: number) => Code {
  return (address, offset = 0) => [...address, opcode, 0, ...unsigned(offset)]
}

/** Loads one byte. */
export const load8 = load(0x2d)
/** Loads two bytes, little-endian like all wider loads. */
export const load16 = load(0x2f)
/** Loads four bytes. */
export const load32 = load(0x28)
/** Loads eight bytes. */
export const load64 = load(0x29)

/** Stores at `address + offset`, which need not be aligned. */
function store(opcode: number): (address: Code, value: Code, offset?: number) => Code {
  return (address, value, offset = 0) => [...address, ...value, opcode, 0, ...unsigned(offset)]
}

/** Stores the low byte. */
export const store8 = store(0x3a)
/** Stores the low two bytes. */
export const store16 = store(0x3b)
/** Stores four bytes. */
export const store32 = store(0x36)
/** Stores eight bytes. */
export const store64 = store(0x37)

/** Reads the local variable `index`; parameters have the first indexes. */
export function get(index: number): Code {
  return [0x20, ...unsigned(index)]
}

/** Assigns to a local variable. */
export function set(index: number, value: Code): Code {
  return [...value, 0x21, ...unsigned(index)]
}

/** Adds to a local variable. */
export function increase(index: number, by: Code): Code {
  return set(index, add(get(index), by))
}

/** Executes `then` if the condition is not zero, else `otherwise`. */
export function when(
  condition: Code,
  then: readonly Code[],
  otherwise: readonly Code[] = [],
): Code {
  const tail = otherwise.length === 0 ? [] : [0x05, ...otherwise.flat()]
  return [...condition, 0x04, emptyBlock, ...then.flat(), ...tail, 0x0b]
}

/** One of two values by the condition; both are computed. */
export function choose(condition: Code, then: Code, otherwise: Code): Code {
  return [...then, ...otherwise, ...condition, 0x1b]
}

/** Repeats the body while the condition holds before it. */
export function repeatWhile(condition: Code, body: readonly Code[]): Code {
  const leave = [...isZero(condition), 0x0d, 1]
  return [0x02, emptyBlock, 0x03, emptyBlock, ...leave, ...body.flat(), 0x0c, 0, 0x0b, 0x0b]
}

/** Repeats the body while the condition holds after it. */
export function repeatAsLongAs(body: readonly Code[], condition: Code): Code {
  return [0x03, emptyBlock, ...body.flat(), ...condition, 0x0d, 0, 0x0b]
}

/**
 * Starts the next repetition of the innermost {@link repeatWhile}. `depth` is the number of {@link
 * when} in between.
 */
export function again(depth: number): Code {
  return [0x0c, depth]
}

/** Ends the innermost {@link repeatWhile}. `depth` as in {@link again}. */
export function leave(depth: number): Code {
  return [0x0c, depth + 1]
}

/** Ends the function with a value. */
export function leaveWith(value: Code): Code {
  return [...value, 0x0f]
}

/** A function from 32-bit numbers to one. */
export interface KernelFunction {
  readonly name: string
  readonly parameters: number
  /** Number of 32-bit local variables, whose indexes follow the parameters. */
  readonly locals32: number
  /** Number of 64-bit local variables, whose indexes follow those. */
  readonly locals64: number
  readonly body: readonly Code[]
}

function section(id: number, content: Code): Code {
  return [id, ...unsigned(content.length), ...content]
}

function vector(items: readonly Code[]): Code {
  return [...unsigned(items.length), ...items.flat()]
}

function name(text: string): Code {
  return vector(Array.from(text, (letter) => [letter.charCodeAt(0)]))
}

/** A module with these functions and `pages` times 64 KiB of memory, all exported. */
export function assembleModule(
  functions: readonly KernelFunction[],
  pages: number,
): Uint8Array<ArrayBuffer> {
  const types = functions.map(({ parameters }) => {
    const inputs = Array.from({ length: parameters }, () => [ValueType.i32])
    return [0x60, ...vector(inputs), ...vector([[ValueType.i32]])]
  })
  const exported = functions.map((one, index) => [...name(one.name), 0x00, ...unsigned(index)])
  const codes = functions.map(({ locals32, locals64, body }) => {
    const locals = vector([
      [...unsigned(locals32), ValueType.i32],
      [...unsigned(locals64), ValueType.i64],
    ])
    const code = [...locals, ...body.flat(), 0x0b]
    return [...unsigned(code.length), ...code]
  })
  const pageCount = unsigned(pages)
  return Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, vector(types)),
    ...section(3, vector(functions.map((_, index) => unsigned(index)))),
    ...section(5, vector([[0x01, ...pageCount, ...pageCount]])),
    ...section(7, vector([...exported, [...name('memory'), 0x02, 0]])),
    ...section(10, vector(codes)),
  ])
}
