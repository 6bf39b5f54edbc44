/**
 * The changes of a group of commits: nodes, index entries, owned records and counters, on top of
 * the state of the tables. A commit that fails is rolled back.
 */
import { assert, type AtomicMutation, type Mutation, type Table } from '../../../../api/index.js'
import { metadataError } from '../../metadata/errors.js'
import { uint64 } from '../../kernel/numbers.js'
import {
  childrenColumn,
  countersOf,
  depthBytes,
  nodeRow,
  plainColumn,
  recordColumn,
  type Node,
  type TableName,
} from './rows.js'

/**
 * Thrown if a commit needs a node or counter that is not loaded. The commit is planned again after
 * loading them.
 */
export class NotLoaded {
  readonly paths: readonly string[]
  readonly counters: readonly string[]

  constructor(paths: readonly string[], counters: readonly string[]) {
    this.paths = paths
    this.counters = counters
  }
}

/** A row to write or to remove. */
interface Entry {
  readonly table: TableName
  readonly row: Buffer | string
  /** Undefined removes the row. */
  readonly value: Buffer | undefined
}

/** The value of rows that carry information only in their key. */
export const emptyValue = Buffer.alloc(0)

/** Bytes that a database counts for a cell besides row, column and value. */
const cellOverheadBytes = 20

/** A value that commits of the group change. */
interface Working<V> {
  /** The value in the tables. */
  readonly stored: V
  /** The value after the last commit of the group. */
  committed: V
  now: V
}

function working<V>(stored: V): Working<V> {
  return { stored, committed: stored, now: stored }
}

/** The changes of one group; see the file header. */
export class WorkingState {
  readonly #nodes = new Map<string, Working<Node>>()
  readonly #entries = new Map<string, Working<Entry | undefined>>()
  readonly #tables: Readonly<Record<TableName, Table>>
  readonly #cellBytesMax: number
  /** The values that the current commit has changed. */
  readonly #changed: Working<unknown>[] = []

  /** A cell larger than `cellBytesMax` is refused when it is set, so only its own commit fails. */
  constructor(tables: Readonly<Record<TableName, Table>>, cellBytesMax: number) {
    this.#tables = tables
    this.#cellBytesMax = cellBytesMax
  }

  /** Whether the node of a path is loaded. */
  hasNode(path: string): boolean {
    return this.#nodes.has(path)
  }

  hasCounter(row: string): boolean {
    return this.#entries.has(keyOf('control', row))
  }

  /** Adds a node as stored in the table. */
  load(path: string, node: Node): void {
    if (!this.#nodes.has(path)) this.#nodes.set(path, working(node))
  }

  loadCounter(row: string, value: Buffer | undefined): void {
    this.#entries.set(keyOf('control', row), working({ table: 'control', row, value }))
  }

  /** The node after all planned commits. Throws {@link NotLoaded}. */
  node(path: string): Node {
    const node = this.#nodes.get(path)
    // Not an Error: capturing a stack is expensive, and this happens for every new path.
    // oxlint-disable-next-line typescript/only-throw-error
    if (node === undefined) throw new NotLoaded([path], [])
    return node.now
  }

  /** As {@link setEntry}. */
  setNode(path: string, node: Node): void {
    const before = this.#nodes.get(path)!
    const { record } = node
    if (record !== undefined && record !== before.now.record) {
      this.#checkCell(path, depthBytes, recordColumn, record.cell)
    }
    this.#set(before, node)
  }

  /** The numbers of a counter; empty for a new counter. Throws {@link NotLoaded}. */
  counter(row: string): readonly bigint[] {
    const entry = this.#entries.get(keyOf('control', row))
    // oxlint-disable-next-line typescript/only-throw-error
    if (entry === undefined) throw new NotLoaded([], [row])
    return countersOf(entry.now?.value)
  }

  setCounter(row: string, numbers: readonly bigint[]): void {
    const value = Buffer.concat(numbers.map((number) => uint64(Number(number))))
    this.setEntry({ table: 'control', row, value })
  }

  /**
   * Writes or removes a row that is not a node. Throws `ERR_METADATA_INVALID_ARGUMENT` if the
   * database would refuse the cell.
   */
  setEntry(entry: Entry): void {
    const { table, row, value } = entry
    if (value !== undefined) this.#checkCell(row, 0, plainColumn, value)
    const key = keyOf(table, row)
    let before = this.#entries.get(key)
    if (before === undefined)
      this.#entries.set(key, (before = working<Entry | undefined>(undefined)))
    this.#set(before, entry)
  }

  #set<V>(value: Working<V>, now: V): void {
    this.#changed.push(value)
    value.now = now
  }

