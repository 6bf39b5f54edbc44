/**
 * The content of the golden directory: written once per format version, kept for ever, and compared
 * with what every later version of the code reads.
 */
import { ManualClock } from '../../src/base/clock.js'
import { Database, type DatabaseOptions, type EmbeddedTable } from '../../src/entries/index.js'

/** Options that make the files independent of machine and time. */
export function goldenOptions(): DatabaseOptions {
  return {
    clock: new ManualClock(1_700_000_000_000),
    randomBytes: (length) => Buffer.alloc(length, 'golden'),
    executor: 'inline',
    nativeFree: true,
    compactionEnabled: false,
  }
}

/** Writes the database: tables and log, every codec, filter kind, marker and value form. */
export async function writeGolden(directory: string): Promise<void> {
  const database = await Database.open(directory, goldenOptions())
  const table = await database.createTable('golden', {
    families: {
      lz4: { versions: 3, bloomFilter: 'ROW' },
      gz: { compression: 'GZ', bloomFilter: 'ROWCOL' },
      mob: { mob: true, mobThreshold: 100 },
      none: { compression: 'NONE', bloomFilter: 'NONE', blockBytes: 1024 },
    },
  })
  for (let i = 0; i < 60; i++) {
    const row = `row:${String(i).padStart(4, '0')}`
    await table.put({
      row,
      cells: { 'lz4:text': `value ${i} `.repeat(8), 'gz:n': String(i), 'none:bytes': bytes(i) },
      timestamp: 1000 + i,
    })
  }
  const picture = Buffer.concat([bytes(60), Buffer.alloc(200, 'large')])
  await table.put({ row: 'large', cells: { 'mob:q': picture, 'mob:small': 'in line' } })
  await table.put({
    row: 'large',
    cells: { 'mob:ttl': picture },
    ttlMilliseconds: 2 ** 47,
    timestamp: 7,
  })
  await table.put({ row: Buffer.from([0, 255, 0]), cells: { 'lz4:\0': 'zeros' }, timestamp: 5 })
  await table.put({
    row: 'ttl',
    cells: { 'lz4:q': 'lives' },
    ttlMilliseconds: 2 ** 47,
    timestamp: 7,
  })
  await table.delete({ row: 'row:0001' })
  await database.flush()
  await table.delete({ row: 'row:0002', families: ['lz4'], timestamp: 2000 })
  await table.delete({ row: 'row:0003', columns: [{ family: 'gz', qualifier: 'n' }] })
  await table.delete({
    row: 'row:0004',
    columnVersions: [{ family: 'none', qualifier: 'bytes', timestamp: 1004 }],
    familyVersions: [{ family: 'lz4', timestamp: 1004 }],
  })
  await database.flush()
  await table.increment({ row: 'row:0005', columns: { 'gz:counter': 41 } })
  await table.append({ row: 'row:0005', columns: { 'lz4:text': 'and more' } })
  await table.put({ row: 'only in the log', cells: { 'none:q': '' } })
  await database.close()
}

function bytes(i: number): Buffer {
  return Buffer.from(Array.from({ length: i }, (_, k) => (k * 37 + i) & 255))
}

/** Every cell and marker of the table as text, one a line. */
export function describe(table: EmbeddedTable): string {
  const lines: string[] = []
  for (const result of table.scanSync({ raw: true, versions: 'all' })) {
    for (const cell of result) {
      lines.push(
        `${cell.row.toString('hex')} ${cell.family}:${cell.qualifier.toString('hex')} ` +
          `${cell.timestampExact} ${cell.type} ${cell.sequence} ${cell.value.toString('hex')}`,
      )
    }
  }
  return `${lines.join('\n')}\n`
}
