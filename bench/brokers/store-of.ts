/** Opens the store that brokers share: over a coordinator process, or in a ZooKeeper. */
import { openMetadataStore, type CachingStore } from '../../src/systems/metastore/pulsar/index.js'
import { RemoteStore } from './remote-store.js'

const coordinator = /^coordinator:(\d+)$/

/** `coordinator:port`, or a URL of `openMetadataStore`. */
export async function storeOf(url: string, timeout: number): Promise<CachingStore> {
  const [, port] = coordinator.exec(url) ?? []
  if (port !== undefined) return RemoteStore.open(Number(port), timeout)
  return openMetadataStore(url, { sessionTimeoutMilliseconds: timeout })
}
