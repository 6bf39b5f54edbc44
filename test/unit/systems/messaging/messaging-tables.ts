/** The messaging tables in a real database, with the prunings registered. */
import { ManualClock } from '../../../../src/base/clock.js'
import {
  Database,
  MemoryFileSystem,
  type EmbeddedTable,
  type FileSystem,
} from '../../../../src/entries/index.js'
import {
  messagingPruning,
  PruneState,
  readTopics,
  type PrunedJob,
  type TopicId,
  type TransactionSnapshot,
} from '../../../../src/systems/messaging/index.js'
import { encodePointer } from '../../../../src/systems/messaging/store/rows.js'
import { encodeMessageRow, encodePayloadRow } from '../../../conformance/messaging/rows.js'
import {
  encodeTopicProperties,
  topicPrefix,
} from '../../../../src/systems/messaging/topics/topic.js'

/** Milliseconds at which tests begin. */
export const start = 1_489_707_864_000
/** The write pointer of the n-th transaction of the specification's fixtures. */
export const V = (n: number): bigint => BigInt(start) * 1_000_000n + BigInt(n)

export class MessagingTables {
  readonly clock = new ManualClock(start)
  readonly pruned: PrunedJob[] = []
  readonly errors: unknown[] = []
  snapshot: TransactionSnapshot | undefined = undefined
  database!: Database
  metadata!: EmbeddedTable
  messages!: EmbeddedTable
  payloads!: EmbeddedTable
  state!: PruneState
  private readonly directory: string
  private readonly executor: 'inline' | 'worker'
  private readonly fileSystem: FileSystem | undefined

  private constructor(executor: 'inline' | 'worker', directory: string | undefined) {
    this.executor = executor
    this.directory = directory ?? '/database'
    this.fileSystem = directory === undefined ? new MemoryFileSystem() : undefined
  }

  /** In memory without a directory, which a worker thread cannot reach. */
  static async open(executor: 'inline' | 'worker', directory?: string): Promise<MessagingTables> {
    const tables = new MessagingTables(executor, directory)
    await tables.openDatabase()
    return tables
  }

  private async openDatabase(): Promise<void> {
    const { clock, executor, fileSystem } = this
    this.database = await Database.open(this.directory, {
      clock,
      executor,
      compactionEnabled: false,
      // A store at rest would have its few files merged by a minor compaction too.
      compactionRestMilliseconds: Infinity,
      memtableBytesMax: 256 * 1024,
      flushBytes: 64 * 1024,
      // Files carry the identity of their database: equal histories then give equal files.
      randomBytes: (length) => new Uint8Array(length).fill(7),
      ...(fileSystem === undefined ? {} : { fileSystem }),
    })
    const table = async (name: string): Promise<EmbeddedTable> =>
      this.database.hasTable(name)
        ? this.database.table(name)
        : this.database.createTable(name, { families: { d: {} } })
    this.metadata = await table('tms.meta')
    this.messages = await table('tms.message')
    this.payloads = await table('tms.payload')
    this.state = await PruneState.open({ table: await table('tms.prune') })
    const common = {
      topics: () => readTopics(this.database.table('tms.meta')),
      transactions: () => this.snapshot,
      onPruned: (job: PrunedJob) => this.pruned.push(job),
      onError: (error: unknown) => this.errors.push(error),
    }
    const { state } = this
    await this.database.registerCoprocessor(
      messagingPruning({ ...common, rows: 'message', tables: ['tms.message'], state }),
    )
    await this.database.registerCoprocessor(
      messagingPruning({ ...common, rows: 'payload', tables: ['tms.payload'] }),
    )
  }

  async reopen(): Promise<void> {
    await this.close()
    await this.openDatabase()
  }

  async close(): Promise<void> {
    await this.state.settled()
    await this.database.close()
  }

  /** Writes the metadata of `namespace:topic`. */
  async setTopic(name: string, generation: number, ttlSeconds?: number): Promise<void> {
    const properties: Record<string, string> = { generation: String(generation) }
    if (ttlSeconds !== undefined) properties['ttl'] = String(ttlSeconds)
    const value = encodeTopicProperties(properties)
    await this.metadata.put({ row: topicPrefix(idOf(name)), cells: { 'd:m': value } })
  }

  /** Publishes a message. */
  async publish(
    name: string,
    generation: number,
    sequenceId: number,
    cells: { readonly pointer?: bigint; readonly payload?: string },
    publishTimestamp = this.clock.now(),
  ): Promise<void> {
    const id = idOf(name)
    const { pointer, payload } = cells
    const row = encodeMessageRow({ id, generation, publishTimestamp, sequenceId })
    const named: Record<string, Buffer | string> = {}
    if (pointer !== undefined) named['d:t'] = encodePointer(pointer)
    if (payload !== undefined) named['d:p'] = payload
    await this.messages.put({ row, cells: named })
  }

  /** Stores a payload. */
  async store(name: string, generation: number, writePointer: bigint): Promise<void> {
    const writeTimestamp = this.clock.now()
    const id = idOf(name)
    const row = encodePayloadRow({ id, generation, writePointer, writeTimestamp, sequenceId: 0 })
    await this.payloads.put({ row, cells: { 'd:c': 'payload' } })
  }

  async flush(): Promise<void> {
    await this.database.flush()
  }

  async compact(major = true): Promise<void> {
    await this.database.compact('tms.message', { major })
    await this.database.compact('tms.payload', { major })
  }
}

function idOf(name: string): TopicId {
  const [namespace, topic] = name.split(':')
  return { namespace, topic }
}

/** All cells of a table with everything that they hold but their sequences, one text each. */
export function cellsOf(table: EmbeddedTable): string[] {
  return [...table.scanSync({ raw: true, versions: 'all' })].flatMap((row) =>
    row.cells().map((cell) => {
      const { qualifier, timestampExact, type, value } = cell
      const key = `${cell.row.toString('hex')} ${qualifier.toString('latin1')}`
      return `${key} ${timestampExact} ${type} ${value.toString('hex')}`
    }),
  )
}

/** The cells of column `t` as numbers, in order of their rows. */
export function pointersOf(table: EmbeddedTable): bigint[] {
  return [...table.scanSync({ columns: ['d:t'] })].map((row) => row.value('d:t')!.readBigInt64BE())
}
