/** @runs long */
import t from 'tap'
import { Worker } from 'node:worker_threads'
import { CellarError, ErrorCode } from '../../../../src/base/errors.js'
import { InvariantError } from '../../../../src/base/assert.js'
import type { Cursor } from '../../../../src/storage/cursor/cursor.js'
import {
  FrozenEntriesCursor,
  type FrozenEntries,
} from '../../../../src/storage/memtable/frozen-entries.js'
import { Memtable } from '../../../../src/storage/memtable/memtable.js'
import type { MemtableCursor } from '../../../../src/storage/memtable/memtable-cursor.js'

const seed = Number(process.env.CELLAR_SEED ?? 20261121)

function makeRandom(start: number): (limit: number) => number {
  let state = start | 0 || 1
  return (limit) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % limit
  }
}

/** A sorted array of pairs with the operations of a memtable. */
class Model {
  readonly keys: Buffer[] = []
  readonly values: Buffer[] = []

  lowerBound(key: Buffer): number {
    let low = 0
    let high = this.keys.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (Buffer.compare(this.keys[middle], key) < 0) low = middle + 1
      else high = middle
    }
    return low
  }

  insert(key: Buffer, value: Buffer): void {
    const index = this.lowerBound(key)
    if (index < this.keys.length && this.keys[index].equals(key)) {
      this.values[index] = value
    } else {
      this.keys.splice(index, 0, key)
      this.values.splice(index, 0, value)
    }
  }
}

function put(memtable: Memtable, key: Buffer, value: Buffer): void {
  const source = Buffer.concat([Buffer.from([7]), key, value])
  memtable.insert(source, 1, 1 + key.length, 1 + key.length, source.length)
}

function keyOf(cursor: Cursor): Buffer {
  return Buffer.from(cursor.buffer.subarray(cursor.keyStart, cursor.keyEnd))
}

function valueOf(cursor: Cursor): Buffer {
  return Buffer.from(cursor.buffer.subarray(cursor.valueStart, cursor.valueEnd))
}

/** The first difference between a cursor and the model's entry `index`, or undefined. */
function difference(cursor: Cursor, model: Model, index: number): string | undefined {
  const exists = index >= 0 && index < model.keys.length
  if (cursor.valid !== exists) return `entry ${index}: valid is ${cursor.valid}`
  if (!exists) return undefined
  if (!keyOf(cursor).equals(model.keys[index])) {
    return `entry ${index}: key ${keyOf(cursor).toString('hex', 0, 40)}`
  }
  return valueOf(cursor).equals(model.values[index]) ? undefined : `entry ${index}: value`
}

function differenceOfScan(cursor: Cursor, model: Model): string | undefined {
  cursor.seek(Buffer.alloc(0), 0)
  for (let i = 0; i <= model.keys.length; i++) {
    const found = difference(cursor, model, i)
    if (found !== undefined) return found
    if (cursor.valid) cursor.next()
  }
  return undefined
}

function differenceOfScanBack(cursor: MemtableCursor, model: Model): string | undefined {
  const behind = Buffer.alloc(200, 0xff)
  cursor.seekBefore(behind, behind.length)
  for (let i = model.keys.length - 1; i >= -1; i--) {
    const found = difference(cursor, model, i)
    if (found !== undefined) return found
    if (cursor.valid) cursor.previous()
  }
  return undefined
}

function differenceOfSeeks(cursor: Cursor, model: Model, probes: Buffer[]): string | undefined {
  for (const probe of probes) {
    const index = model.lowerBound(probe)
    cursor.seek(probe, probe.length)
    const forward = difference(cursor, model, index)
    if (forward !== undefined) return `seek ${probe.toString('hex', 0, 40)}: ${forward}`
    cursor.seekBefore(probe, probe.length)
    const backward = difference(cursor, model, index - 1)
    if (backward !== undefined) return `seekBefore ${probe.toString('hex', 0, 40)}: ${backward}`
  }
  return undefined
}

