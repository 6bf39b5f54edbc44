/** Cleanup after writes with unknown outcome: removes the records that they may have created. */
import type { CachingStore } from '../pulsar/store/cache-sink.js'
import { hasCode } from '../pulsar/errors.js'

/** Whether a failed write may have been applied. */
export function isInDoubt(error: unknown): boolean {
  return hasCode(error, 'connectionLost', 'storeFailure')
}

/** The current use of a path by the session. */
export type PathUse = 'none' | 'acquiring' | 'held'

/**
 * Removes the record at a path if this session created the record and does not use it. An attempt
 * in doubt may have created the record, which would exclude others until the session ends. Waits
 * until the store is available. `useOf` is called in the same turn as the delete, so a later
 * attempt is ordered after the delete.
 */
export async function withdraw(
  store: CachingStore,
  path: string,
  useOf: () => PathUse,
  wait: () => Promise<void>,
): Promise<void> {
  for (;;) {
    try {
      const found = await store.get(path)
      if (found?.stat.createdBySelf !== true || useOf() === 'held') return
      if (useOf() === 'none') {
        const { creationSequence } = found.stat
        return await store.delete(path, { creationSequence })
      }
    } catch (error) {
      if (!isInDoubt(error)) return
    }
    await wait()
  }
}
