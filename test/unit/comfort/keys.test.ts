/**
 * Keys of several parts: the order of the rows is that of the values, a row gives its key back, and
 * a range holds its keys and no others. The model compares values, and knows nothing of bytes.
 */
import fc from 'fast-check'
import t from 'tap'
import { defineKey, type KeyParts, type RowKey } from '../../../src/comfort/keys/row-key.js'
import { rowsOfKeys, type KeyRange } from '../../../src/comfort/keys/key-range.js'
import { ErrorCode } from '../../../src/api/index.js'

const seed = Number(process.env['CELLAR_SEED'] ?? 20261123)
const settings = { seed, numRuns: 1500 }

type Value = string | Uint8Array | number | bigint | boolean | Date
type Key = Readonly<Record<string, Value>>

/** Few letters, so that values share beginnings; zero and FF bytes, which are escaped. */
const letters = fc.constantFrom('a', 'b', '\u0000', '\u0001', 'ÿ', '\uffff', '😀')
const edges = [0, -0, 1, -1, NaN, Infinity, -Infinity, 5e-324, -5e-324, 1.5, 2 ** 53 - 1]
const bigEdges = [0n, 1n, -1n, 2n ** 63n - 1n, -(2n ** 63n), 2n ** 32n, -(2n ** 32n)]

const valuesByKind: Readonly<Record<string, fc.Arbitrary<Value>>> = {
  utf8: fc.string({ unit: letters, maxLength: 4 }),
  bytes: fc
    .array(fc.constantFrom(0, 1, 2, 0x61, 0xfe, 0xff), { maxLength: 4 })
    .map((list) => Buffer.from(list)),
  integer: fc.oneof(fc.maxSafeInteger(), fc.integer({ min: -2, max: 2 })),
  double: fc.oneof(fc.double(), fc.constantFrom(...edges)),
  int64: fc.oneof(
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    fc.constantFrom(...bigEdges),
  ),
  boolean: fc.boolean(),
  date: fc.oneof(
    fc.date({ noInvalidDate: true }),
    fc.constantFrom(new Date(0), new Date(-1), new Date(8.64e15), new Date(-8.64e15)),
  ),
}

/** Order of two values of a kind, from the words of the documentation. */
function compareValues(kind: string, a: Value, b: Value): number {
  if (kind === 'utf8') return comparePoints([...(a as string)], [...(b as string)])
  if (kind === 'bytes') return compareLists([...(a as Buffer)], [...(b as Buffer)])
  if (kind === 'double') return compareDoubles(a as number, b as number)
  if (kind === 'date') return (a as Date).getTime() - (b as Date).getTime()
  return a === b ? 0 : a < b ? -1 : 1
}

function comparePoints(a: readonly string[], b: readonly string[]): number {
  return compareLists(
    a.map((letter) => letter.codePointAt(0)!),
    b.map((letter) => letter.codePointAt(0)!),
  )
}

function compareLists(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((value, i) => value !== b[i])
  if (at < 0) return a.length - b.length
  return at >= b.length ? 1 : a[at] - b[at]
}

function compareDoubles(a: number, b: number): number {
  if (Object.is(a, b)) return 0
  if (Number.isNaN(a)) return 1
  if (Number.isNaN(b)) return -1
  if (a === b) return Object.is(a, -0) ? -1 : 1
  return a < b ? -1 : 1
}

interface Part {
  readonly name: string
  readonly kind: string
  readonly descending: boolean
}

/** Order of the first `count` parts of two keys. */
function compareKeys(parts: readonly Part[], a: Key, b: Key, count = parts.length): number {
  for (const { name, kind, descending } of parts.slice(0, count)) {
    const order = compareValues(kind, a[name], b[name])
    if (order !== 0) return descending ? -order : order
  }
  return 0
}

const partLists = fc
  .array(
    fc.record({ kind: fc.constantFrom(...Object.keys(valuesByKind)), descending: fc.boolean() }),
    {
      minLength: 1,
      maxLength: 4,
    },
  )
  .map((list) => list.map((part, i): Part => ({ ...part, name: `part${i}` })))

function keyOf(parts: readonly Part[]): RowKey {
  const declared: Record<string, unknown> = {}
  for (const { name, kind, descending } of parts) {
    declared[name] = descending ? { descending: kind } : kind
  }
  return defineKey<KeyParts>(declared as KeyParts)
}

function keysOf(parts: readonly Part[]): fc.Arbitrary<Key> {
  const values = Object.fromEntries(parts.map(({ name, kind }) => [name, valuesByKind[kind]]))
  return fc
    .record(values)
    .filter((key) => parts.length > 1 || isWritable(parts[0], key[parts[0].name]))
}

/** A row has a byte. */
function isWritable({ descending }: Part, value: Value): boolean {
  return descending || (value !== '' && (value as { length?: number }).length !== 0)
}