  /** `row` excludes the `prefixBytes` before its text. */
  #checkCell(row: Buffer | string, prefixBytes: number, column: string, value: Buffer): void {
    const others = prefixBytes + column.length - 1 + value.length + cellOverheadBytes
    // UTF-8 needs at most three bytes for each UTF-16 unit.
    if (row.length * 3 + others <= this.#cellBytesMax) return
    const bytes = Buffer.byteLength(row) + others
    if (bytes <= this.#cellBytesMax) return
    const limit = `${this.#cellBytesMax}, the cellBytesMax of the database`
    throw metadataError('invalidArgument', `a cell of ${bytes} bytes is larger than ${limit}`)
  }

  /** Keeps the changes since the last commit or rollback. */
  commit(): void {
    for (const value of this.#changed) value.committed = value.now
    this.#changed.length = 0
  }

  /** Undoes the changes since the last commit or rollback. */
  rollBack(): void {
    for (const value of this.#changed) value.now = value.committed
    this.#changed.length = 0
  }

  /** Whether the group has changed the record or the children of a path. */
  isChanged(path: string): boolean {
    const node = this.#nodes.get(path)
    return node !== undefined && node.stored !== node.now
  }

  /** Calls a function with the new state of every node that the group has changed. */
  eachChanged(tell: (path: string, node: Node) => void): void {
    for (const [path, { stored, now }] of this.#nodes) if (stored !== now) tell(path, now)
  }

  /** All changes as mutations with the timestamp `sequence`. */
  mutations(sequence: number): AtomicMutation[] {
    assert(this.#changed.length === 0, 'only commits are written')
    const mutations: AtomicMutation[] = []
    const { nodes } = this.#tables
    // Shared by all rows: the end of a session may remove a hundred thousand rows.
    const recordRemoved = [cellMutation(recordColumn, undefined, sequence)]
    const removed = [cellMutation(plainColumn, undefined, sequence)]
    const emptied = [cellMutation(plainColumn, emptyValue, sequence)]
    for (const [path, { stored, now }] of this.#nodes) {
      if (stored === now) continue
      const isRemoval = now.record === undefined && stored.record !== undefined
      const changes =
        isRemoval && stored.children === now.children
          ? recordRemoved
          : nodeMutations(stored, now, sequence)
      if (changes.length > 0) {
        mutations.push({ table: nodes, row: nodeRow(path), mutations: changes })
      }
    }
    for (const { stored, now } of this.#entries.values()) {
      if (now === undefined || now === stored) continue
      const { table, row, value } = now
      const changes =
        value === undefined
          ? removed
          : value === emptyValue
            ? emptied
            : [cellMutation(plainColumn, value, sequence)]
      mutations.push({ table: this.#tables[table], row, mutations: changes })
    }
    return mutations
  }
}

function keyOf(table: TableName, row: Buffer | string): string {
  return `${table} ${typeof row === 'string' ? row : row.toString('latin1')}`
}

const noMutations: readonly Mutation[] = []

/** Exactly sized arrays: ten thousand of them may wait for one sync. */
function nodeMutations(stored: Node, now: Node, sequence: number): readonly Mutation[] {
  const ofChildren = stored.children === now.children ? undefined : childrenMutation(now, sequence)
  if (stored.record === now.record) return ofChildren === undefined ? noMutations : [ofChildren]
  const ofRecord = cellMutation(recordColumn, now.record?.cell, sequence)
  return ofChildren === undefined ? [ofRecord] : [ofRecord, ofChildren]
}

function childrenMutation({ children }: Node, sequence: number): Mutation {
  const bytes = children === 0 ? undefined : uint64(children)
  return cellMutation(childrenColumn, bytes, sequence)
}

/** Puts a cell, or removes it. */
export function cellMutation(
  column: string,
  value: Buffer | undefined,
  timestamp: number,
): Mutation {
  if (value === undefined) return { delete: { columns: [column], timestamp } }
  return { put: { cells: { [column]: value }, timestamp } }
}
