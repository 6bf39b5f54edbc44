/** Imports the state of a Tephra manager, for a migration from CDAP. */
import {
  checkBytes,
  checkDatabase,
  checked,
  declareOptions,
  invalidArgument,
  list,
  required,
  text,
  type Database,
  type OptionsOf,
} from '../../../api/index.js'
import { managerOptions } from '../options.js'
import { StateLog } from '../manager/state-log.js'
import { applyTephraEdits } from './edits.js'
import { emptyState, type StoredState } from '../manager/state-rows.js'
import { malformed } from './bytes.js'
import { readTephraSnapshot } from './snapshot.js'

const bytes = checked<Uint8Array>(checkBytes)

const tephraFiles = declareOptions('the files of Tephra', {
  /** The newest snapshot; absent: the logs begin with the first transaction. */
  snapshot: bytes,
  /** The logs of this snapshot and later ones, in order. */
  logs: list(required(bytes)),
})

/** Files of Tephra. */
export interface TephraFiles extends OptionsOf<typeof tephraFiles> {}

const importOptions = declareOptions('an import', { table: text(undefined) })

/** Counts of the import. */
export interface TephraImport {
  /** Transactions that were running. */
  readonly running: number
  /** Pointers on the invalid list. */
  readonly invalid: number
  /** Change sets of commits. */
  readonly committed: number
  /** Entries of the logs. */
  readonly edits: number
}

/**
 * Writes the state of Tephra's files into the state table, which must be empty; then a
 * `TransactionManager` may be opened. Ids continue after Tephra's. The visibility of cells and
 * messages with Tephra's pointers is unchanged.
 *
 * `ERR_INVALID_ARGUMENT` for malformed files, or a table that holds state: nothing is written then.
 */
export async function importTephraState(
  database: Database,
  files: TephraFiles,
  options: OptionsOf<typeof importOptions> = {},
): Promise<TephraImport> {
  checkDatabase(database, 'transactions')
  const { snapshot, logs } = tephraFiles.read(files)
  const settings = managerOptions.read(importOptions.read(options))
  const state = snapshot === undefined ? emptyState() : readTephraSnapshot(snapshot)
  let edits = 0
  for (const log of logs) edits += applyTephraEdits(state, log)
  const writePointer = writePointerOf(state)
  const log = await StateLog.open(database, settings)
  try {
    await writeState(log, { ...state, writePointer })
  } finally {
    await log.close()
  }
  const { running, invalid, committed } = state
  return { running: running.size, invalid: invalid.size, committed: committed.length, edits }
}

async function writeState(log: StateLog, state: StoredState): Promise<void> {
  if ((await log.read()) !== undefined) {
    throw invalidArgument('the table holds the state of transactions')
  }
  const { rows } = log
  for (const running of state.running.values()) await log.append([rows.running(running)])
  for (const commit of state.committed) await log.append([rows.committed(commit)])
  await log.appendMany(Array.from(state.invalid, (pointer) => rows.invalid(pointer)))
  // Written last: without this row there is no state.
  await log.commit([rows.pointers(state)])
}

/** Pointers are nanoseconds since 1970; those after this one would leave no room for later ids. */
const pointerMax = 2n ** 62n

/**
 * The largest pointer of a state. `ERR_INVALID_ARGUMENT` for one that no manager of Tephra assigns:
 * the state could not be opened, or ids would be used twice.
 */
function writePointerOf(state: StoredState): bigint {
  const { readPointer, writePointer, running, committed, invalid } = state
  const ids = [...running.values()].flatMap(({ id, checkpoints }) => [id, ...checkpoints])
  const assigned = [...ids, ...committed.map(({ pointer }) => pointer), ...invalid]
  const bounds = [...running.values()].map(({ visibilityUpperBound: bound }) => bound)
  for (const pointer of [readPointer, writePointer, ...bounds]) checkRange(pointer, 0n)
  for (const pointer of assigned) checkRange(pointer, 1n)
  return [readPointer, writePointer, ...assigned].reduce((a, b) => (a > b ? a : b))
}

function checkRange(pointer: bigint, least: bigint): void {
  if (pointer < least || pointer > pointerMax) throw malformed(`the pointer ${pointer}`)
}
