/**
 * Harms every kind of file of a database, and compares verification, salvage and repair with the
 * unharmed files: the entries of each block, the references of each value, the rows of each frame.
 */
import {
  Database,
  MemoryFileSystem,
  type CellarError,
  type Loss,
} from '../../../src/entries/index.js'
import { rowEndOf, unescape } from '../../../src/storage/cell/cell-key.js'
import {
  isReference,
  readReference,
  type ValueReference,
} from '../../../src/storage/cell/cell-value.js'
import { loadCodecs } from '../../../src/storage/codec/codec.js'
import { BlockCache } from '../../../src/storage/sstable/blocks/block-cache.js'
import { EntryReader } from '../../../src/storage/sstable/rows/entry-reader.js'
import { ReadCounters } from '../../../src/storage/sstable/read-counters.js'
import { SsTableReader } from '../../../src/storage/sstable/reader.js'
import { readFrames, type RecordFile } from '../damage/damage-oracle.js'

const directory = '/db'
const options = {
  executor: 'inline',
  compactionEnabled: false,
  memtableBytesMax: 256 * 1024,
  flushBytes: 64 * 1024,
  blockCacheBytesMax: 64 * 1024,
} as const

/** A change of one file. */
export type Harm =
  | { readonly kind: 'flip'; readonly at: number; readonly bit: number }
  | { readonly kind: 'cut'; readonly length: number }
  | { readonly kind: 'remove' }

type Files = Map<string, Buffer>

/** What a database shows: the versions of each table as lines, with the row in front. */
type Content = Map<string, Set<string>>

/** The unharmed database. */
export interface Original {
  readonly files: Files
  readonly backup: Files
  readonly content: Content
  /** Every version that was ever written. */
  readonly written: Content
}

function row(index: number): string {
  return `row ${String(index).padStart(4, '0')}`
}

function name(line: string): string {
  return line.slice(0, 8)
}

/** Fills a database: two tables, large values, markers, several files, a snapshot, a log. */
export async function makeOriginal(random: () => number, closes: boolean): Promise<Original> {
  const fileSystem = new MemoryFileSystem()
  const database = await Database.open(directory, { ...options, fileSystem })
  const written: Content = new Map([
    ['t', new Set()],
    ['u', new Set()],
  ])
  const family = { versions: 5, blockBytes: 1024 }
  const t = await database.createTable('t', {
    families: { f: family, g: { ...family, mob: true, mobThreshold: 64 } },
  })
  const u = await database.createTable('u', { families: { f: family } })
  let time = 1000
  const put = (table: typeof t, index: number, column: string, bytes: number): void => {
    const value = `${table.name} ${column} ${++time} `.padEnd(bytes, String(index))
    table.putSync({ row: row(index), cells: { [column]: value }, timestamp: time })
    written.get(table.name)!.add(`${row(index)} ${column} ${time} ${value}`)
  }
  for (let round = 0; round < 3; round++) {
    for (let i = 0; i < 40; i++) {
      put(t, Math.floor(random() * 200), 'f:q', 30 + Math.floor(random() * 60))
      if (random() < 0.3) put(t, Math.floor(random() * 200), 'g:q', 80 + Math.floor(random() * 200))
      if (random() < 0.3) put(u, Math.floor(random() * 200), 'f:q', 40)
    }
    t.deleteSync({ row: row(Math.floor(random() * 200)), timestamp: ++time })
    await database.flush()
    if (round === 1) await database.compact('t')
  }
  await database.backup('/backup')
  // The rows of the log are nowhere else.
  for (let i = 300; i < 330; i++) {
    put(i % 3 === 0 ? u : t, i, 'f:q', 30 + Math.floor(random() * 300))
    if (i === 315) database.admin.rollWALWriter()
    if (random() < 0.3) await new Promise((resolve) => setImmediate(resolve))
  }
  await t.put({ row: row(330), cells: { 'f:q': 'last' }, timestamp: ++time })
  written.get('t')!.add(`${row(330)} f:q ${time} last`)
  const content = contentOf(database)
  const killed = copyOf(fileSystem, directory)
  await database.close()
  const files = closes ? copyOf(fileSystem, directory) : killed
  return { files, backup: copyOf(fileSystem, '/backup'), content, written }
}

