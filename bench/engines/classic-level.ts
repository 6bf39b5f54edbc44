/** classic-level: LevelDB 1.20 in C++. */
import type { EngineAdapter, OpenedEngine, OpenSettings } from '../harness/engine.js'
import { openLevel, type Level } from './level-store.js'
import { loadPeer, peerVersion, writeBufferBytes } from './peers.js'

interface LevelModule {
  readonly ClassicLevel: new (directory: string, options: object) => Level
}

async function open(settings: OpenSettings): Promise<OpenedEngine> {
  const { ClassicLevel } = loadPeer<LevelModule>('classic-level')
  const level = new ClassicLevel(settings.directory, {
    keyEncoding: 'buffer',
    valueEncoding: 'buffer',
    cacheSize: settings.cacheBytes,
    writeBufferSize: writeBufferBytes,
  })
  return openLevel(level, settings, 'chained')
}

/** LevelDB for Node. */
export const engine: EngineAdapter = {
  kind: 'store',
  name: 'classic-level',
  layouts: ['row', 'cells'],
  durabilities: ['buffered', 'sync'],
  version: () => peerVersion('classic-level'),
  open,
}
