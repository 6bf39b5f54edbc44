/**
 * Pulsar's metadata and coordination, with databases for the URLs `cellar:` and `memory:`. The
 * public entry `cellardb/metastore/pulsar`. The engine is loaded by the first of these URLs, so a
 * program that uses ZooKeeper alone does not load it.
 */
import { provideDatabases } from '../systems/metastore/pulsar/open-store.js'

export * from '../systems/metastore/pulsar/index.js'

provideDatabases({
  cellar: async (directory) => (await import('./index.js')).Database.open(directory),
  memory: async () => (await import('./memory.js')).openMemoryDatabase(),
})