function contentOf(database: Database): Content {
  return new Map(
    database.listTables().map((table) => {
      const lines = new Set<string>()
      for (const result of database.table(table).scanSync({ versions: 'all' })) {
        for (const { family, qualifier, timestamp, value } of result.cells()) {
          lines.add(
            `${result.row!.toString()} ${family}:${qualifier.toString()} ${timestamp} ${value.toString()}`,
          )
        }
      }
      return [table, lines]
    }),
  )
}

function copyOf(fileSystem: MemoryFileSystem, from: string): Files {
  const names = fileSystem.listSync(from).filter((each) => !each.startsWith('LOCK'))
  const files: Files = new Map()
  for (const each of names) {
    const path = fileSystem.join(from, each)
    if (fileSystem.statSync(path)?.kind !== 'file') continue
    const file = fileSystem.openSync(path, 'read')
    const bytes = Buffer.alloc(file.sizeSync())
    file.readSync(bytes, 0, bytes.length, 0)
    file.closeSync()
    files.set(each, bytes)
  }
  return files
}

function place(fileSystem: MemoryFileSystem, to: string, files: Files): void {
  fileSystem.makeDirectorySync(to)
  for (const [each, bytes] of files) {
    const file = fileSystem.openSync(fileSystem.join(to, each), 'create')
    file.writeSync(bytes, 0, bytes.length, 0)
    file.closeSync()
  }
}

function harmed(files: Files, file: string, harm: Harm): Files {
  const copy = new Map(files)
  if (harm.kind === 'remove') {
    copy.delete(file)
    return copy
  }
  const bytes = Buffer.from(files.get(file)!)
  if (harm.kind === 'flip') bytes[harm.at] ^= 1 << harm.bit
  copy.set(file, harm.kind === 'flip' ? bytes : bytes.subarray(0, harm.length))
  return copy
}

/** An entry of an unharmed SSTable. */
interface Entry {
  readonly row: string
  readonly block: number
  /** Number of the value file, and place of the value in it. */
  readonly value: readonly [file: number, start: number, end: number] | undefined
}

function valueOf(reference: ValueReference): Entry['value'] {
  const { fileNumber, offset, storedBytes } = reference
  return [fileNumber, offset, offset + storedBytes]
}

/** The blocks and entries of an unharmed SSTable. */
class Table {
  readonly entries: Entry[] = []
  readonly offsets: number[]
  readonly bytes: number

  constructor(fileSystem: MemoryFileSystem, file: string, databaseId: Buffer, writtenAs: number) {
    const cache = new BlockCache(0)
    const own = { codecs: loadCodecs(), cache, counters: new ReadCounters(), databaseId }
    const path = fileSystem.join(directory, file)
    const reader = SsTableReader.openSync(fileSystem, path, writtenAs, own)
    this.offsets = [...reader.index.offsets]
    this.bytes = reader.fileBytes
    const entry = new EntryReader()
    for (let i = 0; i < reader.index.blockCount; i++) {
      const block = reader.readBlockSync(i)
      for (let slot = 0; slot < block.count; slot++) {
        entry.read(block, slot)
        const { buffer, keyStart, keyEnd, valueEnd } = entry
        const key = unescape(buffer, keyStart, rowEndOf(buffer, keyStart, keyEnd)).toString()
        const reference = isReference(buffer, keyEnd, valueEnd)
          ? readReference(buffer, keyEnd, valueEnd)
          : undefined
        const value = reference && valueOf(reference)
        this.entries.push({ row: key, block: i, value })
      }
    }
    reader.closeSync()
  }

