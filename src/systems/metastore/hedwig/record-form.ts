/** The records of managers: their stored form, and the errors of calls. */
import { shown, type CellarError } from '../../../api/index.js'
import { fromBinary, toBinary } from '../records/binary-form.js'
import type { MessageType } from '../records/message-type.js'
import { toText } from '../records/text-form.js'
import { fromText } from '../records/text-reader.js'
import { checkStore } from '../bookkeeper/arguments.js'
import { RecordTable } from '../bookkeeper/tables/record-table.js'
import type { MetaStore } from '../bookkeeper/types.js'
import { HedwigErrorCode, codeOf, failed, isOneOf, unexpectedCondition } from '../errors.js'

/**
 * `text`, the default, is the form of Hedwig's MetaStore managers. `binary`, the form of its
 * ZooKeeper managers, is shorter and faster. All records of one store have the same form. Hubs are
 * always stored as text.
 */
export type RecordForm = 'text' | 'binary'

/** Checks a form. `UNEXPECTED_CONDITION` if there is no such form. */
export function checkForm(form: unknown): asserts form is RecordForm {
  if (form === 'text' || form === 'binary') return
  throw unexpectedCondition(`there is no form ${shown(form)} of records`)
}

/** Checks the number of rows of a read. `UNEXPECTED_CONDITION` unless an integer above 0. */
export function checkPageSize(size: unknown): asserts size is number {
  if (Number.isSafeInteger(size) && (size as number) >= 1) return
  throw unexpectedCondition('metastoreMaxEntriesPerScan is an integer above 0')
}

/** Encodes a record. `UNEXPECTED_CONDITION` if it is not valid. */
export function encodeRecord<T extends object>(
  form: RecordForm,
  type: MessageType<T>,
  record: T,
): string | Buffer {
  try {
    return form === 'text' ? toText(type, record) : toBinary(type, record)
  } catch (error) {
    throw unexpectedCondition(`not a valid ${type.name}`, error)
  }
}

/** Decodes a record. `UNEXPECTED_CONDITION` for damaged bytes. */
export function decodeRecord<T extends object>(
  form: RecordForm,
  type: MessageType<T>,
  bytes: Buffer,
): T {
  try {
    return form === 'text' ? fromText(type, bytes) : fromBinary(type, bytes)
  } catch (error) {
    throw unexpectedCondition(`a stored ${type.name} cannot be read`, error)
  }
}

/** One kind of record. */
export interface RecordKind {
  /** Name of the table. */
  readonly table: string
  /** Noun for messages, such as `owner of the topic`. */
  readonly name: string
  /** Code of a call that requires the record. */
  readonly absent: HedwigErrorCode
  /** Code of a call that creates the record. */
  readonly exists: HedwigErrorCode
}

/** Opens the table of a kind of records; `store` is initialised. */
export async function openRecords(store: MetaStore, kind: RecordKind): Promise<RecordTable> {
  const table = await checkStore(store).createTable(kind.table)
  return new RecordTable(table, (error) => failure(kind, error))
}

/** The code and the message of a failed store call, by the code of the MetaStore. */
const failures: Readonly<Record<string, (kind: RecordKind) => [HedwigErrorCode, string]>> = {
  ERR_METASTORE_BAD_VERSION: ({ name }) => {
    return [HedwigErrorCode.badVersion, `the ${name} has another version`]
  },
  ERR_METASTORE_GUARD_FAILED: ({ name }) => {
    return [HedwigErrorCode.notResponsible, `another hub owns the topic of the ${name} by now`]
  },
  ERR_METASTORE_NO_KEY: ({ absent, name }) => [absent, `there is no ${name}`],
  ERR_METASTORE_KEY_EXISTS: ({ exists, name }) => [exists, `there is a ${name} already`],
  ERR_METASTORE_SERVICE_DOWN: ({ name }) => {
    return [HedwigErrorCode.serviceDown, `the ${name} cannot be had: the store is down`]
  },
}

/** Converts the error of a store call. */
export function failure(kind: RecordKind, error: unknown): CellarError {
  if (isOneOf(error, HedwigErrorCode)) return error
  const known = failures[codeOf(error) ?? '']
  if (known === undefined) return unexpectedCondition(`the ${kind.name} cannot be had`, error)
  return failed(...known(kind), error)
}
