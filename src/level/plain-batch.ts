/**
 * Plain batches: without hooks, listeners, sublevels and encodings of their own, and with valid
 * keys and values. abstract-level copies every operation of a batch, which costs more than all work
 * of the engine; those of a plain one are encoded here.
 */
import type { AbstractLevel } from 'abstract-level'
import type { BatchRows } from './keys.js'

/** An unchecked operation of a batch, as the caller passes it. */
interface PublicOperation {
  readonly type?: unknown
  readonly key?: never
  readonly value?: never
  readonly sublevel?: unknown
  readonly keyEncoding?: unknown
  readonly valueEncoding?: unknown
}

/** What a plain batch depends on. */
interface BatchLevel<K, V> extends Pick<
  AbstractLevel<string | Buffer | Uint8Array, K, V>,
  'keyEncoding' | 'listenerCount' | 'status' | 'valueEncoding'
> {
  readonly hooks: { readonly prewrite: object }
}

/**
 * Adds the operations of a plain batch to `rows`. Returns false for one that is left to
 * abstract-level.
 */
export function addPlainBatch<K, V>(
  level: BatchLevel<K, V>,
  rows: BatchRows,
  operations: readonly unknown[] | undefined,
  options: object | undefined,
): boolean {
  if (level.status !== 'open') return false
  // The published type lacks `noop`: whether there are no hooks.
  const prewrite = level.hooks.prewrite as { readonly noop?: boolean }
  if (prewrite.noop !== true || level.listenerCount('write') > 0) return false
  const keys = level.keyEncoding()
  const values = level.valueEncoding()
  try {
    for (const name in options) if (name !== 'sync') return false
    if (!Array.isArray(operations) || operations.length === 0) return false
    for (let i = 0; i < operations.length; i++) {
      const operation = operations[i] as PublicOperation
      const { type, key, value, sublevel, keyEncoding, valueEncoding } = operation
      const isPlain = !sublevel && keyEncoding === undefined && valueEncoding === undefined
      if (!isPlain || key === null || key === undefined) return false
      const encoded = keys.encode(key)
      if (type === 'del') rows.del(encoded)
      else if (type !== 'put' || value === null || value === undefined) return false
      else rows.put(encoded, values.encode(value))
    }
  } catch {
    // abstract-level finds the same error and reports it.
    return false
  }
  return true
}