/** Keys at, just before and just behind each key of the model. */
function probesAround(model: Model, step = 1): Buffer[] {
  const probes: Buffer[] = [Buffer.alloc(0), Buffer.alloc(100, 0xff), Buffer.from([0])]
  for (let i = 0; i < model.keys.length; i += step) {
    const key = model.keys[i]
    probes.push(key, Buffer.concat([key, Buffer.from([0])]), Buffer.concat([key, Buffer.from('z')]))
    if (key.length > 0) {
      probes.push(key.subarray(0, key.length - 1))
      const smaller = Buffer.from(key)
      smaller[key.length - 1]--
      probes.push(smaller)
    }
  }
  return probes
}

function finish<T>(generator: Generator<void, T>): { value: T; slices: number } {
  for (let slices = 0; ; slices++) {
    const result = generator.next()
    if (result.done === true) return { value: result.value, slices }
  }
}

/** Fills a memtable and a model alike and compares them in every way. */
function differenceAfter(keys: Iterable<Buffer>, probeStep = 1): string | undefined {
  const memtable = new Memtable({ arenaBytesInitial: 256 })
  const model = new Model()
  let i = 0
  for (const key of keys) {
    const value = Buffer.from(`value ${i++}`)
    put(memtable, key, value)
    model.insert(key, value)
  }
  if (memtable.entryCount !== model.keys.length) return `count ${memtable.entryCount}`
  const probes = probesAround(model, probeStep)
  const live =
    differenceOfScan(memtable.cursor(), model) ??
    differenceOfSeeks(memtable.cursor(), model, probes)
  if (live !== undefined) return live
  memtable.freeze()
  const frozen = new FrozenEntriesCursor(finish(memtable.exportSlices(100)).value)
  const exported = differenceOfScan(frozen, model) ?? differenceOfSeeks(frozen, model, probes)
  return exported === undefined ? undefined : `frozen: ${exported}`
}

function* times(count: number, make: (i: number) => Buffer): Generator<Buffer> {
  for (let i = 0; i < count; i++) yield make(i)
}

function uint32(i: number): Buffer {
  const key = Buffer.alloc(4)
  key.writeUInt32BE(i)
  return key
}

function digits(i: number): Buffer {
  return Buffer.from(String(i).padStart(16, '0'))
}

void t.test('an empty memtable has no entries to find, scan or export', async (t) => {
  t.equal(differenceAfter([]), undefined)
})

void t.test('the empty key is the smallest key', async (t) => {
  t.equal(differenceAfter([Buffer.from('a'), Buffer.alloc(0), Buffer.from([0])]), undefined)
})

void t.test('a single key is found from all sides', async (t) => {
  t.equal(differenceAfter([Buffer.from('one')]), undefined)
})

void t.test('ascending keys of several levels are kept in order', async (t) => {
  t.equal(differenceAfter(times(20_000, digits), 7), undefined)
})

void t.test('descending keys of several levels are kept in order', async (t) => {
  t.equal(
    differenceAfter(
      times(20_000, (i) => digits(1e9 - i)),
      7,
    ),
    undefined,
  )
})

void t.test('ascending runs in the middle of the tree are kept in order', async (t) => {
  const run = (i: number) => Buffer.from(`tenant ${i % 5}:${String(i).padStart(9, '0')}`)
  t.equal(differenceAfter(times(10_000, run), 5), undefined)
  const blocks = (i: number) => Buffer.from(`t${9 - Math.floor(i / 900)}:${i + 100_000}`)
  t.equal(differenceAfter(times(9_000, blocks), 5), undefined)
})

void t.test('descending runs in the middle of the tree are kept in order', async (t) => {
  const blocks = (i: number) => Buffer.from(`t${Math.floor(i / 900) % 3}:${900_000 - i}`)
  t.equal(differenceAfter(times(9_000, blocks), 5), undefined)
})

void t.test('keys that differ only by trailing zeros are different', async (t) => {
  const padded = (i: number) => Buffer.concat([Buffer.from('a'), Buffer.alloc((i * 7919) % 400)])
  t.equal(differenceAfter(times(1000, padded)), undefined)
  const mixed = (i: number) =>
    Buffer.concat([Buffer.from('shared prefix'), Buffer.alloc(i % 9), uint32((i * 31) % 97)])
  t.equal(differenceAfter(times(3000, mixed)), undefined)
})

