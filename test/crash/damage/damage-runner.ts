/** Harms log and manifest of a database at every place and compares with the oracle. */
import type { FileSystem } from '../../../src/storage/fs/types.js'
import { Database, type CellarError, type OpenOptions } from '../../../src/entries/index.js'
import { withMembers } from '../../helpers/planted.js'
import { DamageOracle, type Harm, type Outcome, type Stop } from './damage-oracle.js'

const openOptions: OpenOptions = {
  executor: 'inline',
  compactionEnabled: false,
  memtableBytesMax: 256 * 1024,
  flushBytes: 64 * 1024,
  blockCacheBytesMax: 64 * 1024,
}

/** What a database held when its process ended. */
export interface Loaded {
  /** Rows that an SSTable holds. */
  readonly flushed: readonly string[]
  /** All rows that were acknowledged. */
  readonly acknowledged: readonly string[]
}

function rowName(index: number): string {
  return `row ${String(index).padStart(4, '0')}`
}

/** The value of a row; those of every fifth have 500 bytes, so that their frames span sectors. */
function valueOf(row: string): string {
  const index = Number(row.slice(4))
  return `${row.toUpperCase()} `.padEnd(index % 5 === 4 ? 500 : 10, String(index))
}

export function openLoaded(directory: string, fileSystem?: FileSystem): Promise<Database> {
  return Database.open(directory, { ...openOptions, ...(fileSystem && { fileSystem }) })
}

/** Fills a new database: rows of both durabilities, a flush, several segments. */
export async function load(
  database: Database,
  random: () => number,
  steps: number,
): Promise<Loaded> {
  const table = await database.createTable('t', { families: { f: {} } })
  const acknowledged: string[] = []
  let flushed: string[] = []
  for (let step = 0; step < steps; step++) {
    const durability = random() < 0.4 ? 'FSYNC_WAL' : 'SYNC_WAL'
    const row = rowName(acknowledged.length)
    table.putSync({ row, cells: { 'f:q': valueOf(row) }, durability })
    acknowledged.push(row)
    const draw = random()
    if (draw < 0.15) {
      await database.flush()
      flushed = [...acknowledged]
    } else if (draw < 0.4) {
      database.admin.rollWALWriter()
      // Sometimes the next rows come before the sync of the segment that was left.
      if (random() < 0.5) await new Promise((resolve) => setImmediate(resolve))
    }
  }
  return { flushed, acknowledged }
}

/** The same files on a machine that was started anew since. */
function afterAnotherStart(fileSystem: FileSystem): FileSystem {
  const another = (inner: FileSystem): FileSystem =>
    withMembers(inner, { runIdentity: () => Buffer.alloc(16, 'another start') })
  return withMembers(another(fileSystem), {
    boundTo: (lock) => another(fileSystem.boundTo(lock)),
  })
}

/** Which positions are looked at. */
export interface Choice {
  /** Bits that are flipped in each byte. */
  bitsOf(at: number): readonly number[]
  /** Whether the files are cut to every length. */
  readonly lengths: boolean
  /** Whether that byte of the empty room behind the last frame, counted from 0, is looked at. */
  room(at: number): boolean
}

/** A database directory whose files are harmed one after the other. */
export class DamageTest {
  readonly counts = { refused: 0, cut: 0, opened: 0 }
  private readonly fileSystem: FileSystem
  private readonly directory: string
  private readonly base = new Map<string, Buffer>()
  private readonly manifestName: string
  private readonly segmentNames: readonly string[]
  private readonly oracle: DamageOracle
  private readonly stop: Stop

  constructor(fileSystem: FileSystem, directory: string, stop: Stop, loaded: Loaded) {
    this.stop = stop
    this.fileSystem = stop === 'machine stopped' ? afterAnotherStart(fileSystem) : fileSystem
    this.directory = directory
    for (const name of this.names()) this.base.set(name, this.read(name))
    const names = [...this.base.keys()].sort()
    this.manifestName = names.filter((name) => name.startsWith('MANIFEST')).at(-1)!
    this.segmentNames = names.filter((name) => name.endsWith('.log'))
    this.oracle = new DamageOracle(
      stop,
      this.base.get(this.manifestName)!,
      this.segmentNames.map((name) => this.base.get(name)!),
      loaded.flushed,
    )
    const { rows } = this.oracle
    if (rows.join() === [...loaded.acknowledged].sort().join()) return
    throw new Error(`the files hold ${rows.join()}, not ${loaded.acknowledged.join()}`)
  }

  /** Every flip that the choice names, and every length; throws at the first wrong outcome. */
  async run(choice: Choice): Promise<void> {
    for (const name of [this.manifestName, ...this.segmentNames]) {
      const bytes = this.base.get(name)!
      const index = this.segmentNames.indexOf(name)
      let end = bytes.length
      while (bytes[end - 1] === 0) end--
      for (let at = 0; at < bytes.length; at++) {
        if (at > end && !choice.room(at - end)) continue
        for (const bit of choice.bitsOf(at))
          await this.check(name, index, { kind: 'flip', at, bit })
        if (choice.lengths) await this.check(name, index, { kind: 'cut', length: at })
      }
    }
    await this.checkNames()
  }

