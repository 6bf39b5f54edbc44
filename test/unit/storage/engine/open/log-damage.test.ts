import t, { type Test } from 'tap'
import { SimulatedDisk } from '../../../../doubles/simulated-disk.js'
import type { CellarError, Database, OpenOptions } from '../../../../../src/entries/index.js'
import {
  closed,
  flipBit,
  holds,
  killed,
  namesOf,
  openIn,
  pathOf,
  putRows,
  readAll,
  readBytes,
  rowOf,
  rowsIn,
  writeBytes,
  writtenBytes,
} from '../../../../helpers/damage.js'

/** Asserts that an open is refused because of the file, and changes nothing. */
async function refuses(
  t: Test,
  fileSystem: SimulatedDisk,
  name: string,
  what: string,
  more: OpenOptions = {},
): Promise<CellarError> {
  const before = readAll(fileSystem)
  const failure = await openIn(fileSystem, more).then(
    async (database: Database) => {
      await database.close()
      return undefined
    },
    (error: unknown) => error as CellarError,
  )
  t.match(failure, { code: 'ERR_CORRUPTION', corruption: { file: pathOf(name) } }, what)
  t.ok(holds(fileSystem, before), `${what}: no file was changed`)
  return failure!
}

/** Where the text stands in the file. */
function placeOf(fileSystem: SimulatedDisk, name: string, text: string): number {
  const at = readBytes(fileSystem, name).indexOf(text)
  if (at < 0) throw new Error(`${name} does not hold ${text}`)
  return at
}

function logOf(fileSystem: SimulatedDisk): string {
  const [name, ...others] = namesOf(fileSystem, /\.log$/)
  if (others.length > 0) throw new Error('more than one segment')
  return name
}

void t.test('a bit in the fifth of many SYNC_WAL rows after a kill is refused', async (t) => {
  const image = await killed((table) => putRows(table, 1000, 'SYNC_WAL'))
  const name = logOf(image)
  const at = placeOf(image, name, rowOf(4))
  flipBit(image, name, at)
  const failure = await refuses(t, image, name, 'killed')
  const offset = failure.corruption!.offset
  t.ok(offset < at && offset > placeOf(image, name, rowOf(3)), 'at the frame of that row')
  await refuses(t, image, name, 'strict', { recovery: 'strict' })
  await refuses(
    t,
    image.crash('keepAll', () => 0),
    name,
    'and after a stop of the machine',
  )
})

void t.test('a bit in the last FSYNC_WAL frame after a kill is refused', async (t) => {
  const image = await killed((table) => putRows(table, 10, 'FSYNC_WAL'))
  const name = logOf(image)
  flipBit(image, name, placeOf(image, name, 'value 9'), 3)
  const failure = await refuses(t, image, name, 'killed')
  t.match(failure.message, /a frame whose checksum does not match/)
})

void t.test('a bit in the empty room of a finished segment drops nothing', async (t) => {
  const fileSystem = new SimulatedDisk()
  const database = await openIn(fileSystem, { logBytesMax: 512 * 1024 })
  const table = await database.createTable('t', { families: { f: {} } })
  const isFinished = (): boolean => namesOf(fileSystem, /\.log$/).length > 1
  const value = Buffer.alloc(3000, 1)
  let count = 0
  const put = (): void => {
    table.putSync({ row: rowOf(count++), cells: { 'f:q': value }, durability: 'SYNC_WAL' })
  }
  while (!isFinished()) {
    // The sync grows the file ahead of its content.
    await table.put({ row: rowOf(count++), cells: { 'f:q': value }, durability: 'FSYNC_WAL' })
    put()
  }
  put()
  const image = fileSystem.kill()
  await database.close()
  const [finished, last] = namesOf(image, /\.log$/)
  // Where the next segment says that this one ends.
  const end = Number(readBytes(image, last).readBigUInt64LE(48))
  const room = readBytes(image, finished).length - end
  t.ok(room > 64, `there is room behind the finished segment: ${room} bytes`)
  t.ok(readBytes(image, last).length > 3000, 'the next segment holds rows')
  for (const at of [end, end + 40, end + room - 1]) {
    const damaged = image.kill()
    flipBit(damaged, finished, at, 6)
    const { rows, recovery } = await rowsIn(damaged)
    t.equal(rows.length, count, `all rows with a bit at ${at - end} of the room`)
    t.same(recovery.cuts, [])
  }
})