void t.test(`rows sort as their keys and give them back, seed ${seed}`, (t) => {
  const cases = partLists.chain((parts) =>
    fc.tuple(fc.constant(parts), keysOf(parts), keysOf(parts)),
  )
  fc.assert(
    fc.property(cases, ([parts, a, b]) => {
      const key = keyOf(parts)
      const rowA = key.encode(a)
      const rowB = key.encode(b)
      const order = Math.sign(compareKeys(parts, a, b))
      if (Buffer.compare(rowA, rowB) !== order) return false
      const read = key.decode(rowA)
      return compareKeys(parts, read, a) === 0 && key.encode(read).equals(rowA)
    }),
    settings,
  )
  t.end()
})

void t.test(`a row that is no key is refused, never read as another key, seed ${seed}`, (t) => {
  const bytes = fc.array(fc.constantFrom(0, 1, 0x61, 0x7f, 0x80, 0xf8, 0xfe, 0xff), {
    maxLength: 20,
  })
  let readable = 0
  fc.assert(
    fc.property(partLists, bytes, (parts, list) => {
      const key = keyOf(parts)
      const row = Buffer.from(list)
      let read: Key
      try {
        read = key.decode(row)
      } catch (error) {
        return (error as { code?: string }).code === ErrorCode.invalidArgument
      }
      readable++
      return row.length === 0 || key.encode(read).equals(row)
    }),
    { ...settings, numRuns: 5000 },
  )
  t.ok(readable > 100, `${readable} rows were keys`)
  t.end()
})

/** Whether a scan of the rows returns a row: HBase's rules of bounds. */
function isScanned(row: Buffer, rows: ReturnType<typeof rowsOfKeys>, reversed: boolean): boolean {
  const sign = reversed ? -1 : 1
  const { startRow, startInclusive, stopRow, stopInclusive } = rows
  const start = startRow === undefined ? 1 : sign * Buffer.compare(row, startRow as Buffer)
  const stop = stopRow === undefined ? -1 : sign * Buffer.compare(row, stopRow as Buffer)
  return (
    (start > 0 || (start === 0 && startInclusive!)) && (stop < 0 || (stop === 0 && stopInclusive!))
  )
}

function leading(parts: readonly Part[], key: Key, from: number, to: number): Key {
  return Object.fromEntries(parts.slice(from, to).map(({ name }) => [name, key[name]]))
}

const counts = fc.tuple(fc.nat(4), fc.nat(4), fc.nat(4), fc.boolean(), fc.boolean(), fc.boolean())
const rangeCases = partLists.chain((parts) =>
  fc.tuple(fc.constant(parts), fc.array(keysOf(parts), { minLength: 3, maxLength: 12 }), counts),
)

void t.test(`a range has the keys between its bounds and no others, seed ${seed}`, (t) => {
  fc.assert(
    fc.property(rangeCases, ([parts, keys, [first, second, third, startIn, stopIn, reversed]]) => {
      const key = keyOf(parts)
      const [p, s] = keys
      const shared = Math.min(first, parts.length - 1)
      const starts = Math.min(shared + second, parts.length)
      const stops = Math.min(shared + third, parts.length)
      // Both bounds continue the prefix of the first key.
      const stop = { ...s, ...leading(parts, p, 0, shared) }
      const range: KeyRange<KeyParts> = {
        prefix: leading(parts, p, 0, shared),
        ...(starts > shared && {
          startKey: leading(parts, p, shared, starts),
          startInclusive: startIn,
        }),
        ...(stops > shared && {
          stopKey: leading(parts, stop, shared, stops),
          stopInclusive: stopIn,
        }),
      }
      const bounded = [leading(parts, p, 0, starts), leading(parts, stop, 0, stops)]
      if (
        parts.length === 1 &&
        bounded.some((b) => 'part0' in b && !isWritable(parts[0], b['part0']))
      ) {
        return true
      }
      const rows = rowsOfKeys(key, range, reversed)
      const sign = reversed ? -1 : 1
      return keys.every((each) => {
        const start = sign * compareKeys(parts, each, p, starts)
        const end = sign * compareKeys(parts, each, stop, stops)
        const isIn =
          compareKeys(parts, each, p, shared) === 0 &&
          (starts === shared || start > 0 || (start === 0 && startIn)) &&
          (stops === shared || end < 0 || (end === 0 && stopIn))
        return isScanned(key.encode(each), rows, reversed) === isIn
      })
    }),
    { ...settings, numRuns: 4000 },
  )
  t.end()
})