  private async check(name: string, index: number, harm: Harm): Promise<void> {
    const { oracle } = this
    const wanted = index < 0 ? oracle.ofManifest(harm) : oracle.ofSegment(index, harm)
    const bytes = Buffer.from(this.base.get(name)!)
    if (harm.kind === 'flip') bytes[harm.at] ^= 1 << harm.bit
    const harmed = harm.kind === 'flip' ? bytes : bytes.subarray(0, harm.length)
    const place = harm.kind === 'flip' ? `bit ${harm.bit} of ${harm.at}` : `cut at ${harm.length}`
    const origin = `${this.stop}, ${name} of ${bytes.length} bytes, ${place}`
    await this.judge(origin, new Map([[name, harmed]]), wanted, name)
  }

  /** Files that are gone or stand in each other's place. */
  private async checkNames(): Promise<void> {
    const { oracle, manifestName, segmentNames } = this
    const missing = (name: string): Map<string, Buffer | undefined> => new Map([[name, undefined]])
    const origin = `${this.stop}, without`
    await this.judge(`${origin} ${manifestName}`, missing(manifestName), { kind: 'refused' })
    for (const [i, one] of segmentNames.entries()) {
      await this.judge(`${origin} ${one}`, missing(one), oracle.ofMissing(i))
      for (const [j, other] of segmentNames.entries()) {
        if (j <= i) continue
        const harmed = new Map([
          [one, this.base.get(other)!],
          [other, this.base.get(one)!],
        ])
        const exchange = `${this.stop}, ${one} and ${other} exchanged`
        await this.judge(exchange, harmed, oracle.ofExchange(i, j))
      }
    }
  }

  private async judge(
    origin: string,
    harmed: ReadonlyMap<string, Buffer | undefined>,
    wanted: Outcome,
    name?: string,
  ): Promise<void> {
    for (const [each, bytes] of harmed) this.write(each, bytes)
    const modes = wanted.kind === 'cut' ? (['strict', 'tornTail'] as const) : ['tornTail' as const]
    for (const recovery of modes) {
      const expected = recovery === 'strict' ? ({ kind: 'refused' } as const) : wanted
      const found = await this.open(recovery, harmed, name)
      const text = describe(expected, name && `${this.directory}/${name}`)
      if (found !== text) throw new Error(`${origin}, ${recovery}: ${found}, not ${text}`)
    }
    this.counts[wanted.kind]++
    if (wanted.kind === 'refused') {
      for (const each of harmed.keys()) this.write(each, this.base.get(each))
    } else {
      this.restore()
    }
  }

  /** What an open does, as text; with `name`, an error must name that file. */
  private async open(
    recovery: 'strict' | 'tornTail',
    harmed: ReadonlyMap<string, Buffer | undefined>,
    name: string | undefined,
  ): Promise<string> {
    const { fileSystem, directory } = this
    let database: Database
    try {
      database = await Database.open(directory, { ...openOptions, fileSystem, recovery })
    } catch (error) {
      const { code, corruption } = error as CellarError
      if (code !== 'ERR_CORRUPTION') return String(error)
      const file = corruption!.file.slice(directory.length + 1)
      // A manifest that lost an edit may show first by a mutation that it cannot explain.
      const isNamed = file === name || (name === this.manifestName && file.endsWith('.log'))
      if (name !== undefined && !isNamed) return `refused because of ${file}`
      return this.isUnchanged(harmed) ? 'refused' : 'refused, but files were changed'
    }
    try {
      const rows: string[] = []
      for (const result of database.table('t').scanSync()) {
        const row = result.row!.toString()
        if (result.value('f:q')?.toString() !== valueOf(row)) return `a wrong value of ${row}`
        rows.push(row)
      }
      const [cut, ...others] = database.recovery.cuts
      if (others.length > 0) return `${others.length + 1} cuts`
      const found: Outcome =
        cut === undefined ? { kind: 'opened', rows } : { kind: 'cut', offset: cut.offset, rows }
      return describe(found, cut?.file)
    } finally {
      await database.close()
    }
  }

  private isUnchanged(harmed: ReadonlyMap<string, Buffer | undefined>): boolean {
    const names = this.names()
    const wanted = new Map<string, Buffer | undefined>([...this.base, ...harmed])
    if (names.length !== [...wanted.values()].filter((bytes) => bytes !== undefined).length) {
      return false
    }
    return names.every((name) => wanted.get(name)?.equals(this.read(name)) === true)
  }

  private restore(): void {
    for (const name of this.names()) if (!this.base.has(name)) this.write(name, undefined)
    for (const [name, bytes] of this.base) this.write(name, bytes)
  }

  private names(): string[] {
    return this.fileSystem.listSync(this.directory).filter((name) => !name.startsWith('LOCK'))
  }

  private read(name: string): Buffer {
    const file = this.fileSystem.openSync(this.fileSystem.join(this.directory, name), 'read')
    const bytes = Buffer.alloc(file.sizeSync())
    file.readSync(bytes, 0, bytes.length, 0)
    file.closeSync()
    return bytes
  }

  private write(name: string, bytes: Buffer | undefined): void {
    const path = this.fileSystem.join(this.directory, name)
    if (this.fileSystem.statSync(path) !== undefined) this.fileSystem.unlinkSync(path)
    if (bytes === undefined) return
    const file = this.fileSystem.openSync(path, 'create')
    file.writeSync(bytes, 0, bytes.length, 0)
    file.closeSync()
  }
}

function describe(outcome: Outcome, file: string | undefined): string {
  if (outcome.kind === 'refused') return 'refused'
  const rows = `${outcome.rows.length} rows: ${outcome.rows.join()}`
  return outcome.kind === 'opened' ? rows : `cut at ${outcome.offset} of ${file}, ${rows}`
}