void t.test('after a clean close a log that is not as it was is refused', async (t) => {
  const make = (): Promise<SimulatedDisk> => closed((table) => putRows(table, 300, 'SYNC_WAL'))
  for (const machine of ['ran on', 'was stopped']) {
    const image = async (): Promise<SimulatedDisk> => {
      const made = await make()
      return machine === 'ran on' ? made : made.crash('keepAll', () => 0)
    }
    t.equal((await rowsIn(await image())).rows.length, 300)
    const zeroed = await image()
    const name = logOf(zeroed)
    const bytes = readBytes(zeroed, name)
    writeBytes(zeroed, name, bytes.fill(0, bytes.length - 512))
    await refuses(t, zeroed, name, `last sector zeroed, the machine ${machine}`)
    const removed = await image()
    removed.unlinkSync(pathOf(name))
    await refuses(t, removed, name, `only segment removed, the machine ${machine}`)
  }
})

void t.test('after a clean close two segments that were exchanged are refused', async (t) => {
  const image = await closed(
    (table) => {
      for (let i = 0; i < 40; i++) {
        table.putSync({ row: rowOf(i), cells: { 'f:q': Buffer.alloc(4000, i) } })
      }
    },
    { logBytesMax: 512 * 1024 },
  )
  const [first, second, ...others] = namesOf(image, /\.log$/)
  t.ok(second !== undefined, `${others.length + 2} segments`)
  const [bytesOfFirst, bytesOfSecond] = [readBytes(image, first), readBytes(image, second)]
  writeBytes(image, first, bytesOfSecond)
  writeBytes(image, second, bytesOfFirst)
  await refuses(t, image, first, 'exchanged')
})

void t.test('after a clean close a manifest that is too short is refused', async (t) => {
  const make = (): Promise<SimulatedDisk> =>
    closed(async (table, database) => {
      putRows(table, 100, 'SYNC_WAL')
      await database.flush()
      putRows(table, 10, 'SYNC_WAL')
    })
  const [manifest] = namesOf(await make(), /^MANIFEST/)
  for (const lost of [1, 34, 200, 600]) {
    const image = await make()
    const bytes = readBytes(image, manifest)
    writeBytes(image, manifest, bytes.subarray(0, bytes.length - lost))
    t.equal(namesOf(image, /\.sst$/).length, 1)
    // The SSTable that the rest does not name must stay, which `refuses` looks at.
    await refuses(t, image, manifest, `${lost} bytes short`)
  }
})

void t.test('a cut tail is told, and refused by recovery strict', async (t) => {
  const image = await killed((table) => putRows(table, 20, 'SYNC_WAL'))
  const name = logOf(image)
  const bytes = writtenBytes(image, name)
  writeBytes(image, name, bytes.subarray(0, bytes.length - 5))
  const failure = await refuses(t, image, name, 'strict', { recovery: 'strict' })
  const { offset } = failure.corruption!
  t.match(failure.message, /recovery is 'strict'/)
  const warnings: unknown[] = []
  const database = await openIn(image)
  try {
    database.on('warning', (warning) => warnings.push(warning))
    const cut = { file: pathOf(name), offset, bytesLost: bytes.length - 5 - offset }
    const recovery = { closedCleanly: false, mutationsReplayed: 19, cuts: [cut], filesKept: [] }
    t.match(database.recovery, recovery)
    t.match(database.recovery.cuts[0].found, /a frame that says \d+ bytes/)
    t.same(database.statistics().recovery, database.recovery)
    t.equal([...database.table('t').scanSync()].length, 19)
    await new Promise((resolve) => setImmediate(resolve))
    t.match(warnings, [{ code: 'ERR_CORRUPTION', corruption: { file: pathOf(name), offset } }])
    t.match((warnings[0] as Error).message, new RegExp(`${cut.bytesLost} bytes were left out`))
  } finally {
    await database.close()
  }
  const { rows, recovery } = await rowsIn(image, { recovery: 'strict' })
  t.equal(rows.length, 19)
  t.same(recovery.cuts, [], 'what was cut is told once')
  t.ok(recovery.closedCleanly)
})