void t.test('keys of many 0x00 and 0xFF bytes are kept in order', async (t) => {
  const random = makeRandom(seed)
  const extreme = () => {
    const key = Buffer.alloc(random(12))
    for (let i = 0; i < key.length; i++) key[i] = [0, 0, 0xff, 0xff, 1, 0xfe][random(6)]
    return key
  }
  t.equal(differenceAfter(times(5000, extreme), 3), undefined)
})

void t.test('a foreign key shortens the prefixes on its edge only as far as needed', async (t) => {
  for (const foreign of ['', '\0', 'a', 'rov', 'row ', 'row 0000001', 'row:', 'zzz', '~~~~~~~~~']) {
    const keys = [...times(3000, (i) => Buffer.from(`row 00000${10_000 + ((i * 7) % 3000)}:x`))]
    keys.push(Buffer.from(foreign))
    keys.push(...times(3000, (i) => Buffer.from(`row 00000${20_000 + ((i * 11) % 3000)}:x`)))
    keys.push(...times(300, (i) => Buffer.from(`${foreign}${i}`)))
    t.equal(differenceAfter(keys, 5), undefined, `foreign key ${JSON.stringify(foreign)}`)
  }
})

void t.test('prefixes shrink step by step when ever more foreign keys arrive', async (t) => {
  const low = 'm'.repeat(40)
  const keys = [...times(500, (i) => Buffer.from(low + String(1000 + i)))]
  for (let length = 39; length >= 0; length--) {
    keys.push(Buffer.from(low.slice(0, length) + 'a'), Buffer.from(low.slice(0, length) + 'z'))
    keys.push(...times(70, (i) => Buffer.from(`${low.slice(0, length)}z${i}`)))
    keys.push(...times(70, (i) => Buffer.from(`${low.slice(0, length)}a${i}`)))
  }
  t.equal(differenceAfter(keys, 3), undefined)
})

void t.test('keys of up to 70,000 bytes are kept in order', async (t) => {
  const lengths = [1, 2, 5, 6, 7, 8, 63, 64, 65, 255, 4095, 65_535, 65_536, 69_999, 70_000]
  const keys: Buffer[] = []
  for (const length of lengths) {
    for (const last of ['a', 'b', '\0', '\xff']) {
      const key = Buffer.alloc(length, 'k')
      key[length - 1] = Buffer.from(last, 'latin1')[0]
      keys.push(key, Buffer.alloc(length, last, 'latin1'))
    }
  }
  t.equal(differenceAfter(keys), undefined)
})

void t.test('an equal key gets the new value and is counted once', async (t) => {
  const memtable = new Memtable()
  for (let round = 0; round < 3; round++) {
    for (let i = 0; i < 500; i++) put(memtable, digits(i), Buffer.from(`round ${round} of ${i}`))
  }
  t.equal(memtable.entryCount, 500)
  const cursor = memtable.cursor()
  cursor.seek(digits(0), 16)
  for (let i = 0; i < 500; i++) {
    if (valueOf(cursor).toString() !== `round 2 of ${i}`) t.fail(`value of ${i}`)
    cursor.next()
  }
  t.notOk(cursor.valid)
})

void t.test('values lie anywhere in the source and may be empty or large', async (t) => {
  const memtable = new Memtable({ arenaBytesInitial: 0 })
  const source = Buffer.alloc(300_000, 'v')
  source.write('KEY', 299_990)
  memtable.insert(source, 299_990, 299_993, 0, 200_000)
  memtable.insert(source, 299_990, 299_992, 5, 5)
  const cursor = memtable.cursor()
  cursor.seek(Buffer.from('KE'), 2)
  t.equal(valueOf(cursor).length, 0)
  cursor.next()
  t.equal(keyOf(cursor).toString(), 'KEY')
  t.ok(valueOf(cursor).equals(source.subarray(0, 200_000)))
})