  /** What is lost if some entries are: their number, and the rows between the others. */
  lossOf(isLost: (entry: Entry) => boolean): { entries: number; rows: string[] } {
    const { entries } = this
    const rows: string[] = []
    for (let i = 0; i < entries.length; i++) {
      if (!isLost(entries[i])) continue
      const first = entries[i - 1] ?? entries[0]
      while (i + 1 < entries.length && isLost(entries[i + 1])) i++
      const last = entries[i + 1] ?? entries[entries.length - 1]
      rows.push(`${first.row}-${last.row}`)
    }
    return { entries: entries.filter(isLost).length, rows }
  }
}

/** How often each outcome was seen. */
export interface Counts {
  sound: number
  lossless: number
  losses: number
  hopeless: number
}

/** Harms the files of an original; throws at the first wrong outcome. */
export class SalvageTest {
  readonly counts: Counts = { sound: 0, lossless: 0, losses: 0, hopeless: 0 }
  private readonly original: Original
  private readonly tables = new Map<string, Table>()
  private readonly logs = new Map<string, RecordFile>()

  constructor(original: Original) {
    this.original = original
    const fileSystem = new MemoryFileSystem()
    place(fileSystem, directory, original.files)
    const manifest = [...original.files.keys()].find((each) => each.startsWith('MANIFEST'))!
    const databaseId = original.files.get(manifest)!.subarray(24, 40)
    for (const [file, bytes] of original.files) {
      if (file.endsWith('.sst')) {
        this.tables.set(file, new Table(fileSystem, file, databaseId, Number(file.slice(0, 6))))
      }
      if (file.endsWith('.log') || file === manifest) this.logs.set(file, readFrames(bytes))
    }
  }

  /** One harm: verification, salvage with and without the backup, and repair. */
  async check(file: string, harm: Harm): Promise<void> {
    const { length } = this.original.files.get(file)!
    const origin = `${file} of ${length} bytes, ${JSON.stringify(harm)}`
    try {
      await this.judge(file, harm)
    } catch (error) {
      throw new Error(`${origin}: ${(error as Error).message}`, { cause: error })
    }
  }

  private async judge(file: string, harm: Harm): Promise<void> {
    const { original } = this
    const files = harmed(original.files, file, harm)
    const fileSystem = new MemoryFileSystem()
    place(fileSystem, directory, files)
    place(fileSystem, '/backup', original.backup)
    const verification = await Database.verify(directory, { fileSystem })
    let salvage
    try {
      salvage = await Database.salvage(directory, '/new', { fileSystem })
    } catch (error) {
      const isHopeless =
        file.startsWith('MANIFEST') && (error as CellarError).code === 'ERR_CORRUPTION'
      if (!isHopeless || verification.sound) throw error
      if (fileSystem.statSync('/new') !== undefined) throw new Error('a refused salvage wrote')
      this.counts.hopeless++
      this.same(copyOf(fileSystem, directory), files, 'a refused salvage changed the directory')
      return
    }
    this.same(copyOf(fileSystem, directory), files, 'the directory was changed')
    this.equal(salvage.entries, verification.entries, 'entries that verify calls sound')
    const saved = await this.open(fileSystem, '/new')
    this.nothingWrong(saved)
    const again = await Database.verify('/new', { fileSystem })
    if (!again.sound) throw new Error(`the salvaged one: ${again.problems[0].message}`)
    const { losses } = salvage
    if (verification.sound) {
      if (losses.length > 0) throw new Error(`sound, and ${losses[0].message}`)
      this.equal(shown(saved), shown(await this.openCopy(files)), 'an open and a salvage')
      this.counts.sound++
    } else {
      const named = verification.problems.some((problem) => problem.file === `${directory}/${file}`)
      const isOdd = file.startsWith('MANIFEST') || file === 'CLOSED'
      if (!named && !isOdd) throw new Error(`${verification.problems[0].message} is another file`)
      this.lossesAreRight(file, harm, losses, saved)
      this.counts[losses.length > 0 ? 'losses' : 'lossless']++
    }
    await this.withBackup(file, fileSystem, verification.sound)
    await this.repaired(files, saved, verification.sound)
  }

