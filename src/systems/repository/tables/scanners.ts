/**
 * Scans that continue call by call, for clients that cannot hold an iterator.
 *
 * A scanner is a row with the scan and its position. It holds no resources of the database between
 * two calls, and it survives a restart. Each call renews the lease. Each call reads the records as
 * they are at that time.
 */
import {
  assert,
  declareOptions,
  shown,
  text,
  type Clock,
  type DurabilityOption,
  type OptionsOf,
  type Table,
} from '../../../api/index.js'
import { concurrentUpdate, corrupt, invalidArgument, repositoryError } from '../errors.js'
import { parseJson, type Json } from '../json/json-text.js'
import { NameReader, NameWriter } from '../json/namespaces.js'
import { scanFromJson, scanToJson } from '../json/scan-json.js'
import { RecordId } from '../record-id.js'
import { isBytes } from '../value-kinds.js'
import type { SchemaCache } from '../schema/schema-cache.js'
import type { StoredRecord } from '../records/record.js'
import { scanOptions, type RecordFilter, type RecordScan } from '../records/reads/record-scanner.js'
import { RecordTable } from './record-table.js'

const ownerOptions = declareOptions('the owner of a scanner', {
  /** Name of the owner. For other owners the scanner does not exist. Default: no owner. */
  owner: text(null),
})

/** The owner of a scanner. */
export interface ScannerOwner extends OptionsOf<typeof ownerOptions> {}

/** Dependencies of {@link Scanners}. */
export interface ScannersParts {
  readonly table: Table
  readonly clock: Clock
  readonly durability: DurabilityOption
  readonly randomBytes: (length: number) => Uint8Array
  readonly leaseMilliseconds: number
  readonly scannersMax: number
  readonly schema: SchemaCache
  readonly findTable: (repository: string, table: string) => RecordTable
}

interface ScannerState {
  readonly repository: string
  readonly table: string
  readonly owner: string | null
  readonly expires: number
  readonly isDone: boolean
  /** The row at which the next call begins, in hexadecimal. */
  readonly next: string | null
  readonly left: number | null
  readonly scan: string
  /** Ids of the fields by their names in the scan, to detect that a field was renamed. */
  readonly fields: Readonly<Record<string, string>>
}

/** The family of the rows of scanners. */
export const scannerFamily = 's'
const column = `${scannerFamily}:s`
const tokenBytes = 18
const countMax = 1000

/** The scanners of a repository manager. */
export class Scanners {
  readonly #parts: ScannersParts
  /** The owner and the end of the lease of each scanner, by token. */
  readonly #leases = new Map<string, Pick<ScannerState, 'owner' | 'expires'>>()
  #loaded: Promise<void> | undefined

  /** @internal */
  constructor(parts: ScannersParts) {
    this.#parts = parts
  }

  /**
   * Opens a scanner. Returns its token, an opaque text. `ERR_TOO_MANY_SCANNERS`, and the errors of
   * `RecordTable.scan`.
   */
  async open(
    table: RecordTable,
    scan: RecordScan = {},
    options: ScannerOwner = {},
  ): Promise<string> {
    const { owner } = ownerOptions.read(options)
    const wanted = scanOptions.read(scan)
    // Checks the arguments; nothing is read.
    await RecordTable.check(table).scan(wanted).return()
    const { schema, clock, randomBytes, leaseMilliseconds } = this.#parts
    const { limit, ...rest } = wanted
    const names = new NameWriter({ prefixes: false })
    const state: ScannerState = {
      repository: table.repository,
      table: table.name,
      owner,
      expires: clock.now() + leaseMilliseconds,
      isDone: false,
      next: null,
      left: limit ?? null,
      scan: JSON.stringify(scanToJson(rest, { schema, names })),
      fields: Object.fromEntries(
        fieldsOf(rest).map((name) => [name, schema.field(name).id] as const),
      ),
    }
    await this.#load()
    const token = Buffer.from(randomBytes(tokenBytes)).toString('base64url')
    const ended = this.#reserve(token, state)
    try {
      for (const each of ended) await this.#remove(Buffer.from(each))
      await this.#put(token, undefined, state)
    } catch (error) {
      this.#leases.delete(token)
      throw error
    }
    return token
  }

