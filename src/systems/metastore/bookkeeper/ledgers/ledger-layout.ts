/**
 * The ledger layout: the factory that laid out the ledgers of a store, and its version.
 *
 * The text is two lines, `<layout format version>` and `<factory class>:<manager version>`, without
 * a final newline. The factory of this package writes
 * `2\norg.apache.bookkeeper.meta.MSLedgerManagerFactory:1`. BookKeeper stores the same text in
 * ZooKeeper; here the key is `LEDGERS/LAYOUT` in the table `layout`. Source: BookKeeper 4.7,
 * `org.apache.bookkeeper.meta.LedgerLayout` and `LayoutManager`.
 */
import { CellarError, checkObject, ErrorCode, readArguments } from '../../../../api/index.js'
import { LayoutRecord, openLayoutTable } from './layout-record.js'
import { metaStoreError, layoutMismatch } from '../../errors.js'
import type { MetaStore } from '../types.js'

/** Version of the layout's text. Version 1 names no factory class. */
const formatVersion = 2

/** Highest value of a Java `int`. */
const managerVersionMax = 2 ** 31 - 1

/** The factory that laid out the ledgers. */
export interface LedgerLayout {
  /** Class of the factory: letters, digits, `_`, `$` and dots. */
  readonly managerFactoryClass: string
  /** Version of the layout of the factory: an integer from 0 to 2^31-1. */
  readonly managerVersion: number
}

/** Copies a layout without checking class and version. `ERR_INVALID_ARGUMENT`. */
export function copyOfLayout(layout: LedgerLayout): LedgerLayout {
  return readArguments(() => ({ ...checkObject(layout, 'the layout of ledgers') }))
}

/** Encodes a layout. `ERR_INVALID_ARGUMENT` if class or version are not valid. */
export function formatLedgerLayout(layout: LedgerLayout): string {
  const { managerFactoryClass, managerVersion } = copyOfLayout(layout)
  const line = `${managerFactoryClass}:${managerVersion}`
  if (parseManager(line) !== undefined) return `${formatVersion}\n${line}`
  const message = `${JSON.stringify(line)} is no factory class with a manager version`
  throw new CellarError(ErrorCode.invalidArgument, message)
}

/**
 * Decodes the text of a layout. `ERR_LEDGER_LAYOUT_MISMATCH` for another format version,
 * `ERR_LEDGER_META_STORE` for damaged bytes.
 */
export function parseLedgerLayout(bytes: Uint8Array): LedgerLayout {
  const text = Buffer.from(bytes).toString('latin1')
  const lines = text.split('\n')
  const format = parseInteger(lines[0])
  if (format !== undefined && format !== formatVersion) {
    throw layoutMismatch(`the ledger layout has format version ${format}, not ${formatVersion}`)
  }
  const layout = lines.length === 2 ? parseManager(lines[1]) : undefined
  if (format !== undefined && layout !== undefined) return layout
  throw metaStoreError(`the ledger layout cannot be read: ${JSON.stringify(text.slice(0, 200))}`)
}

function parseManager(line: string): LedgerLayout | undefined {
  const [, managerFactoryClass, version] = /^([\w$.]+):([0-9]+)$/.exec(line) ?? []
  if (managerFactoryClass === undefined) return undefined
  const managerVersion = parseInteger(version)
  return managerVersion === undefined ? undefined : { managerFactoryClass, managerVersion }
}

function parseInteger(digits: string): number | undefined {
  if (!/^(0|[1-9][0-9]{0,9})$/.test(digits)) return undefined
  const value = Number(digits)
  return value <= managerVersionMax ? value : undefined
}

/**
 * The layout record of the ledgers (BookKeeper: `LayoutManager`). Damaged text is never replaced or
 * treated as a missing layout; only `remove()` without arguments removes it.
 */
export class LedgerLayoutRecord extends LayoutRecord<LedgerLayout> {
  /** Opens the table; `store` is initialised. */
  static async open(store: MetaStore): Promise<LedgerLayoutRecord> {
    return new LedgerLayoutRecord(await openLayoutTable(store), {
      key: 'LEDGERS/LAYOUT',
      encode: formatLedgerLayout,
      decode: parseLedgerLayout,
      failure: metaStoreError,
    })
  }
}
