/** Checks of the arguments of tables: a wrong argument is `IllegalOp`, before any effect. */
import { types } from 'node:util'
import { checked, checkMethods, declareOptions, type SettingsOf } from '../../../api/index.js'
import { codeOf, illegalOp } from '../errors.js'
import { checkKey, checkWellFormed, compareKeys } from './keys.js'
import type { KeyRange, MetastoreWatcher, MetaStore, RowGuard } from './types.js'
import { ALL_FIELDS, Value, type FieldChange, type FieldSelection } from './value.js'
import { isKnownVersion, LongVersion, type Version } from './tables/version.js'

/** Checks that an object is a store. `ERR_INVALID_ARGUMENT` otherwise. */
export function checkStore(store: MetaStore): MetaStore {
  return checkMethods(store, 'the store', ['createTable', 'createScannableTable'])
}

/** Reads an object of the caller, whose getters may throw. */
function readable<T>(what: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (codeOf(error) !== undefined) throw error
    throw illegalOp(`${what} cannot be read`, error)
  }
}

/** Copies the fields of a value: the caller may modify it later. */
export function checkValue(value: unknown): readonly FieldChange[] {
  if (!(value instanceof Value)) throw illegalOp(`the value must be a Value, got ${kindOf(value)}`)
  const changes = value.changes()
  for (const { name } of changes) checkFieldName(name)
  return changes
}

/** Checks that a version is `NEW`, `ANY` or a `LongVersion`. */
export function checkVersion(version: unknown): asserts version is Version {
  if (!isKnownVersion(version)) {
    throw illegalOp(`the version must be NEW, ANY or a LongVersion, got ${kindOf(version)}`)
  }
}

/** Copies the condition of a guarded write. */
export function checkGuard(guard: unknown): RowGuard {
  if (typeof guard !== 'object' || guard === null) {
    throw illegalOp(`the guard must be an object, got ${kindOf(guard)}`)
  }
  const { key, version } = readable('the guard', () => ({ ...(guard as RowGuard) }))
  checkKey(key, 'the key of the guard')
  if (!(version instanceof LongVersion)) {
    throw illegalOp('the version of the guard must be one that the store gave out')
  }
  return { key, version }
}

/** Copies a selection of fields; undefined and null mean all. */
export function checkFields(fields: unknown): FieldSelection {
  if (fields === undefined || fields === ALL_FIELDS) return ALL_FIELDS
  if (!types.isSet(fields)) {
    throw illegalOp(`the fields must be a Set of names or null, got ${kindOf(fields)}`)
  }
  const copy = new Set<string>()
  for (const name of fields as ReadonlySet<unknown>) {
    checkFieldName(name)
    copy.add(name)
  }
  return copy
}

function checkFieldName(name: unknown): asserts name is string {
  if (typeof name !== 'string') throw illegalOp(`a field name must be a string: ${kindOf(name)}`)
  checkWellFormed(name, 'a field name')
}

function checkWatcher(watcher: unknown): MetastoreWatcher {
  if (typeof watcher === 'function') return watcher as MetastoreWatcher
  throw illegalOp(`the watcher must be a function, got ${kindOf(watcher)}`)
}

/** Copies a range and checks that its bounds agree with its order. */
export function checkRange(range: unknown): KeyRange {
  if (typeof range !== 'object' || range === null) {
    throw illegalOp(`the range must be an object, got ${kindOf(range)}`)
  }
  const given = readable('the range', () => ({ ...(range as KeyRange) }))
  const { firstKey, firstInclusive, lastKey, lastInclusive, order } = given
  if (order !== 'ASC' && order !== 'DESC') {
    throw illegalOp(`the order must be ASC or DESC, got ${kindOf(order)}`)
  }
  if (firstKey !== null) checkKey(firstKey, 'the first key')
  if (lastKey !== null) checkKey(lastKey, 'the last key')
  if (typeof firstInclusive !== 'boolean' || typeof lastInclusive !== 'boolean') {
    throw illegalOp('whether the bounds are included must be true or false')
  }
  if (firstKey !== null && lastKey !== null) {
    const compared = compareKeys(firstKey, lastKey)
    if (order === 'ASC' ? compared > 0 : compared < 0) {
      throw illegalOp(`the first key lies behind the last one in a range that is ${order}`)
    }
  }
  return { firstKey, firstInclusive, lastKey, lastInclusive, order }
}

const getOptions = declareOptions('a read', {
  fields: checked(checkFields, ALL_FIELDS),
  watcher: checked(checkWatcher),
})
const noGetOptions = getOptions.read({})

/** Copies the options of a read and refuses unknown names. */
export function checkGetOptions(options: unknown): SettingsOf<typeof getOptions> {
  // Most reads have none.
  if (options === undefined) return noGetOptions
  if (typeof options !== 'object' || options === null) {
    throw illegalOp(`the options must be an object, got ${kindOf(options)}`)
  }
  try {
    return getOptions.read(options)
  } catch (error) {
    if (codeOf(error) !== undefined) throw error
    throw illegalOp(error instanceof Error ? error.message : 'the options cannot be read')
  }
}

/** Checks a count of entries: an integer, 0 or more. */
export function checkCount(count: unknown): asserts count is number {
  if (typeof count !== 'number' || !Number.isInteger(count) || count < 0) {
    const shown = typeof count === 'number' ? String(count) : kindOf(count)
    throw illegalOp(`the number of entries must be an integer, 0 or more, got ${shown}`)
  }
}

/** The type of a value, for a message. */
export function kindOf(value: unknown): string {
  return value === null ? 'null' : typeof value
}
