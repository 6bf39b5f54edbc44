/**
 * Puts or deletes of several rows of a table of a remote HBase: those of one kind go in one call.
 *
 * HBase does not say which rows of such a call have failed. So after an error each row is written
 * alone, if a repetition has no further effect; else the outcome of all is unknown.
 */
import { copyArguments } from '../../base/copy-arguments.js'
import { hasCode, type CellarError } from '../../base/errors.js'
import { ListFailures } from '../../checks/list-failures.js'
import type { RowStructs } from './mutations.js'
import type { HBaseTable } from './table.js'
import { HBaseErrorCode, unknownOutcome } from './wire/errors.js'
import { methods, type Method } from './wire/methods.js'

/** Rows of a list that one call carries, by position in the list. */
interface ListCall {
  readonly method: Method
  readonly member: string
  /** The member of a mutation. */
  readonly of: string
  readonly rows: Map<number, RowStructs>
}

/** Writes the rows of a list; its failures as `Table.batch` reports them. */
export async function writeList<T>(
  table: HBaseTable,
  operations: readonly T[],
  structsOf: (operation: T) => RowStructs,
): Promise<void> {
  const failures = new ListFailures()
  const lists: ListCall[] = [
    { method: methods.putMultiple, member: 'puts', of: 'put', rows: new Map() },
    { method: methods.deleteMultiple, member: 'deletes', of: 'deleteSingle', rows: new Map() },
  ]
  const alone = new Map<number, RowStructs>()
  const prepared: [number, RowStructs][] = []
  for (const [position, operation] of copyArguments(operations).value.entries()) {
    try {
      prepared.push([position, structsOf(operation)])
    } catch (error) {
      failures.failed(position, error)
    }
  }
  for (const [position, structs] of prepared) {
    try {
      await table.checkFamilies(structs.families)
      const list = lists.find(
        ({ of }) => structs.mutations.length === 1 && of in structs.mutations[0],
      )
      ;(list?.rows ?? alone).set(position, structs)
    } catch (error) {
      failures.failed(position, error)
    }
  }
  await Promise.all([
    ...lists.map((list) => writeTogether(table, list, failures)),
    writeEach(table, alone, failures),
  ])
  failures.throwFailures(operations.length)
}

async function writeTogether(
  table: HBaseTable,
  { method, member, of, rows }: ListCall,
  failures: ListFailures,
): Promise<void> {
  if (rows.size <= 1) return writeEach(table, rows, failures)
  const all = [...rows.values()]
  const isRepeatable = all.every((each) => each.isRepeatable)
  const structs = all.map(({ mutations }) => mutations[0][of])
  try {
    await table.writeRows(method, { [member]: structs }, isRepeatable)
  } catch (error) {
    if (isRepeatable && !isWithoutAnswer(error)) return writeEach(table, rows, failures)
    for (const position of rows.keys()) failures.failed(position, listFailure(method, error))
  }
}

async function writeEach(
  table: HBaseTable,
  rows: ReadonlyMap<number, RowStructs>,
  failures: ListFailures,
): Promise<void> {
  for (const [position, structs] of rows) {
    try {
      await table.writeRow(structs)
    } catch (error) {
      failures.failed(position, error)
    }
  }
}

/** Whether no gateway has answered, so that more calls would wait in vain. */
function isWithoutAnswer(error: unknown): boolean {
  const reason = hasCode(error, HBaseErrorCode.unknownOutcome) ? error.cause : error
  return hasCode(reason, HBaseErrorCode.unavailable)
}

/** The failure of each row of a list: some of them may have been written. */
function listFailure(method: Method, error: unknown): CellarError {
  if (isWithoutAnswer(error)) return error as CellarError
  return unknownOutcome(method.name, error as Error)
}