void t.test('values of any length come back from wherever they lay, whatever grows', async (t) => {
  const random = makeRandom(seed)
  const source = Buffer.alloc(300_000)
  for (let i = 0; i < source.length; i++) source[i] = random(256)
  const memtable = new Memtable()
  const model = new Model()
  for (let i = 0; i < 400; i++) {
    const key = digits(random(1000))
    const start = 20 + random(1000)
    const end = start + (random(2) === 0 ? 400 + random(300) : random(200_000))
    const keyStart = random(2) === 0 ? 0 : start - key.length
    key.copy(source, keyStart)
    memtable.insert(source, keyStart, keyStart + key.length, start, end)
    model.insert(key, Buffer.from(source.subarray(start, end)))
  }
  t.ok(memtable.bytesUsed > 8 * 1024 * 1024, 'the arena has grown several times')
  t.equal(differenceOfScan(memtable.cursor(), model), undefined)
})

void t.test(`random operations agree with a sorted array, seed ${seed}`, async (t) => {
  const random = makeRandom(seed)
  const shapes: Array<() => Buffer> = [
    () => Buffer.from(`user${random(1e9)}${random(1e9)}`),
    () => digits(random(30_000)),
    () => Buffer.concat([uint32(random(50)), Buffer.from([0, 1]), uint32(random(1000))]),
    () => Buffer.alloc(random(20), random(3)),
    () => Buffer.concat([Buffer.alloc(random(30), 'p'), uint32(random(2 ** 31))]),
  ]
  for (let run = 0; run < 10; run++) {
    const memtable = new Memtable({ arenaBytesInitial: random(5000) })
    const model = new Model()
    const cursors = [memtable.cursor(), memtable.cursor(), memtable.cursor()]
    const shapeCount = 1 + random(shapes.length)
    for (let i = 0; i < 6000; i++) {
      const key = shapes[random(shapeCount)]()
      const cursor = cursors[random(cursors.length)]
      const action = random(10)
      let found: string | undefined
      if (action < 5) {
        const value = Buffer.alloc(random(40), i)
        if (random(4) === 0) memtable.reserve(1, key.length + value.length)
        put(memtable, key, value)
        model.insert(key, value)
      } else if (action === 5) {
        cursor.seek(key, key.length)
        found = difference(cursor, model, model.lowerBound(key))
      } else if (action === 6) {
        cursor.seekBefore(key, key.length)
        found = difference(cursor, model, model.lowerBound(key) - 1)
      } else if (cursor.valid) {
        const before = model.lowerBound(keyOf(cursor))
        const forward = random(2) === 0
        if (forward) cursor.next()
        else cursor.previous()
        found = difference(cursor, model, forward ? before + 1 : before - 1)
      }
      if (found !== undefined) throw new Error(`run ${run}, step ${i}: ${found}`)
    }
    t.equal(differenceOfScan(cursors[0], model), undefined)
    t.equal(differenceOfScanBack(cursors[0], model), undefined)
    t.equal(memtable.entryCount, model.keys.length)
  }
})

void t.test('a cursor goes on from its key whatever is inserted around it', async (t) => {
  const memtable = new Memtable({ arenaBytesInitial: 256 })
  for (let i = 0; i < 1000; i++) put(memtable, digits(i * 10), Buffer.from('old'))
  const cursor = memtable.cursor()
  cursor.seek(Buffer.alloc(0), 0)
  for (let i = 0; i < 1000; i++) {
    if (!keyOf(cursor).equals(digits(i * 10))) throw new Error(`lost at ${i}`)
    for (let j = 1; j < 5; j++) put(memtable, digits(i * 10 - j), Buffer.alloc(50))
    put(memtable, digits(i * 10), Buffer.from('new'))
    put(memtable, digits(i * 10 + 5), Buffer.from('middle'))
    if (!keyOf(cursor).equals(digits(i * 10))) throw new Error(`entry changed at ${i}`)
    cursor.next()
    if (!keyOf(cursor).equals(digits(i * 10 + 5))) throw new Error(`new entry missed at ${i}`)
    cursor.next()
  }
  t.notOk(cursor.valid)
})