  /** No version that was never written. */
  private nothingWrong(saved: Content): void {
    for (const [table, lines] of saved) {
      const written = this.original.written.get(table)
      for (const line of lines) {
        if (written?.has(line) !== true) throw new Error(`${table} shows ${line}`)
      }
    }
  }

  /** The losses are those that the unharmed files tell, and what is missing is among them. */
  private lossesAreRight(file: string, harm: Harm, losses: readonly Loss[], saved: Content): void {
    const { content } = this.original
    if (file.startsWith('MANIFEST')) {
      const frame = harm.kind === 'flip' ? this.frameAt(file, harm.at) : undefined
      const isEdit =
        frame === undefined || (this.original.files.get(file)![frame.start + 23] & 0x7f) === 1
      if (!isEdit && harm.kind === 'flip' && harm.at >= 120) {
        this.equal(shown(saved), shown(content), 'a manifest without a mark')
      }
      if (shown(saved) !== shown(content) && losses.length === 0) throw new Error('nothing is told')
      return
    }
    const lost = losses.filter(({ kind }) => kind === 'SSTable')
    const told = lost.map(({ entriesLost, rows }) => {
      const ranges = rows!.map(
        ({ firstRow, lastRow }) => `${firstRow.toString()}-${lastRow.toString()}`,
      )
      return { entries: entriesLost!, rows: ranges }
    })
    this.equal(sorted(told), sorted(this.lostOf(file, harm)), 'losses')
    const isLost = (line: string): boolean =>
      lost.some(({ rows }) =>
        rows!.some(
          (r) => name(line) >= r.firstRow.toString() && name(line) <= r.lastRow.toString(),
        ),
      )
    const logged = losses.some(({ kind }) => kind === 'log')
      ? this.loggedRows(file, harm)
      : new Set()
    const missing = new Set<string>()
    for (const [table, lines] of content) {
      for (const line of lines) {
        if (saved.get(table)!.has(line)) continue
        missing.add(name(line))
        if (!isLost(line) && !logged.has(name(line))) throw new Error(`${table} lacks ${line}`)
      }
      for (const line of saved.get(table)!) {
        if (!lines.has(line) && !isLost(line)) throw new Error(`${table} shows ${line} again`)
      }
    }
    for (const each of logged) {
      if (!missing.has(each as string))
        throw new Error(`${String(each)} is there, though its frame is lost`)
    }
  }

  /** What the unharmed files say of the SSTables. */
  private lostOf(file: string, harm: Harm): { entries: number; rows: string[] }[] {
    const own = this.tables.get(file)
    if (own !== undefined) {
      const dataEnd = own.offsets[own.offsets.length - 1]
      if (harm.kind !== 'flip' || harm.at >= dataEnd) return [own.lossOf(() => true)]
      const block = own.offsets.findLastIndex((offset) => offset <= harm.at)
      return [own.lossOf((entry) => entry.block === block)]
    }
    if (!file.endsWith('.val')) return []
    const number = Number(file.slice(0, 6))
    const bytes = this.original.files.get(file)!
    const isFooter = harm.kind !== 'flip' || harm.at >= bytes.length - valueFooterBytes
    // A value that a compaction has dropped is still in the file, and no loss.
    const isHit = (start: number, end: number): boolean =>
      isFooter || (harm.at >= start && harm.at < end)
    return [...this.tables.values()]
      .map((table) =>
        table.lossOf(({ value }) => value?.[0] === number && isHit(value[1], value[2])),
      )
      .filter(({ entries }) => entries > 0)
  }

  private frameAt(file: string, at: number) {
    return this.logs.get(file)!.frames.find(({ start, end }) => at >= start && at < end)
  }

  /** Rows of the frames of the log that a harm takes away. */
  private loggedRows(file: string, harm: Harm): Set<string> {
    const { frames } = this.logs.get(file)!
    const gone = frames.filter(({ start, end }) => {
      if (harm.kind === 'remove') return true
      return harm.kind === 'cut' ? end > harm.length : harm.at >= start && harm.at < end
    })
    return new Set(gone.flatMap(({ rows }) => rows).filter((each) => each >= row(300)))
  }

