/**
 * An assembler for small WebAssembly modules: functions that return the bytes of an instruction
 * with its operands, so that a kernel reads like the expressions that it computes.
 *
 * Only what the kernels of this folder use: 32- and 64-bit integers, one memory, loops and ifs.
 * Nothing is checked here; `WebAssembly.Module` refuses what is not valid.
 */

/** Bytes of instructions that leave at most one value. */
export type Code = readonly number[]

/** Types of values as modules spell them. */
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

/** The 64-bit constant 0. */
export const zero64: Code = [0x42, 0]

function operation(opcode: number): (...operands: readonly Code[]) => Code {
  return (...operands) => [...operands.flat(), opcode]
}

/** 1 for zero, else 0. */
export const isZero = operation(0x45)
/** 1 or 0, as all comparisons. */
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
/** `a & b`; of two comparisons both */
export const and = operation(0x71)
/** `a | b`; of two comparisons either */
export const or = operation(0x72)
/** `a << b` */
export const shiftLeft = operation(0x74)
/** `a >>> b` */
export const shiftRight = operation(0x76)
/** 1 for a 64-bit zero, else 0. */
export const isZero64 = operation(0x50)
/** `a ^ b` of 64 bits */
export const exclusiveOr64 = operation(0x85)
/** How many low bits of 64 are zero; 64 for zero. */
export const trailingZeros64 = operation(0x7a)
/** The low half of a 64-bit value. */
export const wrap = operation(0xa7)

/** A load at `address + offset`, aligned or not. */
function load(opcode: number): (address: Code, offset?: number) => Code {
  return (address, offset = 0) => [...address, opcode, 0, ...unsigned(offset)]
}

/** One byte. */
export const load8 = load(0x2d)
/** Two bytes, little-endian as all that are wider than one. */
export const load16 = load(0x2f)
/** Four bytes. */
export const load32 = load(0x28)
/** Eight bytes. */
export const load64 = load(0x29)

/** A store at `address + offset`, aligned or not. */
function store(opcode: number): (address: Code, value: Code, offset?: number) => Code {
  return (address, value, offset = 0) => [...address, ...value, opcode, 0, ...unsigned(offset)]
}

/** Writes the low byte. */
export const store8 = store(0x3a)
/** Writes the low two bytes. */
export const store16 = store(0x3b)
/** Writes four bytes. */
export const store32 = store(0x36)
/** Writes eight bytes. */
export const store64 = store(0x37)

/** The local variable `index`; parameters come first. */
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

/** One value or the other; both are computed. */
export function choose(condition: Code, then: Code, otherwise: Code): Code {
  return [...then, ...otherwise, ...condition, 0x1b]
}

/** Repeats the body while the condition holds. */
export function repeatWhile(condition: Code, body: readonly Code[]): Code {
  const leave = [...isZero(condition), 0x0d, 1]
  return [0x02, emptyBlock, 0x03, emptyBlock, ...leave, ...body.flat(), 0x0c, 0, 0x0b, 0x0b]
}

/** Repeats the body as long as the condition behind it holds. */
export function repeatAsLongAs(body: readonly Code[], condition: Code): Code {
  return [0x03, emptyBlock, ...body.flat(), ...condition, 0x0d, 0, 0x0b]
}

/**
 * Begins the innermost {@link repeatWhile} anew. `depth` is the number of {@link when} in between.
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
  /** Local variables behind the parameters. */
  readonly locals32: number
  /** 64-bit local variables, behind those. */
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

/** The part of the global `WebAssembly` that is used; the types of Node leave it out. */
interface WebAssemblyCalls {
  readonly Module: new (bytes: Uint8Array<ArrayBuffer>) => object
  readonly Instance: new (module: object) => { readonly exports: object }
}

/** Compiles and starts a module that imports nothing. */
export function instantiate<Exports>(bytes: Uint8Array<ArrayBuffer>): { exports: Exports } {
  const { WebAssembly } = globalThis as unknown as { readonly WebAssembly: WebAssemblyCalls }
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes))
  return { exports: exports as Exports }
}
