/** Imports the state of a Tephra manager, for a migration from CDAP. */
import {
  CellarError,
  checkArray,
  checkBytes,
  checkDatabase,
  ErrorCode,
  OptionNames,
  type Database,
} from '../../../api/index.js'
import { managerSettings } from '../options.js'
import { StateLog } from '../manager/state-log.js'
import { applyTephraEdits } from './edits.js'
import { readTephraSnapshot } from './snapshot.js'
import { emptyTephraState, type TephraState } from './state.js'

/** Files of Tephra. */
export interface TephraFiles {
  /** The newest snapshot; absent: the logs begin with the first transaction. */
  readonly snapshot?: Uint8Array
  /** The logs of this snapshot and later ones, in order. */
  readonly logs?: readonly Uint8Array[]
}

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

const fileNames = new OptionNames<TephraFiles>('the files of Tephra', {
  snapshot: true,
  logs: true,
})
const importNames = new OptionNames<{ readonly table?: string }>('an import', { table: true })

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
  options: { readonly table?: string } = {},
): Promise<TephraImport> {
  checkDatabase(database, 'transactions')
  const { snapshot, logs = [] } = fileNames.check(files)
  const settings = managerSettings(importNames.check(options))
  if (snapshot !== undefined) checkBytes(snapshot, 'snapshot')
  for (const log of checkArray(logs, 'logs')) checkBytes(log, 'a log')
  const state = snapshot === undefined ? emptyTephraState() : readTephraSnapshot(snapshot)
  let edits = 0
  for (const log of logs) edits += applyTephraEdits(state, log)
  const log = await StateLog.open(database, settings)
  try {
    await writeState(log, state)
  } finally {
    await log.close()
  }
  const { running, invalid, committed } = state
  return { running: running.size, invalid: invalid.size, committed: committed.size, edits }
}

async function writeState(log: StateLog, state: TephraState): Promise<void> {
  if ((await log.read()).pointers !== undefined) {
    throw new CellarError(ErrorCode.invalidArgument, 'the table holds the state of transactions')
  }
  const { rows } = log
  for (const [id, running] of state.running) {
    const committing = state.committing.get(id)
    await log.append([
      rows.running({ ...running, id, committing, client: undefined, underWay: [] }),
    ])
  }
  for (const [pointer, changes] of state.committed) {
    await log.append([rows.committed({ pointer, id: 0n, changes, client: undefined })])
  }
  await log.appendMany([...state.invalid], (pointer) => rows.invalid(pointer))
  const pointers = [state.writePointer, state.readPointer, ...state.committed.keys()]
  const last = pointers.reduce((a, b) => (a > b ? a : b))
  // Written last: without this row there is no state.
  await log.commit([rows.pointers(state.readPointer, last)])
}
