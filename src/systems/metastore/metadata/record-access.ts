/** Steps that caches, views, locks and elections share: reading and writing one record. */
import type { Backoff } from '../kernel/backoff.js'
import { hasCode, metadataError } from './errors.js'
import type { MetadataSerde } from './serde.js'
import type { Expected, GetResult, MetadataStore, Stat } from './types.js'

/** Decodes a record. `ERR_METADATA_CONTENT_DESERIALIZATION`. */
export function decoded<T>(serde: MetadataSerde<T>, { value, stat }: GetResult): T {
  try {
    return serde.deserialize(stat.path, value, stat)
  } catch (error) {
    throw metadataError('contentDeserialization', stat.path, error)
  }
}

/** The expectation that a record was not written since it was read; undefined = no record. */
export function expectationOf(store: MetadataStore, stat: Stat | undefined): Expected {
  if (stat === undefined) return -1
  const { sequence, version } = stat
  return store.capabilities.sequenceExpectations ? { sequence } : version
}

/**
 * Reads, decides and writes until the write meets the state that was read. Only conflicts of
 * `write` are repeated. `ERR_METADATA_TIMEOUT` after the deadline of the backoff; with a single
 * attempt, the conflict.
 */
export async function writeInTurn<P, R>(
  path: string,
  backoff: Backoff,
  prepare: () => Promise<P>,
  write: (prepared: P) => Promise<R>,
): Promise<R> {
  for (;;) {
    const prepared = await prepare()
    try {
      return await write(prepared)
    } catch (error) {
      if (!hasCode(error, 'badVersion') || backoff.isSingle) throw error
      if (await backoff.wait()) continue
      throw metadataError('timeout', `${path}: the conflicts did not end in time`, error)
    }
  }
}
