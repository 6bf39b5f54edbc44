/** Cellar as an abstract-level database: `cellardb/level`. */
import { createRequire } from 'node:module'
import type { EngineAdapter, OpenedEngine, OpenSettings } from '../harness/engine.js'
import { CellarLevel } from '../../src/entries/level.js'
import { openLevel } from './level-store.js'

function open(settings: OpenSettings): Promise<OpenedEngine> {
  const level = new CellarLevel<Buffer, Buffer>(settings.directory, {
    keyEncoding: 'buffer',
    valueEncoding: 'buffer',
    database: { blockCacheBytesMax: settings.cacheBytes },
  })
  return openLevel(level, settings, 'array')
}

/** The adapter of this package for abstract-level. */
export const engine: EngineAdapter = {
  kind: 'store',
  name: 'cellar-level',
  layouts: ['row', 'cells'],
  durabilities: ['buffered', 'sync'],
  version: () =>
    (createRequire(import.meta.url)('../../../package.json') as { version: string }).version,
  open,
}