void t.test('what a cursor shows survives the replacement of the arena', async (t) => {
  const memtable = new Memtable({ arenaBytesInitial: 256 })
  put(memtable, Buffer.from('key'), Buffer.from('value'))
  const cursor = memtable.cursor()
  cursor.seek(Buffer.from('key'), 3)
  const old = cursor.buffer
  for (let i = 0; i < 5000; i++) put(memtable, digits(i), digits(i))
  t.equal(valueOf(cursor).toString(), 'value')
  t.equal(cursor.buffer, old)
  cursor.seek(Buffer.from('key'), 3)
  t.equal(valueOf(cursor).toString(), 'value')
  t.not(cursor.buffer, old)
  t.ok(Buffer.isBuffer(cursor.buffer))
})

void t.test('next on an invalid cursor is an assertion failure', async (t) => {
  t.throws(() => new Memtable().cursor().next(), InvariantError)
})

void t.test('a frozen memtable refuses inserts and only it can be exported', async (t) => {
  const memtable = new Memtable()
  t.throws(() => memtable.exportSlices(), InvariantError)
  memtable.freeze()
  t.throws(() => put(memtable, Buffer.from('a'), Buffer.from('b')), InvariantError)
})

void t.test('the export comes in slices of about the given size', async (t) => {
  const memtable = new Memtable()
  for (let i = 0; i < 10_000; i++) put(memtable, digits(i), Buffer.alloc(3))
  memtable.freeze()
  const { value, slices } = finish(memtable.exportSlices(1000))
  t.equal(value.entryCount, 10_000)
  t.ok(slices >= 8 && slices <= 10, `${slices} slices`)
  t.ok(value.arenaBytes <= value.arena.byteLength)
})

void t.test('an export has all entries, whatever their number', async (t) => {
  for (const count of [1, 511, 512, 513, 1024, 1536, 2048, 4096, 8192, 16_384]) {
    const memtable = new Memtable()
    for (let i = 0; i < count; i++) put(memtable, digits(i), digits(i))
    memtable.freeze()
    for (const slice of [100, 512, undefined]) {
      const { entryCount, offsets, ...rest } = finish(memtable.exportSlices(slice)).value
      t.equal(entryCount, count, `${count}`)
      t.equal(offsets.byteLength, 4 * count, `${count}`)
      const cursor = new FrozenEntriesCursor({ entryCount, offsets, ...rest })
      let read = 0
      let last = ''
      for (cursor.seek(Buffer.alloc(0), 0); cursor.valid; cursor.next()) {
        read++
        last = cursor.buffer.toString('latin1', cursor.keyStart, cursor.keyEnd)
      }
      t.same([read, last], [count, digits(count - 1).toString()], `${count}`)
    }
  }
})

void t.test('a worker thread reads the frozen entries without a copy', async (t) => {
  const memtable = new Memtable()
  const model = new Model()
  const random = makeRandom(seed)
  for (let i = 0; i < 3000; i++) {
    const key = Buffer.from(`row ${random(10_000)}`)
    const value = digits(i)
    put(memtable, key, value)
    model.insert(key, value)
  }
  memtable.freeze()
  const entries: FrozenEntries = finish(memtable.exportSlices()).value
  const frozenModule = new URL(
    '../../../../src/storage/memtable/frozen-entries.js',
    import.meta.url,
  ).href
  const code = `
    const { parentPort, workerData } = require('node:worker_threads')
    import(${JSON.stringify(frozenModule)}).then(({ FrozenEntriesCursor }) => {
      const cursor = new FrozenEntriesCursor(workerData)
      let text = ''
      cursor.seek(Buffer.alloc(0), 0)
      for (; cursor.valid; cursor.next()) {
        text += cursor.buffer.toString('latin1', cursor.keyStart, cursor.keyEnd) + '='
        text += cursor.buffer.toString('latin1', cursor.valueStart, cursor.valueEnd) + ';'
      }
      parentPort.postMessage(text)
    })`
  const worker = new Worker(code, { eval: true, workerData: entries })
  const text = await new Promise<string>((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', reject)
  })
  const expected = model.keys.map((key, i) => `${key.toString()}=${model.values[i].toString()};`)
  t.equal(text, expected.join(''))
  await worker.terminate()
})