void t.test(`startsWith has the texts that begin so, seed ${seed}`, (t) => {
  const cases = fc.tuple(
    fc.boolean(),
    fc.boolean(),
    fc.boolean(),
    fc.array(valuesByKind['utf8'] as fc.Arbitrary<string>, { minLength: 3, maxLength: 10 }),
  )
  fc.assert(
    fc.property(cases, ([descending, isLast, reversed, [beginning, ...texts]]) => {
      const part = descending ? ({ descending: 'utf8' } as const) : 'utf8'
      const declared = {
        n: 'integer',
        text: part,
        ...(isLast ? {} : { z: 'int64' as const }),
      } as const
      const key: RowKey = defineKey<KeyParts>(declared)
      const rows = rowsOfKeys(key, { prefix: { n: 1 }, startsWith: { text: beginning } }, reversed)
      return [0, 1, 2].every((n) =>
        texts.every((text) => {
          const row = key.encode({ n, text, ...(isLast ? {} : { z: 7n }) })
          const isIn = n === 1 && text.startsWith(beginning)
          return isScanned(row, rows, reversed) === isIn
        }),
      )
    }),
    settings,
  )
  t.end()
})

void t.test('the bytes of keys are those of the documentation', (t) => {
  const hex = (parts: KeyParts, key: Key): string => defineKey(parts).encode(key).toString('hex')
  t.equal(hex({ id: 'utf8' }, { id: 'ada\u0000' }), '61646100')
  const visit = { user: 'utf8', at: { descending: 'date' } } as const
  t.equal(hex(visit, { user: 'ada', at: new Date(1) }), '6164610001' + '7ffffffffffffffe')
  t.equal(
    hex({ a: 'utf8', b: 'bytes' }, { a: 'x\u0000', b: Buffer.of(0, 1) }),
    '7800ff0001' + '0001',
  )
  t.equal(hex({ n: 'integer' }, { n: -2 }), '7ffffffffffffffe')
  t.equal(hex({ n: 'int64' }, { n: -2n }), '7ffffffffffffffe')
  t.equal(hex({ n: 'double' }, { n: 1 }), 'bff0000000000000')
  t.equal(hex({ n: 'double' }, { n: -0 }), '7fffffffffffffff')
  t.equal(hex({ n: 'double' }, { n: NaN }), 'fff8000000000000')
  t.equal(hex({ b: 'boolean', d: { descending: 'utf8' } }, { b: true, d: '' }), '01' + 'fffe')
  t.end()
})

void t.test('wrong keys are refused with what to write', (t) => {
  const key = defineKey({ user: 'utf8', at: 'date' })
  const wrong = (run: () => unknown, message: RegExp): void => {
    t.throws(run, { code: ErrorCode.invalidArgument, message })
  }
  const at = new Date(0)
  wrong(() => key.encode({ user: 'ada' } as never), /lacks its part 'at'.*user, at/)
  wrong(() => key.encode({ at } as never), /gives 'at' without 'user'/)
  wrong(() => key.encode({ user: 'ada', att: at } as never), /'att'|"att".*did you mean 'at'/)
  wrong(() => key.encode({ user: 'ada', at: 5 } as never), /'at' of the key must be a valid Date/)
  wrong(() => key.encode({ user: 'ada', at: new Date(NaN) }), /valid Date, got an invalid one/)
  wrong(() => key.encode({ user: '\ud800', at }), /lone surrogate/)
  wrong(() => key.encode({ user: 'x'.repeat(40_000), at }), /at most 32767/)
  wrong(() => key.encode({ user: '\u0000'.repeat(32_000), at }), /at most 32767/)
  wrong(() => key.encode('ada' as never), /a key must be an object such as \{ user, at \}/)
  wrong(() => defineKey({ id: 'utf8' }).encode({ id: '' }), /must not be empty/)
  wrong(() => defineKey({ n: 'integer' }).encode({ n: 1.5 }), /safe integer, got 1\.5; 'double'/)
  wrong(() => defineKey({ n: 'int64' }).encode({ n: 1 as never }), /bigint.*'integer'/)
  wrong(() => defineKey({}), /needs a part, such as/)
  wrong(() => defineKey({ 1: 'utf8' }), /cannot be named '1'/)
  wrong(() => defineKey({ a: 'text' as never }), /one of utf8, .*got "text"/)
  wrong(() => rowsOfKeys(key, { prefix: { user: 'a' }, startKey: { user: 'b' } }, false), /repeats/)
  wrong(() => rowsOfKeys(key, { startKey: {}, startInclusive: false }, false), /startKey/)
  wrong(() => rowsOfKeys(key, { startsWith: { user: 'a', at } }, false), /only text and bytes/)
  wrong(() => rowsOfKeys(key, { start: { user: 'a' } } as never, false), /did you mean/)
  t.end()
})

void t.test('parts may have the names that all objects have', (t) => {
  const key = defineKey({ season: 'integer', constructor: 'utf8' })
  const row = key.encode({ season: 1, constructor: 'Lotus' })
  t.strictSame(key.decode(row), { season: 1, constructor: 'Lotus' })
  const { startRow } = rowsOfKeys(key, { prefix: { season: 1 } } as never, false)
  t.strictSame(startRow, row.subarray(0, 8))
  t.throws(() => key.encode({ season: 1 } as never), { message: /lacks its part 'constructor'/ })
  t.end()
})
