/**
 * The state of a move: one row in a table of the target. Each change compares the state before, so
 * of two movers the one that began later continues, and the other one fails with its next change.
 *
 * The source has a row with the identity of the move, which shows that it is the same source.
 */
import { randomUUID } from 'node:crypto'
import { CellarError, ErrorCode, type Database } from '../../api/index.js'
import { changeRow, readRow, stored, type LogPlace, type Patience } from '../owned/log/log-store.js'
import { damagedState, parseState } from '../owned/log/states.js'
import { ensureLogTable, TableLogStore } from '../owned/table-log-store.js'
import { HBaseErrorCode } from '../thrift/wire/errors.js'

/** How far a move is. */
export interface MoveState {
  /** Grows with each change. */
  readonly version: number
  readonly id: string
  /** Identity of the call that works on the move. */
  readonly mover: string
  readonly phase: 'copying' | 'following' | 'done'
  /** The first change of the source that may be missing in the target. */
  readonly sequence: number
  /** The tables, and the last row that is copied in hexadecimal digits; 'all' = all rows. */
  readonly tables: Readonly<Record<string, string>>
  /** The stores of each table whose copy began; see `UnloggedState`. */
  readonly stores: Readonly<Record<string, string>>
}

/** Where the state of a move lies. */
export interface MovePlace {
  readonly source: Database
  readonly target: Database
  readonly stateTable: string
  /** The tables that the caller names; undefined: those of the move. */
  readonly tables: readonly string[] | undefined
  readonly patience: Patience
}

const stateRow = 'move'
const stateForm = {
  number: ['version', 'sequence'],
  string: ['id', 'phase'],
  object: ['tables', 'stores'],
}

export class HeldState {
  readonly #place: LogPlace
  #bytes: Buffer | undefined
  #state: MoveState

  private constructor(place: LogPlace, state: MoveState, bytes: Buffer | undefined) {
    this.#place = place
    this.#state = state
    this.#bytes = bytes
  }

  /** The state, as last saved. */
  get now(): MoveState {
    return this.#state
  }

  /**
   * Takes over the move in the target, or begins one. `begin` is asked for the first state.
   * `ERR_MOVE_REFUSED` if the move in the target has another source, or other tables.
   */
  static async take(
    { source, target, stateTable, tables, patience }: MovePlace,
    begin: () => Promise<Pick<MoveState, 'sequence' | 'tables' | 'stores'>>,
  ): Promise<HeldState> {
    const found = await readState(target, stateTable, patience)
    const first = found === undefined ? await begin() : undefined
    await ensureLogTable(source, stateTable, 'FSYNC_WAL')
    await ensureLogTable(target, stateTable, 'FSYNC_WAL')
    const sources = source.table(stateTable)
    const place = { store: new TableLogStore(target.table(stateTable)), name: 'move', patience }
    if (first !== undefined) {
      const id = randomUUID()
      await sources.put({ row: id, cells: { 'o:source': 'of this move' } })
      const state: MoveState = { version: 0, id, mover: '', phase: 'copying', ...first }
      const held = new HeldState(place, state, undefined)
      await held.save({ mover: randomUUID() })
      return held
    }
    const { state } = parseState<MoveState>(found!, stateRow, stateForm)
    if (!['copying', 'following', 'done'].includes(state.phase)) {
      throw damagedState(found!, stateRow, 'a known phase')
    }
    if (!(await sources.exists({ row: state.id }))) {
      const message = `the move in the target has another source; drop its table '${stateTable}'`
      throw new CellarError(HBaseErrorCode.moveRefused, message)
    }
    if (tables !== undefined && !isSame(tables, Object.keys(state.tables))) {
      const names = Object.keys(state.tables).join(', ')
      const message = `the move in the target has other tables: ${names}; give another stateTable`
      throw new CellarError(HBaseErrorCode.moveRefused, message)
    }
    const held = new HeldState(place, state, found)
    if (state.phase !== 'done') await held.save({ mover: randomUUID() })
    return held
  }

  /** Changes members of the state. `ERR_LOCKED` if another mover has changed it. */
  async save(members: Partial<Omit<MoveState, 'version' | 'id'>>): Promise<void> {
    const next = stored({ ...this.#state, ...members, version: this.#state.version + 1 })
    if (!(await changeRow(this.#place, stateRow, this.#bytes, next))) {
      throw new CellarError(
        ErrorCode.locked,
        'another call of moveDatabase has taken over the move',
      )
    }
    this.#state = next.state
    this.#bytes = next.bytes
  }

  /** `ERR_LOCKED` if another mover has taken over. */
  confirm(): Promise<void> {
    return this.save({})
  }
}

/** The state of the move in a target; undefined: there is none. */
export async function readState(
  target: Database,
  stateTable: string,
  patience: Patience,
): Promise<Buffer | undefined> {
  if (!(await target.admin.tableExists(stateTable))) return undefined
  const store = new TableLogStore(target.table(stateTable))
  return (await readRow({ store, name: 'move', patience }, stateRow, 'state')).state
}

function isSame(names: readonly string[], others: readonly string[]): boolean {
  return (
    names.every((name) => others.includes(name)) && others.every((name) => names.includes(name))
  )
}
