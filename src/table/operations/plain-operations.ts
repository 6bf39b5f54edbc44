/**
 * The operations of a table, without observers. Each validates, reads, checks, and writes into log
 * buffer and memtables, all in one turn of the event loop.
 *
 * Where observers take part in the middle of an operation, `ObservedOperations` passes an
 * `Intervention`.
 */
import { argumentError, readArguments } from '../../base/arguments.js'
import { CellarError, ErrorCode } from '../../base/errors.js'
import type * as api from '../../api/index.js'
import type { Result } from '../../api/results/result.js'
import type { TableState } from '../../storage/engine/catalog/catalog.js'
import type { TableParts } from '../../storage/engine/engine.js'
import type { ReadMode } from '../../storage/store/store-reader.js'
import type { Durability } from '../../storage/wal/log-options.js'
import { encode } from '../reads/block-loading.js'
import { rowMutationsOptions } from '../../api/mutations.js'
import { readMultiRow, type RowList } from '../../checks/operations.js'
import { PageResult } from '../reads/page-result.js'
import { emptyRow } from '../../storage/scan/collected-row.js'
import { TableReads } from '../reads/table-reads.js'
import { applyAtomic } from './atomic.js'
import { ConditionReader } from './condition-reader.js'
import { checkForm } from '../../checks/forms.js'
import { parseDurability } from '../../api/durability.js'
import type { Intervention, RowAddition, WriteHook } from './intervention.js'
import type { ListOutcome } from './list-outcome.js'
import { MutationEncoder, type SingleKind } from './mutation-encoder.js'
import type { MutationWriter } from './mutation-writer.js'
import type { Applied, MutationKind, TableOperations, Given, Value } from './table-operations.js'

export class PlainOperations extends TableReads implements TableOperations {
  private readonly encoder: MutationEncoder
  private readonly writer: MutationWriter
  private readonly conditions: ConditionReader
  private readonly hook: WriteHook

  constructor(parts: TableParts, table: TableState, hook: WriteHook) {
    super(parts, table)
    this.hook = hook
    this.encoder = new MutationEncoder(this)
    this.writer = this.encoder.writer
    this.conditions = new ConditionReader(this)
  }

  own<T>(operation: T): T {
    return operation
  }

  forNextCall(): this {
    return this
  }

  private put(put: api.Put, mode: ReadMode, intervention?: Intervention): Applied<api.PutReceipt> {
    const table = this.writable()
    let durability: Durability
    try {
      this.encoder.begin(table, put, 'put')
      this.writer.addPut(put)
      durability = this.durability(table, put.durability)
    } catch (error) {
      throw argumentError(error)
    }
    // Mutations that observers add may have timestamps of their own.
    const timestamp = this.writer.clockTimestamp
    this.apply(table, durability, mode, intervention)
    return { value: { timestamp, sequence: this.parts.readPoints.lastSequence }, durability }
  }

  /**
   * As {@link TableOperations.putGroup}: all puts of one durability that fit are one group in the
   * log.
   */
  putGroup(puts: readonly api.Put[], from: number, mode: ReadMode, outcome: ListOutcome): number {
    if (this.hook.isActive) {
      return outcome.attempt(from, () => this.put(puts[from], mode).durability)
    }
    const table = this.writable()
    const { writer, encoder } = this
    let durability = table.settings.durability
    let at = from
    writer.beginGroup(table, encoder.row, this.parts.clock.now())
    for (; at < puts.length && (at === from || writer.hasRoom); at++) {
      const put = puts[at]
      writer.beginMember()
      try {
        const own = this.durability(table, put.durability)
        if (at === from) durability = own
        if (own !== durability) {
          writer.dropMember()
          break
        }
        encoder.row.set(put.row)
        writer.addPut(put)
        writer.endMember()
      } catch (error) {
        writer.dropMember()
        outcome.failed(at, argumentError(error))
      }
    }
    try {
      if (writer.applyGroup(durability)) outcome.applied(durability)
    } catch (error) {
      outcome.failedTogether(from, at, error)
    }
    return at
  }

  mutate<K extends MutationKind>(
    kind: K,
    operation: Given<K>,
    mode: ReadMode,
    intervention?: Intervention,
  ): Applied<Value<K>> {
    const applied = this.carryOut(kind, operation as never, mode, intervention)
    return applied as Applied<Value<K>>
  }

  private carryOut(
    kind: MutationKind,
    operation: never,
    mode: ReadMode,
    intervention: Intervention | undefined,
  ): Applied<unknown> {
    switch (kind) {
      case 'put':
        return this.put(operation, mode, intervention)
      case 'mutateRow':
        return this.mutateRow(operation, mode, intervention)
      case 'mutateRows':
        return this.mutateRows(operation, mode, intervention)
      case 'checkAndMutate':
        return this.checkAndMutate(operation, mode, intervention)
      case 'delete':
      case 'increment':
      case 'append': {
        const table = this.writable()
        const durability = this.encodeOne(table, kind, operation, mode, intervention)
        this.apply(table, durability, mode, intervention)
        return { value: kind === 'delete' ? undefined : this.writtenResult(table), durability }
      }
    }
  }

  /** Carries out a mutation without applying it: reads the row and finds errors. */
  rehearse<K extends 'increment' | 'append'>(kind: K, operation: Given<K>, mode: ReadMode): void {
    this.encodeOne(this.writable(), kind, operation, mode)
  }