void t.test('a torn tail of the manifest is told, and refused by recovery strict', async (t) => {
  const image = await killed((table) => putRows(table, 3, 'SYNC_WAL'))
  const [manifest] = namesOf(image, /^MANIFEST/)
  const bytes = readBytes(image, manifest)
  // The beginning of a frame, as a stop within a write leaves it.
  writeBytes(image, manifest, Buffer.concat([bytes, Buffer.alloc(7, 9)]))
  await refuses(t, image, manifest, 'strict', { recovery: 'strict' })
  const { rows, recovery } = await rowsIn(image)
  t.equal(rows.length, 3)
  const { length } = bytes
  t.match(recovery.cuts, [{ file: pathOf(manifest), offset: length, bytesLost: 7 }])
})

void t.test('a statement of a close that was changed is refused', async (t) => {
  const bytesOf = async (): Promise<number> =>
    readBytes(await closed((table) => putRows(table, 3, 'SYNC_WAL')), 'CLOSED').length
  const length = await bytesOf()
  const image = await closed((table) => putRows(table, 3, 'SYNC_WAL'))
  const statement = readBytes(image, 'CLOSED')
  for (let at = 0; at < length; at++) {
    const damaged = Buffer.from(statement)
    damaged[at] ^= 1 << (at & 7)
    writeBytes(image, 'CLOSED', damaged)
    const open = rowsIn(image)
    await t.rejects(open, { code: 'ERR_CORRUPTION', corruption: { file: pathOf('CLOSED') } })
    writeBytes(image, 'CLOSED', statement.subarray(0, at))
    await refuses(t, image, 'CLOSED', `cut to ${at} bytes`)
  }
  writeBytes(image, 'CLOSED', statement)
  t.equal((await rowsIn(image)).recovery.closedCleanly, true)
})

void t.test('a statement about an older manifest is void', async (t) => {
  const fileSystem = await closed((table) => putRows(table, 3, 'SYNC_WAL'))
  const stale = readBytes(fileSystem, 'CLOSED')
  const database = await openIn(fileSystem)
  t.same(namesOf(fileSystem, /^CLOSED/), [], 'an open removes it')
  database.table('t').putSync({ row: 'later', cells: { 'f:q': 'v' } })
  const image = fileSystem.kill()
  await database.close()
  writeBytes(image, 'CLOSED', stale)
  const { rows, recovery } = await rowsIn(image)
  t.equal(rows.length, 4)
  t.equal(recovery.closedCleanly, false)
})

void t.test('files that the manifest does not name go only if it is proven complete', async (t) => {
  const make = async (): Promise<SimulatedDisk> => {
    const image = await killed((table) => putRows(table, 3, 'SYNC_WAL'))
    writeBytes(image, '000090.sst', Buffer.from('not named'))
    writeBytes(image, '000091.val', Buffer.from('not named'))
    return image
  }
  const proven = await make()
  t.same((await rowsIn(proven)).recovery.filesKept, [])
  t.same(namesOf(proven, /\.(sst|val)$/), [])

  // Without its log nothing says how far the manifest went.
  const open = await make()
  const name = logOf(open)
  const header = readBytes(open, name).subarray(0, 120)
  writeBytes(open, name, header)
  const { recovery } = await rowsIn(open)
  t.same([...recovery.filesKept].sort(), ['000090.sst', '000091.val'])
  t.same(namesOf(open, /\.(sst|val)$/), ['000090.sst', '000091.val'])
  const next = await rowsIn(open)
  t.same(next.recovery.filesKept, [], 'the close has stated that the manifest is complete')
  t.same(namesOf(open, /\.(sst|val)$/), [])
})
