/** MiniSearch: the search of all documents in memory; nothing of it is on the disk. */
import { mkdirSync } from 'node:fs'
import { loadPeer, peerVersion } from '../engines/peers.js'
import type { BenchDocument } from './documents.js'
import type { SubjectEntry } from './subject.js'

interface Index {
  addAll(documents: readonly BenchDocument[]): void
  search(query: string, options: object): readonly unknown[]
}

/** MiniSearch. */
export const minisearchEntry: SubjectEntry = {
  name: 'minisearch',
  isPeer: true,
  version: () => peerVersion('minisearch'),
  open: (directory) => {
    mkdirSync(directory, { recursive: true })
    const IndexClass = loadPeer<new (options: object) => Index>('minisearch')
    const index = new IndexClass({ fields: ['title', 'body'] })
    return Promise.resolve({
      prepareSearch: (documents) => index.addAll(documents),
      search: (words) => index.search(words.join(' '), { combineWith: 'AND' }).length,
      close: () => undefined,
    })
  },
}
