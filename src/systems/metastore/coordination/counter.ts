/** Unique numbers, across restarts and all processes of a store. */
import { checkStore } from '../pulsar/arguments.js'
import { hasCode, metadataError } from '../pulsar/errors.js'
import { checkPath } from '../pulsar/paths.js'
import type { MetadataStore } from '../pulsar/types.js'

const attemptsMax = 5

/**
 * The next number of a counter: unique for its path, increasing, with gaps.
 * `ERR_METADATA_STORE_FAILURE` when the conflicts do not end.
 */
export async function nextCounterValue(store: MetadataStore, path: string): Promise<number> {
  checkStore(store)
  checkPath(path)
  for (let attempt = 1; ; attempt++) {
    try {
      if (!(await store.exists(path))) await store.put(path, '', -1)
      break
    } catch (error) {
      if (!hasCode(error, 'badVersion')) throw error
      if (attempt < attemptsMax) continue
      const message = `${path}: the number of retries has exhausted`
      throw metadataError('storeFailure', message, error)
    }
  }
  const options = { ephemeral: true, sequential: true }
  const stat = await store.put(`${path}/-`, '', -1, options)
  // Only the number is needed; the record would exist until the session ends.
  await store.deleteIfExists(stat.path)
  return Number(stat.path.slice(path.length + 2))
}