  /**
   * Returns the next records, at most `count`; undefined at the end of the scan.
   * `ERR_SCANNER_NOT_FOUND`, `ERR_CONCURRENT_RECORD_UPDATE` if another call uses the scanner at the
   * same time.
   */
  async next(
    token: string,
    count = 1,
    options: ScannerOwner = {},
  ): Promise<StoredRecord[] | undefined> {
    if (!Number.isSafeInteger(count) || count < 1 || count > countMax) {
      throw invalidArgument(`a scanner gives 1 to ${countMax} records, got ${shown(count)}`)
    }
    const { bytes, state } = await this.#state(token, options)
    const { clock, leaseMilliseconds } = this.#parts
    const records = state.isDone ? [] : await this.#read(state, count)
    const last = records.at(-1)
    const left = state.left === null ? null : state.left - records.length
    await this.#put(token, bytes, {
      ...state,
      expires: clock.now() + leaseMilliseconds,
      isDone: records.length < count || left === 0,
      next: last === undefined ? state.next : `${last.id.bytes.toString('hex')}00`,
      left,
    })
    return records.length === 0 ? undefined : records
  }

  /** The record table of a scanner. `ERR_SCANNER_NOT_FOUND`. */
  async tableOf(token: string, options: ScannerOwner = {}): Promise<RecordTable> {
    const { state } = await this.#state(token, options)
    return this.#parts.findTable(state.repository, state.table)
  }

  /** The scan of a scanner in JSON, with whole names. `ERR_SCANNER_NOT_FOUND`. */
  async scanOf(token: string, options: ScannerOwner = {}): Promise<Json> {
    return this.#scanIn((await this.#state(token, options)).state)
  }

  /** Ends a scanner. `ERR_SCANNER_NOT_FOUND`. */
  async close(token: string, options: ScannerOwner = {}): Promise<void> {
    await this.#state(token, options)
    await this.#remove(Buffer.from(token))
  }

  /** Counts the scanners, and removes those whose lease has ended. */
  async count(): Promise<number> {
    const { table, clock } = this.#parts
    let count = 0
    for await (const row of table.scan({ columns: [column] })) {
      if (decodeState(row.value(column)!).expires > clock.now()) count++
      else await this.#remove(row.row!)
    }
    return count
  }

  /** Reads the leases once; each later write updates them. */
  #load(): Promise<void> {
    this.#loaded ??= (async () => {
      for await (const row of this.#parts.table.scan({ columns: [column] })) {
        this.#note(row.row!.toString('latin1'), decodeState(row.value(column)!))
      }
    })().catch((error: unknown) => {
      this.#loaded = undefined
      throw error
    })
    return this.#loaded
  }

  #note(token: string, { owner, expires }: ScannerState): void {
    this.#leases.set(token, { owner, expires })
  }

  /** Reserves a scanner for an owner. Returns the tokens of the owner's expired scanners. */
  #reserve(token: string, state: ScannerState): string[] {
    const { clock, scannersMax } = this.#parts
    const own = [...this.#leases].filter(([, { owner }]) => owner === state.owner)
    const ended = own.filter(([, { expires }]) => expires <= clock.now()).map(([each]) => each)
    if (own.length - ended.length >= scannersMax) {
      throw repositoryError('tooManyScanners', `there are ${scannersMax} scanners already`)
    }
    for (const each of ended) this.#leases.delete(each)
    this.#note(token, state)
    return ended
  }

  /** The scan in JSON. `ERR_SCANNER_NOT_FOUND` if its names mean other fields now. */
  #scanIn({ scan, fields }: ScannerState): Json {
    const { schema } = this.#parts
    const changed = Object.entries(fields).find(([name, id]) => schema.findField(name)?.id !== id)
    if (changed === undefined) return parseJson(scan)
    const [name] = changed
    throw repositoryError('scannerNotFound', `the field ${name} of the scan has another name now`)
  }

  async #read(state: ScannerState, count: number): Promise<StoredRecord[]> {
    const { repository, table, next, left } = state
    const { schema, findTable } = this.#parts
    const given = scanFromJson(this.#scanIn(state), { schema, namespaces: new NameReader() })
    const limit = Math.min(count, left ?? count)
    const startId = next === null ? given.startId : Buffer.from(next, 'hex')
    if (next !== null && given.stopId !== undefined) {
      const stop = isBytes(given.stopId) ? given.stopId : RecordId.of(given.stopId).bytes
      if (Buffer.compare(startId as Buffer, stop) >= 0) return []
    }
    const records: StoredRecord[] = []
    const source = findTable(repository, table).scan({ ...given, startId, limit })
    for await (const record of source) records.push(record)
    return records
  }

  async #state(
    token: string,
    options: ScannerOwner,
  ): Promise<{ readonly bytes: Buffer; readonly state: ScannerState }> {
    const { owner } = ownerOptions.read(options)
    const isToken = typeof token === 'string' && /^[\w-]{24}$/.test(token)
    const { table, clock } = this.#parts
    const row = isToken ? await table.get({ row: token, columns: [column] }) : undefined
    const bytes = row?.value(column)
    if (bytes !== undefined) {
      const state = decodeState(bytes)
      if (state.expires > clock.now() && state.owner === owner) return { bytes, state }
    }
    throw repositoryError('scannerNotFound', 'there is no such scanner')
  }

  async #put(token: string, before: Buffer | undefined, state: ScannerState): Promise<void> {
    assert(state.left === null || state.left >= 0, 'a scanner returns no more than its limit')
    const { table, durability } = this.#parts
    const cells = { [column]: JSON.stringify(state) }
    const check = {
      row: token,
      column,
      ...(before === undefined ? { notExists: true as const } : { equals: before }),
    }
    const put = { cells, timestamp: 1, durability }
    const { success } = await table.checkAndMutate(check, { put })
    if (!success) throw concurrentUpdate('the scanner')
    this.#note(token, state)
  }

  async #remove(row: Buffer): Promise<void> {
    await this.#parts.table.delete({ row, families: [{ family: scannerFamily, timestamp: 1 }] })
    this.#leases.delete(row.toString('latin1'))
  }
}

function fieldsOf({ filter, fields }: RecordScan): string[] {
  const ofFilter = (each: RecordFilter): string[] => {
    if ('all' in each) return each.all.flatMap(ofFilter)
    if ('any' in each) return each.any.flatMap(ofFilter)
    return 'field' in each ? [each.field] : []
  }
  return [
    ...(filter === undefined ? [] : ofFilter(filter)),
    ...(typeof fields === 'string' || fields === undefined ? [] : fields),
  ]
}

function decodeState(bytes: Buffer): ScannerState {
  try {
    return JSON.parse(bytes.toString('utf8')) as ScannerState
  } catch {
    throw corrupt('the state of a scanner cannot be read')
  }
}