  /** The backup has all SSTables and value files, so nothing of them is lost. */
  private async withBackup(
    file: string,
    fileSystem: MemoryFileSystem,
    sound: boolean,
  ): Promise<void> {
    if (sound || !/\.(sst|val)$/.test(file)) return
    const { losses, filesFromBackup } = await Database.salvage(directory, '/whole', {
      fileSystem,
      backup: '/backup',
    })
    const mended = new MemoryFileSystem()
    place(mended, directory, copyOf(fileSystem, directory))
    place(mended, '/backup', this.original.backup)
    await Database.repair(directory, { fileSystem: mended, apply: true, backup: '/backup' })
    this.equal(shown(await this.open(mended, directory)), shown(this.original.content), 'mended')
    this.equal(losses.length, 0, 'losses with a backup')
    this.equal(filesFromBackup.join(), file, 'files of the backup')
    this.equal(
      shown(await this.open(fileSystem, '/whole')),
      shown(this.original.content),
      'content',
    )
  }

  /** A repair leaves what a salvage leaves, and nothing is removed. */
  private async repaired(files: Files, saved: Content, sound: boolean): Promise<void> {
    const fileSystem = new MemoryFileSystem()
    place(fileSystem, directory, files)
    const plan = await Database.repair(directory, { fileSystem })
    this.same(copyOf(fileSystem, directory), files, 'a plan changed the directory')
    const done = await Database.repair(directory, { fileSystem, apply: true })
    this.equal(
      done.losses.map(({ message }) => message).join(),
      plan.losses.map(({ message }) => message).join(),
      'plan',
    )
    if (sound) {
      this.same(copyOf(fileSystem, directory), files, 'a repair changed a sound directory')
      return
    }
    const verification = await Database.verify(directory, { fileSystem })
    if (!verification.sound) throw new Error(`repaired: ${verification.problems[0].message}`)
    const left = copyOf(fileSystem, directory)
    for (const moved of fileSystem
      .listSync(directory)
      .filter((each) => each.startsWith('damaged-'))) {
      for (const [each, bytes] of copyOf(fileSystem, `${directory}/${moved}`)) left.set(each, bytes)
    }
    for (const [each, bytes] of files) {
      if (left.get(each)?.equals(bytes) !== true) throw new Error(`the repair took away ${each}`)
    }
    this.equal(shown(await this.open(fileSystem, directory)), shown(saved), 'repair and salvage')
  }

  private async openCopy(files: Files): Promise<Content> {
    const fileSystem = new MemoryFileSystem()
    place(fileSystem, directory, files)
    return this.open(fileSystem, directory)
  }

  /** The content of a directory, which must take writes too. */
  private async open(fileSystem: MemoryFileSystem, path: string): Promise<Content> {
    const database = await Database.open(path, { ...options, fileSystem })
    try {
      const content = contentOf(database)
      if (database.hasTable('t')) {
        await database.table('t').put({ row: 'written after', cells: { 'f:q': 'x' } })
        await database.table('t').delete({ row: 'written after' })
      }
      return content
    } finally {
      await database.close()
    }
  }

  private same(found: Files, wanted: Files, what: string): void {
    for (const each of new Set([...found.keys(), ...wanted.keys()])) {
      if (found.get(each)?.equals(wanted.get(each) ?? Buffer.alloc(0)) === true) continue
      if ((found.get(each)?.length ?? -1) === 0 && wanted.get(each)?.length === 0) continue
      throw new Error(`${what}: ${each}`)
    }
  }

  private equal(found: unknown, wanted: unknown, what: string): void {
    if (found === wanted) return
    throw new Error(`${what}: ${String(found).slice(0, 600)}, not ${String(wanted).slice(0, 600)}`)
  }
}

const valueFooterBytes = 64

function shown(content: Content): string {
  return JSON.stringify([...content].map(([table, lines]) => [table, [...lines].sort()]).sort())
}

function sorted(losses: readonly { entries: number; rows: string[] }[]): string {
  return losses
    .map((loss) => JSON.stringify(loss))
    .sort()
    .join()
}
