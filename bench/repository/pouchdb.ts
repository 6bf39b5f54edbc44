/**
 * PouchDB over LevelDB with its find plug-in: revisions are its versions, attachments its blobs. It
 * does not sync a write, so an acknowledged one survives the process.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { loadPeer, peerVersion } from '../engines/peers.js'
import type { BenchDocument } from './documents.js'
import type { Subject, SubjectEntry } from './subject.js'

interface PouchDocument extends Omit<BenchDocument, 'id'> {
  readonly _id: string
  readonly _rev: string
}

interface Pouch {
  put(document: object): Promise<{ readonly rev: string }>
  get(id: string, options?: object): Promise<PouchDocument>
  bulkDocs(documents: readonly object[]): Promise<unknown>
  allDocs(options: object): Promise<{ readonly rows: readonly { readonly doc: PouchDocument }[] }>
  createIndex(index: object): Promise<unknown>
  find(query: object): Promise<{ readonly docs: readonly PouchDocument[] }>
  putAttachment(id: string, name: string, bytes: Buffer, type: string): Promise<unknown>
  getAttachment(id: string, name: string): Promise<Buffer>
  close(): Promise<unknown>
}

interface PouchClass {
  new (path: string, options: object): Pouch
  plugin(plugin: unknown): void
}

const scanned = 1000

function withId({ id, ...rest }: BenchDocument): object {
  return { _id: id, ...rest }
}

async function open(directory: string): Promise<Subject> {
  mkdirSync(directory, { recursive: true })
  const PouchDB = loadPeer<PouchClass>('pouchdb')
  PouchDB.plugin(loadPeer('pouchdb-find'))
  const pouch = new PouchDB(join(directory, 'pouch'), { revs_limit: 1000 })
  await pouch.createIndex({ index: { fields: ['year', '_id'] } })
  /** Revisions by document, oldest first: PouchDB reads a version by the name of its revision. */
  const revisions = new Map<string, string[]>()
  let blobs = 0
  return {
    load: (documents) => pouch.bulkDocs(documents.map(withId)),
    create: (document) => pouch.put(withId(document)),
    read: (id) => pouch.get(id),
    documentOf: (read) => {
      const document = read as PouchDocument
      return { ...document, id: document._id }
    },
    change: async (id, expected, next) => {
      const document = await pouch.get(id)
      if (document.counter !== expected) return false
      await pouch.put({ ...document, counter: next })
      return true
    },
    addVersion: async (id, title) => {
      const document = await pouch.get(id)
      const known = revisions.get(id) ?? [document._rev]
      const { rev } = await pouch.put({ ...document, title })
      revisions.set(id, [...known, rev])
    },
    readVersion: async (id, version) => {
      const rev = revisions.get(id)?.[version - 1]
      return rev === undefined ? undefined : (await pouch.get(id, { rev })).title
    },
    scan: async () => {
      let count = 0
      let years = 0
      let startkey: string | undefined
      for (;;) {
        const from = startkey === undefined ? {} : { startkey, skip: 1 }
        const { rows } = await pouch.allDocs({ include_docs: true, limit: scanned, ...from })
        for (const { doc } of rows) {
          if (doc._id.startsWith('_')) continue
          count++
          years += doc.year
        }
        if (rows.length < scanned) return [count, years] as const
        startkey = rows[rows.length - 1].doc._id
      }
    },
    find: async (year, limit) => {
      const { docs } = await pouch.find({
        selector: { year: { $gte: year } },
        fields: ['_id'],
        sort: ['year', '_id'],
        limit,
      })
      return docs.map(({ _id }) => _id)
    },
    writeBlob: async (pieces) => {
      const parts: Buffer[] = []
      for await (const piece of pieces) parts.push(piece)
      const id = `zz-blob-${++blobs}`
      // It has no form that takes a stream.
      await pouch.putAttachment(id, 'blob', Buffer.concat(parts), 'a/b')
      return id
    },
    readBlob: async (blob, piece) => {
      const bytes = await pouch.getAttachment(blob as string, 'blob')
      piece(bytes)
      return bytes.length
    },
    close: () => pouch.close(),
  }
}

/** PouchDB in its version for Node. */
export const pouchdbEntry: SubjectEntry = {
  name: 'pouchdb',
  isPeer: true,
  version: () => peerVersion('pouchdb'),
  open,
}
