/** Writes whose outcome nobody knows: what they may have left behind is removed. */
import type { CachingStore } from '../pulsar/store/cache-sink.js'
import { hasCode, MetadataErrorCode } from '../pulsar/errors.js'

/** Whether a write may have been carried out although it failed. */
export function isInDoubt(error: unknown): boolean {
  const { connectionLost, storeFailure } = MetadataErrorCode
  return hasCode(error, connectionLost) || hasCode(error, storeFailure)
}

/** What the session does with a path at the moment. */
export type PathUse = 'none' | 'acquiring' | 'held'

/**
 * Removes the record at a path if this session has created it and nobody uses it: an attempt in
 * doubt may have left it, and it would keep others out as long as the session lives. Waits until
 * the store can be asked. `useOf` is asked in the turn in which the delete is called, so a later
 * attempt comes behind the delete.
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
