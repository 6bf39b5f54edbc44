/** The stamps of a store that is replicated between clusters: see synchronized-store.ts. */
import { metadataError } from '../../metadata/errors.js'
import { isWithin } from '../../metadata/paths.js'
import { ownObject } from '../../metadata/serde.js'
import type { BatchOperation, Expected, MetadataStore } from '../../metadata/types.js'

/** Parent of the stamps: the stamp of `/a/b` is at `stampsPath` and `/a/b`. */
export const stampsPath = '/pulsar/metadata-synchronizer'

/** Time and cluster of the last write of a path. */
export interface Stamp {
  readonly time: number
  readonly cluster: string
}

/** A stamp with the expectation for its next write. */
export interface StoredStamp {
  readonly stamp: Stamp | undefined
  /** The expectation for the next write of the stamp. */
  readonly expected: Expected
}

/** A wall clock with a later time is broken. */
const plausibleTimeMax = Date.UTC(2200, 0, 1)
/** How much later than the last known write a write may be, whatever its time. */
const stepMillisecondsMax = 24 * 60 * 60 * 1000

/** Reads the stamp of a path. */
export async function readStamp(store: MetadataStore, path: string): Promise<StoredStamp> {
  const found = await store.get(stampPathOf(path))
  if (found === undefined) return { stamp: undefined, expected: -1 }
  // On ZooKeeper the parent of another stamp is a record without bytes.
  const { length } = found.value
  const stamp = length === 0 ? undefined : ownObject<Stamp>(found, isStamp)
  return { stamp, expected: found.stat.version }
}

function isStamp({ time, cluster }: Partial<Stamp>): boolean {
  return Number.isSafeInteger(time) && typeof cluster === 'string'
}

/** The path of the stamp of a path. */
function stampPathOf(path: string): string {
  return path === '/' ? stampsPath : stampsPath + path
}

/** Writes a stamp. */
export function stampStep(
  path: string,
  stamp: Stamp,
  expected: Expected | undefined,
): BatchOperation {
  return { put: stampPathOf(path), value: JSON.stringify(stamp), expected }
}

/** `ERR_METADATA_INVALID_ARGUMENT` for the path of a stamp: only the store itself writes stamps. */
export function checkNoStamp(path: string): void {
  if (!isWithin(path, stampsPath)) return
  throw metadataError('invalidArgument', `the stamps of the synchronizer are at ${stampsPath}`)
}

/** Whether the write of one stamp wins against that of another. */
export function isLater(one: Stamp, other: Stamp): boolean {
  return one.time > other.time || (one.time === other.time && one.cluster > other.cluster)
}

/** Clusters with the same stamp accept the writes after it, also if its time is implausible. */
export function checkPlausible({ time }: Stamp, before: Stamp | undefined): void {
  if (time <= plausibleTimeMax) return
  if (before !== undefined && time <= before.time + stepMillisecondsMax) return
  throw metadataError('invalidArgument', `${time} is no plausible time of an event`)
}