void t.test('reserve makes room so that the inserts allocate nothing', async (t) => {
  const random = makeRandom(seed)
  for (let round = 0; round < 30; round++) {
    const memtable = new Memtable({ arenaBytesInitial: 256 })
    for (let i = 0; i < random(3000); i++) put(memtable, digits(random(1e6)), Buffer.alloc(5))
    const entries = 1 + random(3000)
    const ascending = random(3)
    let arenaUsed = 0
    const keys = [...times(entries, (i) => digits([random(1e6), i * 50, 1e6 - i * 50][ascending]))]
    memtable.reserve(entries, entries * 21)
    const { tree, arena } = memtable as unknown as {
      tree: { leaves: { numbers: Float64Array }; inners: { numbers: Float64Array } }
      arena: { buffer: Buffer; bytesUsed: number }
    }
    const before = [tree.leaves.numbers, tree.inners.numbers, arena.buffer]
    arenaUsed = arena.bytesUsed
    for (const key of keys) put(memtable, key, Buffer.alloc(5))
    t.ok(
      tree.leaves.numbers === before[0] &&
        tree.inners.numbers === before[1] &&
        arena.buffer === before[2],
      `${entries} entries, order ${ascending}`,
    )
    t.ok(arena.bytesUsed > arenaUsed)
  }
})

void t.test('a reserve that cannot be had throws and changes nothing', async (t) => {
  const memtable = new Memtable()
  put(memtable, Buffer.from('key'), Buffer.from('value'))
  const bytesUsed = memtable.bytesUsed
  for (const [entries, bytes] of [
    [1, 2 ** 33],
    [2 ** 31, 0],
    [1, Number.MAX_SAFE_INTEGER],
    [Infinity, Infinity],
    [1, NaN],
  ]) {
    const error = t.throws(() => memtable.reserve(entries, bytes)) as CellarError
    t.ok(error instanceof CellarError)
    t.equal(error.code, ErrorCode.tooLarge)
    t.ok(error.cause instanceof RangeError)
  }
  t.equal(memtable.bytesUsed, bytesUsed)
  t.equal(memtable.entryCount, 1)
  put(memtable, Buffer.from('more'), Buffer.from('value'))
  t.equal(memtable.entryCount, 2)
})

void t.test(
  'the bytes used grow with every insert and a small memtable costs little',
  async (t) => {
    const memtable = new Memtable()
    t.ok(memtable.bytesUsed < 8192, `${memtable.bytesUsed} bytes when empty`)
    let last = memtable.bytesUsed
    for (let i = 0; i < 1000; i++) {
      put(memtable, digits(i), Buffer.alloc(10))
      if (memtable.bytesUsed < last + 26) t.fail(`insert ${i} was not charged`)
      last = memtable.bytesUsed
    }
    t.ok(last < 1000 * (36 + 14) * 1.5, `${last} bytes`)
  },
)

void t.test('entries are copied whole from any offset, whatever their length', (t) => {
  const pool = Buffer.from(new ArrayBuffer(4099), 1)
  for (let i = 0; i < pool.length; i++) pool[i] = (i * 31 + (i >> 8)) & 0xff
  const memtable = new Memtable()
  const expected = new Map<string, string>()
  for (let length = 0; length < 600; length += length < 40 ? 1 : 37) {
    for (let offset = 0; offset < 9; offset++) {
      // The last byte of the memory is read as well.
      const start = offset < 8 ? offset : pool.length - length - 4
      const keyEnd = start + 4
      pool.writeUInt32BE(length * 16 + offset, start)
      memtable.insert(pool, start, keyEnd, keyEnd, keyEnd + length)
      const key = pool.toString('hex', start, keyEnd)
      expected.set(key, pool.toString('hex', keyEnd, keyEnd + length))
    }
  }
  const cursor = memtable.cursor()
  let count = 0
  for (cursor.seek(Buffer.alloc(0), 0); cursor.valid; cursor.next()) {
    const { buffer, keyStart, keyEnd, valueStart, valueEnd } = cursor
    const value = expected.get(buffer.toString('hex', keyStart, keyEnd))
    if (buffer.toString('hex', valueStart, valueEnd) !== value) t.fail('another value')
    count++
  }
  t.equal(count, expected.size)
  t.end()
})