  private mutateRow(
    given: api.RowMutations,
    mode: ReadMode,
    intervention?: Intervention,
  ): Applied<Result> {
    const table = this.writable()
    const durability = encode(() => {
      rowMutationsOptions.check(checkForm(given, 'mutateRow'))
      this.encoder.begin(table, given, 'mutateRow')
      this.encoder.addMutations(table, given.row, given.mutations, mode, intervention)
      return this.durability(table, given.durability)
    })
    this.apply(table, durability, mode, intervention)
    return { value: this.writtenResult(table, { exists: true }), durability }
  }

  private mutateRows(
    request: api.MultiRowMutations,
    mode: ReadMode,
    intervention?: Intervention,
  ): Applied<boolean> {
    const { rows, checks, durability: asked } = readArguments(() => readMultiRow(request))
    const all = checks.map((check) => ({ operations: this, check }))
    const part = { operations: this, rows, intervention }
    const { value, durability } = applyAtomic([part], all, asked, mode)
    return { value: value.success, durability }
  }

  private checkAndMutate(
    { check, action }: api.CheckedAction,
    mode: ReadMode,
    intervention?: Intervention,
  ): Applied<api.CheckAndMutateResult> {
    const table = this.writable()
    const matched = this.conditions.evaluate(table, check, mode)
    if (intervention !== undefined && intervention.endsAfterCheck(matched !== undefined)) {
      const durability = table.settings.durability
      return { value: { success: false, result: undefined }, durability }
    }
    const act = intervention?.action ?? action
    const { encoder, writer } = this
    const durability = encode(() => {
      encoder.row.set(check.row)
      // The action is checked even if it is not carried out, so that errors show early.
      writer.begin(table, encoder.row, matched, matched === undefined)
      return this.durability(table, encoder.addAction(table, check.row, act, mode, intervention))
    })
    if (matched === undefined) return { value: { success: false, result: undefined }, durability }
    this.apply(table, durability, mode, intervention)
    const result = writer.givesResult ? this.writtenResult(table) : undefined
    return { value: { success: true, result }, durability }
  }

  /** Whether a check of an atomic batch holds in the newest state. */
  holds(check: api.Check, mode: ReadMode): boolean {
    return this.conditions.evaluate(this.writable(), check, mode) !== undefined
  }

  /**
   * Adds puts and deletes of several rows, and those of observers, to an atomic batch: to the
   * mutation that another table's writer has begun, or to a new one. Returns the writer that holds
   * the mutation now.
   */
  addRows(
    rows: readonly RowList[],
    begun: MutationWriter | undefined,
    mode: ReadMode,
    intervention: Intervention | undefined,
  ): MutationWriter {
    const table = this.writable()
    const { writer, encoder } = this
    let open = begun
    encode(() => {
      for (const { row, mutations } of rows) {
        encoder.row.set(row)
        if (open === undefined) writer.begin(table, encoder.row)
        else if (open === writer) writer.nextRow()
        else writer.join(open, table, encoder.row)
        open = writer
        encoder.addMutations(table, row, mutations, mode, intervention)
      }
    })
    if (intervention !== undefined) encoder.addAdditions(table, intervention.additions, mode)
    return writer
  }

  /**
   * Adds puts and deletes of this table to the mutation that another table's writer holds. Returns
   * the writer that holds it then. REQUIRES at least one.
   */
  addTo(open: MutationWriter, additions: readonly RowAddition[], mode: ReadMode): MutationWriter {
    const table = this.writable()
    const { writer, encoder } = this
    writer.join(open, table, encoder.row)
    encode(() => encoder.addAdditions(table, additions, mode))
    return writer
  }

  /**
   * Lets the observers add to the mutation that `writer` holds, which is encoded and not applied.
   * Returns the writer that holds it then. May throw `BlockMissing`.
   */
  complete(writer: MutationWriter, mode: ReadMode): MutationWriter {
    return this.hook.isActive ? this.hook.complete(this, writer, mode) : writer
  }

  /** The durability of a mutation that asks for `asked`; by default that of the table. */
  durabilityOf(asked: api.DurabilityOption | undefined): Durability {
    return this.durability(this.writable(), asked)
  }

  private encodeOne(
    table: TableState,
    kind: SingleKind,
    operation: api.Delete | api.Increment | api.Append,
    mode: ReadMode,
    intervention?: Intervention,
  ): Durability {
    return encode(() => {
      this.encoder.begin(table, operation, kind)
      this.encoder.add(table, kind, operation, mode, intervention)
      return this.durability(table, operation.durability)
    })
  }

  private writable(): TableState {
    const table = this.state()
    this.parts.lifecycle.checkWritable()
    if (!table.settings.readOnly) return table
    throw new CellarError(ErrorCode.readOnly, `table '${this.name}' is read-only`)
  }

  private apply(
    table: TableState,
    durability: Durability,
    mode: ReadMode,
    intervention: Intervention | undefined,
  ): void {
    if (intervention !== undefined) {
      this.encoder.addAdditions(table, intervention.additions, mode)
    }
    this.complete(this.writer, mode).apply(durability)
  }

  private durability(table: TableState, asked: api.DurabilityOption | undefined): Durability {
    return parseDurability(asked, table.settings.durability)
  }

  private writtenResult(table: TableState, marks?: { readonly exists: true }): Result {
    const row = this.writer.hasResult ? this.writer.takeResult() : emptyRow
    return PageResult.written(row, table.familyNames, marks)
  }
}
